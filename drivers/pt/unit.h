/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The trace unit of one CPU: its MSRs (SDM volume 4, IA32_RTIT_*), and what the framework does with
 * them.  All of it on that CPU with IRQs off, NMI included.
 */
#ifndef AUXPMU_PT_UNIT_H
#define AUXPMU_PT_UNIT_H

#include <linux/compiler.h>
#include <linux/percpu.h>
#include <linux/sysfs.h>
#include <linux/types.h>

#include <asm/msr.h>
#include <asm/perf_event.h>

#include "../intel/msr.h"
#include "auxpmu.h"
#include "caps.h"
#include "topa.h"

/* Everything a unit has, as somebody else left it. */
struct pt_registers {
	u64 ctl;
	u64 status;
	u64 output_base;
	u64 output_mask;
	u64 cr3_match;
	u64 range[PT_RANGES_MAX][2];
};

/* What went wrong, as far as the unit says so. */
struct pt_errors {
	u64 topa;		/* Error: a table that it could not follow */
	u64 stopped;		/* Stopped: at the end of its window, nobody had come in time */
	u64 overflow;		/* BuffOvf: trace faster than memory */
	u64 fault;		/* a register took a value not */
	u64 vmx;		/* VMXON: it ended a trace, or one could not begin */
};

/**
 * struct pt_unit - one CPU's
 * @session: the framework's side
 * @claimed: it is ours
 * @lesser: it cannot do what all others can, which was told
 * @armed: the framework has armed it, or tried to, and not disarmed it
 * @on: it may be writing
 * @latched: it was switched off by one of the NMI handlers
 * @interrupted: since it was armed, and one of them has seen it
 * @unread: it was switched off, and where it got to is not read yet
 * @ended: it was found to be off, by VMXON, when it was to be switched off
 * @known: the registers hold what the members below say
 * @cut: trace is missing: what follows begins with a PSB
 * @ctl: IA32_RTIT_CTL of the event, without TraceEn
 * @status: IA32_RTIT_STATUS when it was last switched off
 * @output_base, @output_mask: where it was then
 * @range: the address ranges
 * @from: offset in the buffer of what the window began with
 * @region: the region that lies in
 * @at: where in the buffer output was when the registers were last read
 * @errors: counted since the module was loaded
 * @saved: what the registers were before they were claimed
 */
struct pt_unit {
	struct auxpmu_unit *unit;
	bool claimed;
	bool lesser;
	bool armed;
	bool on;
	bool latched;
	bool interrupted;
	bool unread;
	bool ended;
	bool known;
	bool cut;
	u64 ctl;
	u64 status;
	u64 output_base;
	u64 output_mask;
	u64 range[PT_RANGES_MAX][2];
	u64 from;
	u32 region;
	struct pt_reached at;
	struct pt_errors errors;
	struct pt_registers saved;
};

DECLARE_PER_CPU(struct pt_unit, pt_units);

/* Operations of the framework. */
int pt_unit_arm(struct auxpmu_unit *unit);
void pt_unit_disarm(struct auxpmu_unit *unit);
void pt_unit_position(struct auxpmu_unit *unit, struct auxpmu_position *position);
void pt_unit_invalidate(struct auxpmu_unit *unit);

/* Is it on, so that it may interrupt? */
static inline bool pt_unit_may_interrupt(const struct pt_unit *pt)
{
	return READ_ONCE(pt->on) && !READ_ONCE(pt->latched) &&
	       pt->unit->window.irq != AUXPMU_NO_LIMIT;
}

/* By IA32_PERF_GLOBAL_STATUS: has a unit interrupted? */
static inline bool pt_unit_status(void)
{
	u64 status;

	rdmsrq(MSR_CORE_PERF_GLOBAL_STATUS, status);
	return status & GLOBAL_STATUS_TRACE_TOPAPMI;
}

/*
 * In NMI, of a unit that has interrupted: switches it off, so that whoever disarms it finds it so,
 * acknowledges, hands over, and has it armed anew.
 */
void pt_unit_serve(struct pt_unit *pt);

/* VMX operation has ended on this CPU, during which no unit may be on.  IRQs off. */
void pt_unit_vmx_ended(struct auxpmu *pmu);

/*
 * The claim: saves the registers, which takes that the unit traces for nobody; puts them back, with
 * TraceEn clear; switches it off for good.  A unit that can do less than the others is not taken:
 * its CPU is not traced.
 */
int pt_unit_acquire(const char **why);
void pt_unit_release(void);
void pt_unit_shutdown(void);

/* sysfs errors/: the errors of all units, counted. */
extern const struct attribute_group pt_errors_group;

#endif /* AUXPMU_PT_UNIT_H */
