// SPDX-License-Identifier: GPL-2.0-only
/* The trace unit of one CPU: see unit.h. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/device.h>
#include <linux/errno.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/smp.h>

#include <asm/barrier.h>
#include <asm/perf_event.h>
#include <asm/processor.h>

#include "../intel/msr.h"
#include "topa.h"
#include "unit.h"
#include "vmx.h"

#define CREATE_TRACE_POINTS
#include "pt_trace.h"

DEFINE_PER_CPU(struct pt_unit, pt_units);

#define MSR_RTIT_RANGE(_n, _end)	(MSR_IA32_RTIT_ADDR0_A + 2 * (_n) + (_end))

/* IA32_RTIT_CTL.ADDRn_CFG */
#define RANGE_CFG(_n, _cfg)		((u64)(_cfg) << (RTIT_CTL_ADDR0_OFFSET + 4 * (_n)))
#define RANGE_FILTER			1
#define RANGE_STOP			2

/* The bits of IA32_RTIT_STATUS that software may write. */
#define STATUS_WRITABLE	(RTIT_STATUS_ERROR | RTIT_STATUS_STOPPED | RTIT_STATUS_BYTECNT)

/* IA32_RTIT_OUTPUT_MASK_PTRS */
#define MASK_LOWEST			0x7f
#define MASK_INDEX_SHIFT		7
#define MASK_INDEX			GENMASK_ULL(31, 7)
#define MASK_OFFSET_SHIFT		32

static noinline int pt_unit_write_failed(struct pt_unit *pt, u32 msr, u64 value)
{
	pt->errors.fault++;
	trace_auxpmu_pt_fault(msr, value);
	return -EIO;
}

static __always_inline int pt_unit_write_msr(struct pt_unit *pt, u32 msr, u64 value)
{
	return likely(!wrmsrq_safe(msr, value)) ? 0 : pt_unit_write_failed(pt, msr, value);
}

/* Writes of MSRs are slow: skip a value that the MSR holds already. */
static int pt_unit_update_msr(struct pt_unit *pt, u32 msr, u64 *held, u64 value)
{
	if (pt->known && *held == value)
		return 0;
	*held = value;
	return pt_unit_write_msr(pt, msr, value);
}

/*
 * Clamp to canonical: writing another address to the MSR is a general protection fault. Code runs
 * only at canonical addresses, so the filter is the same.
 */
static u64 pt_unit_canonical(u64 address, bool upwards)
{
	unsigned int shift = 64 - boot_cpu_data.x86_virt_bits;
	u64 half = BIT_ULL(boot_cpu_data.x86_virt_bits - 1);

	if ((u64)((s64)(address << shift) >> shift) == address)
		return address;
	return upwards ? -half : half - 1;
}

/* Set the event's address filters; if the registers' values are not known, write all of them. */
static noinline int pt_unit_set_ranges(struct pt_unit *pt, const struct auxpmu_event *aux)
{
	unsigned int nr = pt->known ? aux->nr_ranges : pt_nr_ranges(), n;
	int ret = 0;

	for (n = 0; n < nr && !ret; n++) {
		u64 first = pt->range[n][0], last = pt->range[n][1];

		if (n < aux->nr_ranges) {
			first = pt_unit_canonical(aux->ranges[n].first, true);
			last = pt_unit_canonical(aux->ranges[n].last, false);
		}
		ret = pt_unit_update_msr(pt, MSR_RTIT_RANGE(n, 0), &pt->range[n][0], first) ?:
		      pt_unit_update_msr(pt, MSR_RTIT_RANGE(n, 1), &pt->range[n][1], last);
	}
	return ret;
}

/* IA32_RTIT_CTL from event_init(), with the present address filters. */
static u64 pt_unit_event_ctl(const struct auxpmu_unit *unit)
{
	const struct auxpmu_event *aux = auxpmu_unit_event(unit);
	u64 ctl = (uintptr_t)aux->private | RTIT_CTL_TOPA;
	unsigned int n;

	for (n = 0; n < aux->nr_ranges; n++)
		ctl |= RANGE_CFG(n, aux->ranges[n].what == AUXPMU_FILTER_STOP ? RANGE_STOP :
										RANGE_FILTER);
	return ctl;
}

/* Does the window of a unit in overwrite mode begin in the first lap? */
static bool pt_unit_first_lap(const struct auxpmu_unit *unit)
{
	return unit->buffer->overwrite &&
	       auxpmu_buffer_first_lap(unit->buffer, unit->window.from);
}

/* The output registers for the start of the window. */
static struct pt_output pt_unit_place(struct pt_unit *pt, const struct auxpmu_unit *unit)
{
	pt->from = auxpmu_buffer_offset(unit->buffer, unit->window.from);
	return pt_topa_place(unit->buffer, unit->window.from, &pt->region);
}

