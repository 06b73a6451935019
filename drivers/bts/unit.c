// SPDX-License-Identifier: GPL-2.0-only
/* The branch trace store of one CPU: see unit.h. */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/smp.h>

#include <asm/cpu_entry_area.h>
#include <asm/intel_ds.h>
#include <asm/msr-index.h>

#include "../intel/msr.h"
#include "unit.h"

#define CREATE_TRACE_POINTS
#include "bts_trace.h"

DEFINE_PER_CPU(struct bts_unit, bts_units);

#define SWITCHES	(DEBUGCTLMSR_TR | DEBUGCTLMSR_BTS)
#define LEVELS		(DEBUGCTLMSR_BTS_OFF_OS | DEBUGCTLMSR_BTS_OFF_USR)
#define OURS		(SWITCHES | DEBUGCTLMSR_BTINT | LEVELS)

static int bts_unit_write_msr(struct bts_unit *bts, u32 msr, u64 value)
{
	if (!wrmsrq_safe(msr, value))
		return 0;
	bts->errors.fault++;
	trace_auxpmu_bts_fault(msr, value);
	return -EIO;
}

/* The other bits belong to others: last branch records, single steps, freezing on PMI. */
static int bts_unit_set_switches(struct bts_unit *bts, u64 bits)
{
	u64 ctl;

	rdmsrq(MSR_IA32_DEBUGCTLMSR, ctl);
	return bts_unit_write_msr(bts, MSR_IA32_DEBUGCTLMSR, (ctl & ~(u64)OURS) | bits);
}

static void bts_unit_switch_off(struct bts_unit *bts)
{
	bts_unit_set_switches(bts, 0);
	if (in_nmi())
		bts->off_in_nmi = true;
}

static void bts_unit_set_fields(struct debug_store *area, const struct bts_fields *fields)
{
	area->bts_buffer_base = fields->base;
	area->bts_index = fields->index;
	area->bts_absolute_maximum = fields->maximum;
	area->bts_interrupt_threshold = fields->threshold;
}

/* --- for the framework --------------------------------------------------------------------- */

/* Somebody else may have taken this CPU's store when it came online. */
int bts_unit_add(struct auxpmu_unit *unit)
{
	struct bts_unit *bts = this_cpu_ptr(&bts_units);
	const struct perf_event_attr *attr = &unit->event->attr;

	bts->level = (attr->exclude_kernel ? DEBUGCTLMSR_BTS_OFF_OS : 0) |
		     (attr->exclude_user ? DEBUGCTLMSR_BTS_OFF_USR : 0);
	return bts->claimed ? 0 : -ENODEV;
}

/*
 * Restore the fields: seeing the last session's index, the in-tree handler would claim every NMI.
 * TR and BTS are clear, unless the NMI that cleared them interrupted a read-modify-write of
 * IA32_DEBUGCTL for another bit, which then set them again.
 */
void bts_unit_del(struct auxpmu_unit *unit)
{
	struct bts_unit *bts = this_cpu_ptr(&bts_units);

	if (!bts->claimed)
		return;
	if (bts->off_in_nmi) {
		bts->off_in_nmi = false;
		bts_unit_set_switches(bts, 0);
	}
	bts_unit_set_fields(bts->area, &bts->saved);
}

static void bts_unit_stay_off(void *unused)
{
	struct bts_unit *bts = this_cpu_ptr(&bts_units);

	if (bts->claimed && !bts->on)
		bts_unit_set_switches(bts, 0);
}

/*
 * The same for a stopped event that stays on its CPU: if the store has come on again, it must not
 * write into pages that are about to be freed.
 */
void bts_unit_leave_buffer(struct auxpmu_buffer *buffer)
{
	int cpu;

	for_each_online_cpu(cpu)
		if (READ_ONCE(per_cpu(bts_units, cpu).off_in_nmi))
			smp_call_function_single(cpu, bts_unit_stay_off, NULL, 1);
}

/* The buffer is one chunk, and the store overwrites it round and round. */
static bool bts_unit_goes_round(const struct auxpmu_unit *unit)
{
	return unit->window.to == AUXPMU_NO_LIMIT;
}

