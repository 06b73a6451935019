// SPDX-License-Identifier: GPL-2.0-only
/* The module: brings up debugfs and the synthetic PMU, and takes them down. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>

#include "core/claim.h"
#include "core/debugfs.h"
#include "core/sample.h"
#include "core/suspend.h"
#include "synth/synth.h"

static int __init auxpmu_init(void)
{
	int ret;

	auxpmu_debugfs_init();
	auxpmu_sample_init();
	auxpmu_suspend_init();
	auxpmu_claims_init();
	ret = auxpmu_model_init();
	if (ret)
		goto suspend;
	/* Last: what users may have opened by then could not be taken back. */
	ret = auxpmu_synth_init();
	if (ret)
		goto model;
	return 0;

model:
	auxpmu_model_exit();
suspend:
	auxpmu_claims_exit();
	auxpmu_suspend_exit();
	auxpmu_debugfs_exit();
	return ret;
}

static void __exit auxpmu_exit(void)
{
	auxpmu_synth_exit();
	auxpmu_model_exit();
	auxpmu_claims_exit();
	auxpmu_suspend_exit();
	auxpmu_debugfs_exit();
}

module_init(auxpmu_init);
module_exit(auxpmu_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("perf PMUs with an AUX area: framework and synthetic PMU");
MODULE_AUTHOR("The auxpmu authors");
MODULE_VERSION(AUXPMU_VERSION);