/* Does the window go on where the last one ended, inside a region? Then the registers are right. */
static bool pt_unit_goes_on(struct pt_unit *pt, const struct auxpmu_unit *unit)
{
	if (unit->starting || !pt->known || pt->at.full ||
	    pt->at.offset != auxpmu_buffer_offset(unit->buffer, unit->window.from))
		return false;
	pt->from = pt->at.offset;
	pt->region = pt->at.region;
	return true;
}

/*
 * An event is started. A decoder can continue from what this unit wrote last only if that was with
 * the same settings, and ended where this trace begins; otherwise it needs a PSB to synchronize.
 */
static void pt_unit_configure(struct pt_unit *pt, const struct auxpmu_unit *unit)
{
	u64 ctl = pt_unit_event_ctl(unit);

	pt->cut |= !pt->known || pt->ctl != ctl ||
		   (pt->status & (RTIT_STATUS_STOPPED | RTIT_STATUS_ERROR));
	pt->ctl = ctl;
}

static int pt_unit_set_output(struct pt_unit *pt, const struct auxpmu_unit *unit)
{
	struct pt_output output;
	u64 mask;

	if (pt_unit_goes_on(pt, unit))
		return 0;
	output = pt_unit_place(pt, unit);
	mask = (u64)output.offset << MASK_OFFSET_SHIFT | (u64)output.index << MASK_INDEX_SHIFT |
	       MASK_LOWEST;
	if (unit->starting)
		pt->cut |= output.base != pt->output_base || mask != pt->output_mask;
	return pt_unit_update_msr(pt, MSR_IA32_RTIT_OUTPUT_BASE, &pt->output_base,
				  output.base) ?:
	       pt_unit_update_msr(pt, MSR_IA32_RTIT_OUTPUT_MASK, &pt->output_mask, mask);
}

/*
 * With PacketByteCnt 0 the trace begins with a PSB. If that is not needed, leave Stopped as it is:
 * if set, a filter has stopped this event's trace.
 */
static int pt_unit_clear_status(struct pt_unit *pt)
{
	if (!pt->cut)
		return 0;
	pt->cut = false;
	pt->status = 0;
	return pt_unit_write_msr(pt, MSR_IA32_RTIT_STATUS, 0);
}

static int pt_unit_acknowledge(struct pt_unit *pt, u64 bits)
{
	return pt_unit_write_msr(pt, MSR_CORE_PERF_GLOBAL_OVF_CTRL, bits);
}

/*
 * With one region per table, only an interrupt tells that the first lap has ended. Do not take an
 * older interrupt for it that nobody has acknowledged yet.
 */
static int pt_unit_discard_interrupt(struct pt_unit *pt, const struct auxpmu_window *window)
{
	if (window->to != AUXPMU_NO_LIMIT || window->irq == AUXPMU_NO_LIMIT)
		return 0;
	return pt_unit_acknowledge(pt, GLOBAL_STATUS_TRACE_TOPAPMI);
}

static int pt_unit_switch_on(struct pt_unit *pt)
{
	int ret;

	pt->interrupted = false;
	WRITE_ONCE(pt->latched, false);
	barrier();
	/* It stays off until VMX operation ends; pt_unit_switch_off() notices that as a gap. */
	if (pt_vmx_forbids())
		return 0;
	/* From here on an NMI may switch it off. */
	WRITE_ONCE(pt->on, true);
	barrier();
	ret = pt_unit_write_msr(pt, MSR_IA32_RTIT_CTL, pt->ctl | RTIT_CTL_TRACEEN);
	barrier();
	if (ret)
		WRITE_ONCE(pt->on, false);
	else if (READ_ONCE(pt->latched))	/* switched off before the write */
		ret = pt_unit_write_msr(pt, MSR_IA32_RTIT_CTL, pt->ctl);
	return ret;
}

static void pt_unit_switch_off(struct pt_unit *pt)
{
	u64 ctl;

	/* VMXON has switched it off; in VMX operation the register must not be written. */
	if (pt_vmx_ends_traces && !rdmsrq_safe(MSR_IA32_RTIT_CTL, &ctl) &&
	    !(ctl & RTIT_CTL_TRACEEN)) {
		pt->errors.vmx++;
		pt->ended = true;
		pt->cut = true;
		return;
	}
	pt_unit_write_msr(pt, MSR_IA32_RTIT_CTL, pt->ctl);
}

