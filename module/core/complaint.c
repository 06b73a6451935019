// SPDX-License-Identifier: GPL-2.0-only
/*
 * Complaints about a backend: see complaint.h.
 *
 * Each CPU keeps the last complaint of each kind, and an irq_work that prints them.
 * auxpmu_complain() is called in any context; it never sleeps, allocates or takes a lock.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/irq_work.h>
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/ratelimit.h>

#include "core/complaint.h"

/* What was seen, with the two numbers of the complaint, and what the contract says. */
static const struct {
	const char *seen;
	const char *contract;
} sentences[AUXPMU_COMPLAINTS] = {
	[AUXPMU_NO_AREA] = {
		"found no AUX area of this PMU at the event",
		"no trace until it has one, and no count at all (docs/troubleshooting.md: \"there is no trace\")"
	},
	[AUXPMU_ARM_FAILED] = {
		"returned %lld",
		"tracing has ended, with PARTIAL, until the event is started again"
	},
	[AUXPMU_BAD_POSITION] = {
		"said %lld bytes, %lld lost, which cannot be",
		"taken for nothing, with PARTIAL; bytes count from the window's start, lost from arm()"
	},
	[AUXPMU_OVERRUN] = {
		"said %lld bytes of a window of %lld, rules.spare included",
		"not handed over, with PARTIAL; the unit must stop at window.to"
	},
	[AUXPMU_BAD_SPANS] = {
		"named %lld bytes where position() said %lld",
		"the smaller was taken, with PARTIAL; the two must agree"
	},
	[AUXPMU_NR_SPANS] = {
		"named %lld pieces",
		"the first two were taken, with PARTIAL; two are all there may be"
	},
	[AUXPMU_ALWAYS_DUE] = {
		"said in %lld windows in a row that the interrupt is due, in the last %lld without a byte",
		"as if arm() had failed; a unit is due when it has written up to window.irq"
	},
	[AUXPMU_MOVED] = {
		"let the unit go on: it was at %lld bytes, and at %lld a moment later",
		"it must return when the unit has stopped, and position() say the same each time"
	},
	[AUXPMU_WROTE_BEHIND] = {
		"let the unit write behind its window: byte %lld behind window.to and rules.spare (%lld)",
		"what lies there may be the consumer's trace"
	},
	[AUXPMU_BAD_ADDRESS] = {
		"named memory that is not there, in piece %lld of %lld bytes",
		"its trace is lost, with PARTIAL; spans are kernel addresses"
	},
	[AUXPMU_NO_INTERRUPT] = {
		"was followed by no interrupt in %lld windows, of which the last had %lld bytes",
		"at window.irq the unit must interrupt, and its handler call auxpmu_interrupt()"
	},
	[AUXPMU_FENCE] = {
		"saw that unit->private was left: byte %lld of %lld was written",
		"desc.unit_size says how much memory there is"
	},
	[AUXPMU_IRQS_CHANGED] = {
		"changed whether IRQs are off from %lld to %lld",
		"it must return as it was called"
	},
	[AUXPMU_PREEMPT_CHANGED] = {
		"changed preempt_count() from %#llx to %#llx",
		"it must not leave a lock held or preemption off"
	},
	[AUXPMU_IRQS_ON] = {
		"called with IRQs on",
		"nothing done; it must be called with IRQs off, on the unit's CPU"
	},
};

/* Of one CPU. */
struct auxpmu_complaints {
	struct auxpmu *pmu;
	int cpu;
	struct irq_work tell;
	struct ratelimit_state limit;
	unsigned long pending;		/* kinds to be logged */
	struct {
		const char *op;
		u64 a;
		u64 b;
	} last[AUXPMU_COMPLAINTS];
};

static void complaint_tell_one(struct auxpmu_complaints *here, unsigned int what)
{
	char seen[160];

	scnprintf(seen, sizeof(seen), sentences[what].seen, READ_ONCE(here->last[what].a),
		  READ_ONCE(here->last[what].b));
	pr_notice("%s: %s() on CPU %d %s; %s\n", here->pmu->desc->name,
		  READ_ONCE(here->last[what].op), here->cpu, seen, sentences[what].contract);
}

static void complaint_tell(struct irq_work *work)
{
	struct auxpmu_complaints *here = container_of(work, struct auxpmu_complaints, tell);
	unsigned long pending = xchg(&here->pending, 0);
	unsigned int what;

	for_each_set_bit(what, &pending, AUXPMU_COMPLAINTS)
		if (__ratelimit(&here->limit))
			complaint_tell_one(here, what);
}

void auxpmu_complain(struct auxpmu *pmu, enum auxpmu_complaint what, const char *op, u64 a, u64 b)
{
	struct auxpmu_complaints *here = get_cpu_ptr(pmu->complaints);

	if (what >= AUXPMU_BAD_POSITION)
		this_cpu_inc(pmu->units->stats.contract_violations);
	/* An NMI in between may mix two complaints of one kind; both are counted. */
	WRITE_ONCE(here->last[what].op, op);
	WRITE_ONCE(here->last[what].a, a);
	WRITE_ONCE(here->last[what].b, b);
	set_bit(what, &here->pending);
	irq_work_queue(&here->tell);
	put_cpu_ptr(pmu->complaints);
}

int auxpmu_complaints_make(struct auxpmu *pmu)
{
	int cpu;

	pmu->complaints = alloc_percpu(struct auxpmu_complaints);
	if (!pmu->complaints)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct auxpmu_complaints *here = per_cpu_ptr(pmu->complaints, cpu);

		here->pmu = pmu;
		here->cpu = cpu;
		init_irq_work(&here->tell, complaint_tell);
		ratelimit_state_init(&here->limit, DEFAULT_RATELIMIT_INTERVAL,
				     DEFAULT_RATELIMIT_BURST);
	}
	return 0;
}

void auxpmu_complaints_free(struct auxpmu *pmu)
{
	int cpu;

	if (!pmu->complaints)
		return;
	for_each_possible_cpu(cpu)
		irq_work_sync(&per_cpu_ptr(pmu->complaints, cpu)->tell);
	free_percpu(pmu->complaints);
}
