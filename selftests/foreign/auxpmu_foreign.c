// SPDX-License-Identifier: GPL-2.0-only
/*
 * An AUX PMU that is not auxpmu's, for tests of how the two get along. It writes no trace; it opens
 * a transaction and closes it, as any driver does, and says whether the buffer it was handed is its
 * own.
 */
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

static struct pmu foreign;

/* What it takes every aux_priv for. */
struct foreign_buffer {
	struct foreign_buffer *self;
};

static DEFINE_PER_CPU(struct perf_output_handle, handles);

static int foreign_event_init(struct perf_event *event)
{
	return event->attr.type == event->pmu->type ? 0 : -ENOENT;
}

static void foreign_start(struct perf_event *event, int flags)
{
	struct foreign_buffer *buffer = perf_aux_output_begin(this_cpu_ptr(&handles), event);

	event->hw.state = buffer ? 0 : PERF_HES_STOPPED;
	if (buffer && READ_ONCE(buffer->self) != buffer)
		pr_info("auxpmu_foreign: handed a buffer that is not its own\n");
}

static void foreign_stop(struct perf_event *event, int flags)
{
	struct perf_output_handle *handle = this_cpu_ptr(&handles);

	if (!event->hw.state && handle->event == event)
		perf_aux_output_end(handle, 0);
	event->hw.state = PERF_HES_STOPPED;
}

static int foreign_add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED;
	if (flags & PERF_EF_START)
		foreign_start(event, 0);
	return event->hw.state ? -EINVAL : 0;
}

static void foreign_del(struct perf_event *event, int flags)
{
	foreign_stop(event, PERF_EF_UPDATE);
}

static void foreign_read(struct perf_event *event)
{
}

static void *foreign_setup_aux(struct perf_event *event, void **pages, int nr_pages,
			       bool overwrite)
{
	struct foreign_buffer *buffer = kzalloc(sizeof(*buffer), GFP_KERNEL);

	if (buffer)
		buffer->self = buffer;
	return buffer;
}

static void foreign_free_aux(void *buffer)
{
	kfree(buffer);
}

static struct pmu foreign = {
	.module = THIS_MODULE,
	.capabilities = PERF_PMU_CAP_EXCLUSIVE | PERF_PMU_CAP_ITRACE,
	.task_ctx_nr = perf_sw_context,
	.event_init = foreign_event_init,
	.add = foreign_add,
	.del = foreign_del,
	.start = foreign_start,
	.stop = foreign_stop,
	.read = foreign_read,
	.setup_aux = foreign_setup_aux,
	.free_aux = foreign_free_aux,
};

static int __init foreign_init(void)
{
	return perf_pmu_register(&foreign, "auxpmu_foreign", -1);
}

static void __exit foreign_exit(void)
{
	perf_pmu_unregister(&foreign);
}

module_init(foreign_init);
module_exit(foreign_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("an AUX PMU that is not auxpmu's");