int pt_unit_arm(struct auxpmu_unit *unit)
{
	const struct auxpmu_event *aux = auxpmu_unit_event(unit);
	struct pt_unit *pt = this_cpu_ptr(&pt_units);
	int ret = 0;

	if (!pt->claimed)
		return -ENODEV;
	if (unit->starting)
		pt_unit_configure(pt, unit);
	if (!pt->known || (unit->starting && aux->nr_ranges))
		ret = pt_unit_set_ranges(pt, aux);
	ret = ret ?: pt_unit_set_output(pt, unit);
	pt_topa_mark(unit->buffer, &unit->window);
	pt_topa_watch(unit->buffer, &unit->window, unit->rules.early);
	ret = ret ?: pt_unit_clear_status(pt);
	ret = ret ?: pt_unit_discard_interrupt(pt, &unit->window);
	pt->known = !ret;
	pt->ended = false;
	pt->armed = !ret;
	return ret ?: pt_unit_switch_on(pt);
}

void pt_unit_disarm(struct auxpmu_unit *unit)
{
	struct pt_unit *pt = this_cpu_ptr(&pt_units);

	pt->armed = false;
	WRITE_ONCE(pt->unread, true);
	WRITE_ONCE(pt->on, false);
	barrier();
	if (!pt->latched)
		pt_unit_switch_off(pt);
	/*
	 * Clearing TraceEn flushes the unit's buffers; the fence makes the trace visible in memory.
	 */
	wmb();
}

/* Switch it off first, so that nothing can set the status bit again. */
void pt_unit_serve(struct pt_unit *pt)
{
	pt_unit_switch_off(pt);
	WRITE_ONCE(pt->latched, true);
	pt_unit_acknowledge(pt, GLOBAL_STATUS_TRACE_TOPAPMI);
	pt->interrupted = true;
	auxpmu_interrupt(pt->unit->pmu);
}

void pt_unit_vmx_ended(struct auxpmu *pmu)
{
	/*
	 * Treat it as an interrupt: the trace so far is committed with PARTIAL, and the unit is
	 * armed again.
	 */
	if (this_cpu_read(pt_units.armed))
		auxpmu_interrupt(pmu);
}

/* Has the unit interrupted since it was armed, seen by a handler or not? */
static bool pt_unit_interrupted(const struct pt_unit *pt)
{
	return pt->interrupted || pt_unit_status();
}

/*
 * A lower bound of the bytes written, which the offset alone does not give. After the first lap,
 * the rest of that lap (less rules.early if the interrupt tells). In another region than the first,
 * 1: it is not where it began.
 */
static u64 pt_unit_least(const struct pt_unit *pt, const struct auxpmu_unit *unit)
{
	const struct auxpmu_window *window = &unit->window;

	if (pt->at.lapped && pt_unit_first_lap(unit))
		return auxpmu_buffer_rest(unit->buffer, pt->from);
	if (window->to == AUXPMU_NO_LIMIT && window->irq != AUXPMU_NO_LIMIT &&
	    pt_unit_interrupted(pt))
		return auxpmu_buffer_rest(unit->buffer, pt->from) - unit->rules.early;
	return pt->at.region != pt->region;
}

/* Bytes written since the window began, by the output registers that were read last. */
static u64 pt_unit_reached(struct pt_unit *pt, const struct auxpmu_unit *unit)
{
	const struct auxpmu_buffer *buffer = unit->buffer;
	struct pt_output output = {
		.base = pt->output_base,
		.index = (pt->output_mask & MASK_INDEX) >> MASK_INDEX_SHIFT,
		.offset = pt->output_mask >> MASK_OFFSET_SHIFT,
	};

	pt->at = pt_topa_reached(buffer, output, pt->region);
	return auxpmu_buffer_distance(buffer, pt->from, pt->at.offset,
				      pt_unit_least(pt, unit));
}

static void pt_unit_read_output(struct pt_unit *pt, const struct auxpmu_unit *unit)
{
	const struct pt_topa *topa = unit->buffer->private;

	if (pt->output_base != topa->loop)
		rdmsrq(MSR_IA32_RTIT_OUTPUT_BASE, pt->output_base);
	rdmsrq(MSR_IA32_RTIT_OUTPUT_MASK, pt->output_mask);
}

/* Is trace missing? */
static bool pt_unit_judge_status(struct pt_unit *pt)
{
	u64 status = pt->status;

	/* A unit that stopped inside a region was stopped by a filter. */
	if (!pt->at.full)
		status &= ~(u64)RTIT_STATUS_STOPPED;
	status &= RTIT_STATUS_ERROR | RTIT_STATUS_STOPPED | RTIT_STATUS_BUFFOVF;
	if (!status)
		return false;
	pt->errors.topa += !!(status & RTIT_STATUS_ERROR);
	pt->errors.stopped += !!(status & RTIT_STATUS_STOPPED);
	pt->errors.overflow += !!(status & RTIT_STATUS_BUFFOVF);
	trace_auxpmu_pt_error(pt->status, pt->output_base, pt->output_mask);
	pt->cut = true;
	return true;
}