/*
 * SDM volume 3, "DS Save Area": the absolute maximum "should be a multiple of the BTS record size
 * plus 1". This leaves open how a processor compares a record with it. So leave one slot free
 * before the end of our memory: whether a record's end or its beginning is compared, no record goes
 * beyond that slot.
 */
static u64 bts_unit_maximum(u64 end)
{
	return end - BTS_RECORD + 1;
}

static bool bts_unit_is_full(const struct debug_store *area)
{
	return area->bts_index + BTS_RECORD > area->bts_absolute_maximum;
}

/* Bytes of such a chunk that hold whole records, without the slot that is left free. */
static u64 bts_unit_lap(const struct auxpmu_unit *unit)
{
	u64 length = auxpmu_chunk_nth(&unit->buffer->chunks, 0).length;

	return length - length % BTS_RECORD - BTS_RECORD;
}

/*
 * A store that goes round does not interrupt, and nothing counts its laps. But buffers begin as
 * zeros, so a record in the last slot tells that the first lap has ended.
 */
static bool bts_unit_lap_ended(const struct auxpmu_unit *unit)
{
	u64 run;
	const u64 *last = auxpmu_buffer_run(unit->buffer, bts_unit_lap(unit) - BTS_RECORD, &run);

	return READ_ONCE(last[0]) || READ_ONCE(last[1]) || READ_ONCE(last[2]);
}

/*
 * The threshold is where the framework wants the interrupt. Behind the limit, the spare bytes take
 * what is recorded until the store is served.
 */
static struct bts_fields bts_unit_place(struct bts_unit *bts, const struct auxpmu_unit *unit)
{
	const struct auxpmu_window *window = &unit->window;
	u64 run, at = (u64)auxpmu_buffer_run(unit->buffer, window->from, &run);

	bts->window = at;
	bts->first_lap = false;
	if (bts_unit_goes_round(unit)) {
		u64 base = at - auxpmu_buffer_offset(unit->buffer, window->from);
		u64 end = base + bts_unit_lap(unit) + BTS_RECORD;

		bts->first_lap = !bts_unit_lap_ended(unit);
		return (struct bts_fields){ base, at, bts_unit_maximum(end), end + BTS_RECORD };
	}
	return (struct bts_fields){
		.base = at,
		.index = at,
		.maximum = bts_unit_maximum(at + window->to - window->from + unit->rules.spare),
		.threshold = at + (window->irq - window->from),
	};
}

int bts_unit_arm(struct auxpmu_unit *unit)
{
	struct bts_unit *bts = this_cpu_ptr(&bts_units);
	struct bts_fields fields;
	int ret;

	if (!bts->claimed)
		return -ENODEV;
	fields = bts_unit_place(bts, unit);
	bts_unit_set_fields(bts->area, &fields);
	WRITE_ONCE(bts->latched, false);
	barrier();
	/* From here on an NMI may switch it off. */
	WRITE_ONCE(bts->on, true);
	barrier();
	/* Without BTINT the store goes round. */
	ret = bts_unit_set_switches(bts, SWITCHES | bts->level |
				    (bts_unit_goes_round(unit) ? 0 : DEBUGCTLMSR_BTINT));
	if (ret)
		WRITE_ONCE(bts->on, false);
	return ret;
}

void bts_unit_disarm(struct auxpmu_unit *unit)
{
	struct bts_unit *bts = this_cpu_ptr(&bts_units);

	WRITE_ONCE(bts->on, false);
	barrier();
	if (!bts->latched)
		bts_unit_switch_off(bts);
	/* Records are in memory, in order, like any other store of this processor. */
	barrier();
}

void bts_unit_latch(struct bts_unit *bts)
{
	bts_unit_switch_off(bts);
	WRITE_ONCE(bts->latched, true);
}

/* Bytes of a store that goes round: if the first lap has ended, a lap more than the index tells. */
static u64 bts_unit_gone_round(const struct bts_unit *bts, const struct auxpmu_unit *unit)
{
	u64 from = auxpmu_buffer_offset(unit->buffer, unit->window.from);
	u64 least = bts->first_lap && bts_unit_lap_ended(unit) ?
		    bts_unit_lap(unit) - from : 0;

	return auxpmu_buffer_distance(unit->buffer, from,
				      bts->area->bts_index - bts->area->bts_buffer_base, least);
}

