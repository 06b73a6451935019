// SPDX-License-Identifier: GPL-2.0-only
/* The module: brings up what all PMUs share, and takes it down. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/export.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/rcupdate.h>

#include "compat.h"
#include "core/claim.h"
#include "core/debugfs.h"
#include "core/hotplug.h"
#include "core/presence.h"
#include "core/sample.h"
#include "core/suspend.h"
#include "software.h"

/*
 * The softdep below makes modprobe load auxpmu_synth after this module; its init asks
 * auxpmu_synth_wanted().
 */
static bool synth = true;
module_param(synth, bool, 0644);
MODULE_PARM_DESC(synth, "may the synthetic PMU, auxpmu_synth, be loaded? (1)");
MODULE_SOFTDEP("post: auxpmu_synth");

bool auxpmu_synth_wanted(void)
{
	return READ_ONCE(synth);
}
EXPORT_SYMBOL_NS_GPL(auxpmu_synth_wanted, AUXPMU_NS);

static int __init auxpmu_init(void)
{
	int ret = auxpmu_hotplug_init();

	if (ret)
		return ret;
	auxpmu_debugfs_init();
	auxpmu_sample_init();
	auxpmu_suspend_init();
	auxpmu_claims_init();
	auxpmu_presence_init();
	return 0;
}

static void __exit auxpmu_exit(void)
{
	/*
	 * A task may still be on its way out of auxpmu_buffer_free(), for a PMU that was revoked
	 * and so never unregistered. And buffer_free_rcu() may still have to run.
	 */
	synchronize_rcu_tasks();
	rcu_barrier();
	auxpmu_presence_exit();
	auxpmu_claims_exit();
	auxpmu_suspend_exit();
	auxpmu_debugfs_exit();
	auxpmu_hotplug_exit();
}

module_init(auxpmu_init);
module_exit(auxpmu_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("framework for perf PMUs with an AUX area");
MODULE_AUTHOR("The auxpmu authors");
MODULE_VERSION(AUXPMU_VERSION);