void pt_unit_position(struct auxpmu_unit *unit, struct auxpmu_position *position)
{
	struct pt_unit *pt = this_cpu_ptr(&pt_units);

	rdmsrq(MSR_IA32_RTIT_STATUS, pt->status);
	pt_unit_read_output(pt, unit);
	position->bytes = pt_unit_reached(pt, unit);
	position->gap = pt_unit_judge_status(pt) || pt->ended;
	WRITE_ONCE(pt->unread, false);
}

void pt_unit_invalidate(struct auxpmu_unit *unit)
{
	this_cpu_write(pt_units.known, false);
}

void pt_unit_shutdown(void)
{
	struct pt_unit *pt = this_cpu_ptr(&pt_units);

	if (!pt->claimed)
		return;
	pt->claimed = false;
	wrmsrq_safe(MSR_IA32_RTIT_CTL, 0);
	/* Make its trace visible in memory, for a dump of this kernel. */
	wmb();
}

/* Can this CPU do less than the others? Only one that was offline when the module was loaded. */
static bool pt_unit_is_lesser(struct pt_unit *pt)
{
	bool lesser = !pt_caps_here();

	if (lesser && !pt->lesser)
		pr_notice("CPU %d is not traced: it can do less than caps/ says; load the module with all CPUs online\n",
			  smp_processor_id());
	pt->lesser = lesser;
	return lesser;
}

int pt_unit_acquire(const char **why)
{
	struct pt_unit *pt = this_cpu_ptr(&pt_units);
	struct pt_registers *saved = &pt->saved;
	unsigned int n;

	if (pt_unit_is_lesser(pt))
		return 0;
	if (rdmsrq_safe(MSR_IA32_RTIT_CTL, &saved->ctl))
		return -ENODEV;
	if (saved->ctl & RTIT_CTL_TRACEEN) {
		*why = "TraceEn is set, by firmware or by a tool that writes registers";
		return -EBUSY;
	}
	rdmsrq_safe(MSR_IA32_RTIT_STATUS, &saved->status);
	rdmsrq_safe(MSR_IA32_RTIT_OUTPUT_BASE, &saved->output_base);
	rdmsrq_safe(MSR_IA32_RTIT_OUTPUT_MASK, &saved->output_mask);
	if (pt_cap(PT_CR3_FILTERING))
		rdmsrq_safe(MSR_IA32_RTIT_CR3_MATCH, &saved->cr3_match);
	for (n = 0; n < pt_nr_ranges(); n++) {
		rdmsrq_safe(MSR_RTIT_RANGE(n, 0), &saved->range[n][0]);
		rdmsrq_safe(MSR_RTIT_RANGE(n, 1), &saved->range[n][1]);
	}
	pt->known = false;
	pt->claimed = true;
	return 0;
}

void pt_unit_release(void)
{
	struct pt_unit *pt = this_cpu_ptr(&pt_units);
	const struct pt_registers *saved = &pt->saved;
	unsigned int n;

	if (!pt->claimed)
		return;
	pt->claimed = false;
	/* Other registers can be written only while TraceEn is clear, as it is in VMX operation. */
	if (!pt_vmx_forbids())
		pt_unit_write_msr(pt, MSR_IA32_RTIT_CTL, saved->ctl);
	pt_unit_write_msr(pt, MSR_IA32_RTIT_STATUS, saved->status & STATUS_WRITABLE);
	pt_unit_write_msr(pt, MSR_IA32_RTIT_OUTPUT_BASE, saved->output_base);
	pt_unit_write_msr(pt, MSR_IA32_RTIT_OUTPUT_MASK, saved->output_mask);
	if (pt_cap(PT_CR3_FILTERING))
		pt_unit_write_msr(pt, MSR_IA32_RTIT_CR3_MATCH, saved->cr3_match);
	for (n = 0; n < pt_nr_ranges(); n++) {
		pt_unit_write_msr(pt, MSR_RTIT_RANGE(n, 0), saved->range[n][0]);
		pt_unit_write_msr(pt, MSR_RTIT_RANGE(n, 1), saved->range[n][1]);
	}
}

static struct auxpmu_counter errors[] = {
	AUXPMU_COUNTER(topa, pt_units.errors.topa),
	AUXPMU_COUNTER(stopped, pt_units.errors.stopped),
	AUXPMU_COUNTER(overflow, pt_units.errors.overflow),
	AUXPMU_COUNTER(fault, pt_units.errors.fault),
	AUXPMU_COUNTER(vmx, pt_units.errors.vmx),
};

static struct attribute *error_attrs[] = {
	&errors[0].attr.attr,
	&errors[1].attr.attr,
	&errors[2].attr.attr,
	&errors[3].attr.attr,
	&errors[4].attr.attr,
	NULL
};

const struct attribute_group pt_errors_group = {
	.name = "errors",
	.attrs = error_attrs,
};
