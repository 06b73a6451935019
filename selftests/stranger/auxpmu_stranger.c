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

static struct pmu stranger;

/* What it takes every aux_priv for. */
struct stranger_buffer {
	struct stranger_buffer *self;
};

static DEFINE_PER_CPU(struct perf_output_handle, handles);

static int stranger_event_init(struct perf_event *event)
{
	return event->attr.type == event->pmu->type ? 0 : -ENOENT;
}

static void stranger_start(struct perf_event *event, int flags)
{
	struct stranger_buffer *buffer = perf_aux_output_begin(this_cpu_ptr(&handles), event);

	event->hw.state = buffer ? 0 : PERF_HES_STOPPED;
	if (buffer && READ_ONCE(buffer->self) != buffer)
		pr_info("auxpmu_stranger: handed a buffer that is not its own\n");
}

static void stranger_stop(struct perf_event *event, int flags)
{
	struct perf_output_handle *handle = this_cpu_ptr(&handles);

	if (!event->hw.state && handle->event == event)
		perf_aux_output_end(handle, 0);
	event->hw.state = PERF_HES_STOPPED;
}

static int stranger_add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED;
	if (flags & PERF_EF_START)
		stranger_start(event, 0);
	return event->hw.state ? -EINVAL : 0;
}

static void stranger_del(struct perf_event *event, int flags)
{
	stranger_stop(event, PERF_EF_UPDATE);
}

static void stranger_read(struct perf_event *event)
{
}

static void *stranger_setup_aux(struct perf_event *event, void **pages, int nr_pages,
				bool overwrite)
{
	struct stranger_buffer *buffer = kzalloc(sizeof(*buffer), GFP_KERNEL);

	if (buffer)
		buffer->self = buffer;
	return buffer;
}

static void stranger_free_aux(void *buffer)
{
	kfree(buffer);
}

static struct pmu stranger = {
	.module = THIS_MODULE,
	.capabilities = PERF_PMU_CAP_EXCLUSIVE | PERF_PMU_CAP_ITRACE,
	.task_ctx_nr = perf_sw_context,
	.event_init = stranger_event_init,
	.add = stranger_add,
	.del = stranger_del,
	.start = stranger_start,
	.stop = stranger_stop,
	.read = stranger_read,
	.setup_aux = stranger_setup_aux,
	.free_aux = stranger_free_aux,
};

static int __init stranger_init(void)
{
	return perf_pmu_register(&stranger, "auxpmu_stranger", -1);
}

static void __exit stranger_exit(void)
{
	perf_pmu_unregister(&stranger);
}

module_init(stranger_init);
module_exit(stranger_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("an AUX PMU that is not auxpmu's");