void bts_unit_position(struct auxpmu_unit *unit, struct auxpmu_position *position)
{
	struct bts_unit *bts = this_cpu_ptr(&bts_units);
	const struct debug_store *area = bts->area;

	if (bts_unit_goes_round(unit)) {
		position->bytes = bts_unit_gone_round(bts, unit);
		return;
	}
	position->bytes = area->bts_index - bts->window;
	if (!bts_unit_is_full(area))
		return;
	/* The store does not tell whether it has dropped records already. */
	bts->errors.full++;
	trace_auxpmu_bts_full(area->bts_index, area->bts_interrupt_threshold);
	position->gap = true;
}

bool bts_unit_is_due(const struct bts_unit *bts)
{
	return READ_ONCE(bts->area->bts_index) >= bts->area->bts_interrupt_threshold;
}

/* --- the claim ----------------------------------------------------------------------------- */

/* The DS area that the kernel reserves for this CPU, used or not. */
static struct debug_store *bts_unit_area_here(void)
{
	return &get_cpu_entry_area(smp_processor_id())->cpu_debug_store;
}

/*
 * IA32_DS_AREA holds its address if the in-tree PMU is held, or the kernel has counters and PEBS.
 * Otherwise it is 0 and stays so: the kernel would set it with its first counter, which the claim
 * holds.
 */
static int bts_unit_acquire_area(struct bts_unit *bts, const char **why)
{
	u64 at;

	bts->area = bts_unit_area_here();
	if (rdmsrq_safe(MSR_IA32_DS_AREA, &at))
		return -ENODEV;
	if (at && at != (u64)bts->area) {
		*why = "IA32_DS_AREA is set, and not by this kernel";
		return -EBUSY;
	}
	bts->own_area = !at;
	return at ? 0 : bts_unit_write_msr(bts, MSR_IA32_DS_AREA, (u64)bts->area);
}

int bts_unit_acquire(const char **why)
{
	struct bts_unit *bts = this_cpu_ptr(&bts_units);
	u64 ctl;
	int ret;

	if (rdmsrq_safe(MSR_IA32_DEBUGCTLMSR, &ctl))
		return -ENODEV;
	if (ctl & SWITCHES) {
		*why = "BTS or TR is set, by firmware or by a tool that writes registers";
		return -EBUSY;
	}
	ret = bts_unit_acquire_area(bts, why);
	if (ret)
		return ret;
	bts->others_ctl = ctl & OURS;
	bts->saved = (struct bts_fields){
		.base = bts->area->bts_buffer_base,
		.index = bts->area->bts_index,
		.maximum = bts->area->bts_absolute_maximum,
		.threshold = bts->area->bts_interrupt_threshold,
	};
	bts->claimed = true;
	return 0;
}

void bts_unit_release(void)
{
	struct bts_unit *bts = this_cpu_ptr(&bts_units);

	bts->claimed = false;
	bts_unit_set_switches(bts, bts->others_ctl);
	bts_unit_set_fields(bts->area, &bts->saved);
	if (bts->own_area)
		bts_unit_write_msr(bts, MSR_IA32_DS_AREA, 0);
}

/* If the kernel has set the register, it restores it itself (perf_restore_debug_store()). */
void bts_unit_invalidate(struct auxpmu_unit *unit)
{
	struct bts_unit *bts = this_cpu_ptr(&bts_units);

	if (bts->claimed && bts->own_area)
		bts_unit_write_msr(bts, MSR_IA32_DS_AREA, (u64)bts->area);
}

void bts_unit_shutdown(void)
{
	struct bts_unit *bts = this_cpu_ptr(&bts_units);

	if (!bts->claimed)
		return;
	bts->claimed = false;
	bts_unit_set_switches(bts, 0);
}

static struct auxpmu_counter errors[] = {
	AUXPMU_COUNTER(full, bts_units.errors.full),
	AUXPMU_COUNTER(fault, bts_units.errors.fault),
};

static struct attribute *error_attrs[] = {
	&errors[0].attr.attr,
	&errors[1].attr.attr,
	NULL
};

const struct attribute_group bts_errors_group = {
	.name = "errors",
	.attrs = error_attrs,
};
