/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The trace unit of one CPU: its MSRs (SDM volume 4, IA32_RTIT_*), and the backend's operations on
 * them. All of it on that CPU with IRQs off, NMI included.
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

/* All registers of a unit, as somebody else left them. */
struct pt_registers {
	u64 ctl;
	u64 status;
	u64 output_base;
	u64 output_mask;
	u64 cr3_match;
	u64 range[PT_RANGES_MAX][2];
};

/* Errors that the unit reported. */
struct pt_errors {
	u64 topa;		/* Error: it could not follow a table */
	u64 stopped;		/* Stopped: it reached the end of its window before it was served */
	u64 overflow;		/* BuffOvf: trace faster than memory */
	u64 fault;		/* a register refused a value */
	u64 vmx;		/* VMXON ended a trace, or VMX operation kept one from beginning */
};

/**
 * struct pt_unit - the trace unit of one CPU
 * @unit: the framework's side
 * @claimed: it is ours
 * @lesser: it cannot do what all others can, and the log says so
 * @armed: the framework has armed it, or tried to, and not disarmed it since
 * @on: it may be writing
 * @latched: an NMI handler has switched it off
 * @interrupted: it has interrupted since it was armed, and an NMI handler has seen that
 * @unread: it was switched off, and its position is not read yet
 * @ended: VMXON had switched it off already when it was to be switched off
 * @known: the registers hold the values in the members below
 * @cut: trace is missing: the next trace has to begin with a PSB
 * @ctl: IA32_RTIT_CTL of the event, without TraceEn
 * @status: IA32_RTIT_STATUS when it was last switched off
 * @output_base, @output_mask: its output registers then
 * @range: the address ranges
 * @from: offset in the buffer at which the window began
 * @region: the region that holds @from
 * @at: where output was when the registers were last read
 * @errors: counted since the module was loaded
 * @saved: the registers before they were claimed
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
 * Serve a unit that has interrupted, in NMI: switch it off (disarm then finds it latched),
 * acknowledge, and have the framework hand over and arm it again.
 */
void pt_unit_serve(struct pt_unit *pt);

/* VMX operation, in which the unit could not be on, has ended on this CPU. IRQs off. */
void pt_unit_vmx_ended(struct auxpmu *pmu);

/*
 * The claim: acquire saves the registers, if the unit traces for nobody; release restores them,
 * TraceEn being clear; shutdown switches the unit off for good. A unit that can do less than the
 * others is left alone: its CPU is not traced.
 */
int pt_unit_acquire(const char **why);
void pt_unit_release(void);
void pt_unit_shutdown(void);

/* sysfs errors/: the errors of all units, counted. */
extern const struct attribute_group pt_errors_group;

#endif /* AUXPMU_PT_UNIT_H */
