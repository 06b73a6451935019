// SPDX-License-Identifier: GPL-2.0-only
/*
 * Synthetic PMUs: the one that is always there, and those modelled at run time. A backend like any
 * other: it sees windows, never a perf_output_handle.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "compat.h"
#include "synth/synth.h"

/* The PMU that is always there. */
static struct synth *first;

const struct synth_model synth_default_model = {
	.name = AUXPMU_SYNTH_NAME,
	.output = SYNTH_OUTPUT_ANY,
	.record = SYNTH_RECORD_ANY,
	.start_align = 1,
	.end_align = 1,
	.ram = 64u << 10,
	.rate = AUXPMU_SYNTH_RATE_DEFAULT,
	.filters = 4,
};

const char *synth_model_wrong(const struct synth_model *model)
{
	u64 record = model->record ?: (u64)AUXPMU_RECORD_MAX;

	if (model->ram < 2 * record)
		return "ram holds less than two records";
	if (model->irq_delay % AUXPMU_RECORD_MIN || model->spare % AUXPMU_RECORD_MIN)
		return "irq_delay or spare is no multiple of 64";
	if (model->shared && (model->output == SYNTH_OUTPUT_ANY ||
			      model->output == AUXPMU_SYNTH_VIRTUAL))
		return "shared takes output copy, window or scatter";
	if (model->shared && !model->record)
		return "shared takes records of one size: set record";
	if ((model->polled || model->reach || model->continuous || model->turning) &&
	    !model->shared)
		return "polled, reach, continuous and turning take shared";
	if (model->continuous && model->turning)
		return "it is continuous or turning, not both";
	if (model->shared && model->ram % model->record)
		return "shared takes ram of whole records";
	return NULL;
}

static void synth_free(struct synth *synth)
{
	synth_sinks_free(synth);
	kfree(synth);
}

static void synth_release(const struct auxpmu_desc *desc)
{
	synth_free(container_of(desc, struct synth, desc));
}

struct synth *synth_make(const struct synth_model *model)
{
	const char *wrong = synth_model_wrong(model);
	struct synth *synth;
	int ret;

	if (wrong) {
		pr_notice("PMU %s refused: %s\n", model->name, wrong);
		return ERR_PTR(-EINVAL);
	}
	synth = kzalloc(sizeof(*synth), GFP_KERNEL);
	if (!synth)
		return ERR_PTR(-ENOMEM);
	mutex_init(&synth->ram_lock);
	mutex_init(&synth->emit_lock);
	synth->model = *model;
	synth->persona = synth_persona_find(model->name);
	synth->ops = synth_ops;
	if (synth->model.cpus[0]) {
		synth->ops.online = synth_online;
		synth->ops.offline = synth_offline;
	}
	synth->desc = (struct auxpmu_desc){
		.name = synth->model.name,
		.ops = &synth->ops,
		.attr_groups = synth->persona ? synth->persona->groups : synth_groups,
		.unit_size = sizeof(struct synth_unit),
		.yields = AUXPMU_YIELDS_START,
		.nr_addr_filters = synth->persona ? 0 : model->filters,
		.filters_stop = true,
		.filters_points = true,
		.limits = model->limits,
		.no_nmi = model->no_nmi || model->shared,
		.lap_records = model->lap_records,
		.offset_heads = synth->persona && synth->persona->offset_heads,
		.release = synth_release,
	};
	ret = synth->model.shared ? synth_sinks_make(synth) : 0;
	synth->pmu = ret ? ERR_PTR(ret) : auxpmu_register(&synth->desc);
	if (IS_ERR(synth->pmu)) {
		struct synth *error = ERR_CAST(synth->pmu);

		synth_free(synth);
		return error;
	}
	synth_debugfs_add(synth);
	return synth;
}

int synth_try_destroy(struct synth *synth)
{
	return auxpmu_try_unregister(synth->pmu);
}

int synth_revoke(struct synth *synth)
{
	return auxpmu_revoke(synth->pmu);
}

static int __init synth_init(void)
{
	int ret;

	if (!auxpmu_synth_wanted()) {
		pr_info("not loaded: auxpmu.synth=0; for this time: echo 1 > /sys/module/auxpmu/parameters/synth\n");
		return -ENODEV;
	}
	synth_records_init();
	ret = synth_models_init();
	if (ret)
		return ret;
	/* Last, so that nothing can fail when users may already have opened events. */
	first = synth_make(&synth_default_model);
	if (IS_ERR(first))
		synth_models_exit();
	return PTR_ERR_OR_ZERO(first);
}

static void __exit synth_exit(void)
{
	WARN_ON(synth_try_destroy(first));
	synth_models_exit();
}

module_init(synth_init);
module_exit(synth_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("synthetic PMU, and models of trace units, for auxpmu");
MODULE_AUTHOR("The auxpmu authors");
MODULE_VERSION(AUXPMU_VERSION);
AUXPMU_IMPORT_NS();
