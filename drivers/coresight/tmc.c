// SPDX-License-Identifier: GPL-2.0-only
/* Trace memory controllers: see tmc.h. */
#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/minmax.h>
#include <linux/of.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "area.h"
#include "component.h"
#include "link.h"
#include "tmc.h"

#define TMC_RSZ			0x004
#define TMC_STS			0x00c
#define TMC_RRD			0x010
#define TMC_RRP			0x014
#define TMC_RWP			0x018
#define TMC_TRG			0x01c
#define TMC_CTL			0x020
#define TMC_MODE		0x028
#define TMC_CBUFLEVEL		0x030
#define TMC_BUFWM		0x034
#define TMC_RRPHI		0x038
#define TMC_RWPHI		0x03c
#define TMC_AXICTL		0x110
#define TMC_DBALO		0x118
#define TMC_DBAHI		0x11c
#define TMC_FFCR		0x304
#define TMC_DEVID		0xfc8

#define TMC_STS_FULL		BIT(0)
#define TMC_STS_READY		BIT(2)
#define TMC_STS_EMPTY		BIT(4)
#define TMC_STS_MEMORY_ERROR	BIT(5)
#define TMC_CTL_CAPTURE		BIT(0)
#define TMC_MODE_CIRCULAR	0
#define TMC_MODE_HARDWARE_FIFO	2
#define TMC_FFCR_FORMAT		BIT(0)
#define TMC_FFCR_TRIGGERS	BIT(1)
#define TMC_FFCR_FLUSH		BIT(6)
#define TMC_FFCR_STOP_ON_FLUSH	BIT(12)
#define TMC_DEVID_KIND		GENMASK(7, 6)
#define TMC_DEVID_AXIAW_VALID	BIT(16)
#define TMC_DEVID_AXIAW		GENMASK(23, 17)
#define TMC_DEVID_NO_SCATTER	BIT(24)

/* Accesses to memory: not privileged, not secure, write-back allocated, in bursts. */
#define TMC_AXICTL_NONSECURE	BIT(1)
#define TMC_AXICTL_CACHE	GENMASK(5, 2)
#define TMC_AXICTL_SCATTER	BIT(7)
#define TMC_AXICTL_BURST	GENMASK(11, 8)
#define TMC_BURST_16		15
#define TMC_AXICTL_READ_CACHE	GENMASK(19, 16)

#define CATU_CONTROL		0x000
#define CATU_MODE		0x004
#define CATU_AXICTRL		0x008
#define CATU_SLADDRLO		0x020
#define CATU_SLADDRHI		0x024
#define CATU_INADDRLO		0x028
#define CATU_INADDRHI		0x02c
#define CATU_STATUS		0x100
#define CATU_CONTROL_ENABLE	BIT(0)
#define CATU_MODE_PASS_THROUGH	0
#define CATU_MODE_TRANSLATE	1
#define CATU_STATUS_READY	BIT(8)
/* Accesses to tables: not privileged, not secure, write-back allocated. */
#define CATU_AXICTRL_ACCESSES	(BIT(1) | 7 << 4)

/* An ETR's memory, if the device tree does not say how much: as in-tree. */
#define TMC_MEMORY		SZ_1M
#define TMC_MEMORY_LEAST	SZ_64K

static const char * const tmc_kinds[] = {
	[TMC_ETB] = "tmc_etb", [TMC_ETR] = "tmc_etr", [TMC_ETF] = "tmc_etf",
};

/* --- on and off ----------------------------------------------------------------------------- */

static u64 tmc_read_pair(const struct tmc *tmc, u32 low, u32 high)
{
	return component_read(tmc->component, low) |
	       (u64)component_read(tmc->component, high) << 32;
}

static void tmc_write_pair(const struct tmc *tmc, u64 value, u32 low, u32 high)
{
	component_write(tmc->component, lower_32_bits(value), low);
	component_write(tmc->component, upper_32_bits(value), high);
}

static bool tmc_ready(const struct tmc *tmc)
{
	return component_wait(tmc->component, TMC_STS, TMC_STS_READY, TMC_STS_READY);
}

/* Let it write into @bytes of memory at @address, or of its tables there, from @first on. */
static void tmc_program(const struct tmc *tmc, dma_addr_t address, u64 bytes, dma_addr_t first,
			bool scattered)
{
	const struct component *component = tmc->component;
	u32 accesses = TMC_AXICTL_NONSECURE | TMC_AXICTL_CACHE |
		       FIELD_PREP(TMC_AXICTL_BURST, tmc->burst);

	if (scattered)
		accesses |= TMC_AXICTL_SCATTER;
	if (tmc->save_restore)
		accesses |= TMC_AXICTL_READ_CACHE;
	component_write(component, bytes / sizeof(u32), TMC_RSZ);
	component_write(component, accesses, TMC_AXICTL);
	tmc_write_pair(tmc, address, TMC_DBALO, TMC_DBAHI);
	if (tmc->save_restore) {
		tmc_write_pair(tmc, first, TMC_RRP, TMC_RRPHI);
		tmc_write_pair(tmc, first, TMC_RWP, TMC_RWPHI);
		component_write(component, 0, TMC_STS);
	}
}

/* What the CPU has touched is the device's again. */
static void tmc_program_memory(struct tmc *tmc)
{
	dma_addr_t address = tmc->address[tmc->now];

	dma_sync_single_for_device(tmc->component->dev, address, tmc->touched[tmc->now],
				   DMA_FROM_DEVICE);
	tmc->touched[tmc->now] = 0;
	tmc_program(tmc, address, tmc->bytes, address, false);
}

/* Those of a SoC-600 keep their pointers, which would be those of an earlier user's trace. */
static void tmc_program_ram(const struct tmc *tmc)
{
	if (!tmc->save_restore)
		return;
	component_write(tmc->component, 0, TMC_RRP);
	component_write(tmc->component, 0, TMC_RWP);
	component_write(tmc->component, 0, TMC_STS);
}

/* May it be programmed? */
static int tmc_programmable(const struct tmc *tmc)
{
	if (tmc->dead)
		return -ESHUTDOWN;
	return tmc_ready(tmc) ? 0 : -EBUSY;
}

/* It is programmed, but for this. */
static void tmc_capture(const struct tmc *tmc, u32 mode)
{
	component_write(tmc->component, mode, TMC_MODE);
	component_write(tmc->component, TMC_FFCR_FORMAT | TMC_FFCR_TRIGGERS, TMC_FFCR);
	component_write(tmc->component, TMC_CTL_CAPTURE, TMC_CTL);
	component_settle(tmc->component, TMC_CTL);
}

/* The CATU, which takes that only while it is off: what addresses mean. */
static int tmc_program_catu(const struct component *catu, u32 mode, dma_addr_t table)
{
	component_write(catu, 0, CATU_CONTROL);
	if (!component_wait(catu, CATU_STATUS, CATU_STATUS_READY, CATU_STATUS_READY))
		return -EBUSY;
	component_write(catu, mode, CATU_MODE);
	if (mode == CATU_MODE_TRANSLATE) {
		component_write(catu, CATU_AXICTRL_ACCESSES, CATU_AXICTRL);
		component_write(catu, lower_32_bits(table), CATU_SLADDRLO);
		component_write(catu, upper_32_bits(table), CATU_SLADDRHI);
		component_write(catu, AREA_INPUT, CATU_INADDRLO);
		component_write(catu, 0, CATU_INADDRHI);
	}
	component_write(catu, CATU_CONTROL_ENABLE, CATU_CONTROL);
	component_settle(catu, CATU_CONTROL);
	return 0;
}

/* All but that is programmed: let it go round. */
static void tmc_go(struct tmc *tmc)
{
	component_write(tmc->component, 0, TMC_TRG);
	tmc_capture(tmc, TMC_MODE_CIRCULAR);
	tmc->running = true;
}

/* Let it take trace, from the beginning of its memory on. Bus held. */
static int tmc_run(struct tmc *tmc)
{
	int ret = tmc_programmable(tmc);

	if (ret)
		return ret;
	if (tmc->catu && component_read(tmc->catu, CATU_MODE) != CATU_MODE_PASS_THROUGH)
		ret = tmc_program_catu(tmc->catu, CATU_MODE_PASS_THROUGH, 0);
	if (ret)
		return ret;
	if (tmc->kind == TMC_ETR)
		tmc_program_memory(tmc);
	else
		tmc_program_ram(tmc);
	tmc_go(tmc);
	return 0;
}

static int tmc_start(struct auxpmu_sink *sink)
{
	int ret;

	link_hold();
	ret = tmc_run(sink->private);
	link_release();
	return ret;
}

/* All that has come so far leaves the formatter, and all that is on its way comes. */
static void tmc_flush(const struct tmc *tmc, u32 control)
{
	control |= TMC_FFCR_FORMAT | TMC_FFCR_TRIGGERS;
	/* It stops only if it knew before the flush. */
	if (control & TMC_FFCR_STOP_ON_FLUSH)
		component_write(tmc->component, control, TMC_FFCR);
	component_write(tmc->component, control | TMC_FFCR_FLUSH, TMC_FFCR);
	component_wait(tmc->component, TMC_FFCR, TMC_FFCR_FLUSH, 0);
}

/* Flush it, and end its capture. */
static void tmc_end(const struct tmc *tmc)
{
	tmc_flush(tmc, TMC_FFCR_STOP_ON_FLUSH);
	tmc_ready(tmc);
	component_write(tmc->component, 0, TMC_CTL);
	component_settle(tmc->component, TMC_CTL);
}

/*
 * How much it holds, if it has written up to @to. It writes whole frames; of one that is not, the
 * rest is lost, which is in front of what comes next, too.
 */
static void tmc_note_held(struct tmc *tmc, u64 to, bool wrapped)
{
	bool cut = to % TMC_FRAME;

	if (to > tmc->bytes) {
		tmc->gap = true;
		return;
	}
	to = round_down(to, TMC_FRAME);
	tmc->held = wrapped ? tmc->bytes : to;
	tmc->oldest = wrapped ? to % tmc->bytes : 0;
	tmc->gap |= wrapped || cut;
	tmc->missed = cut;
}

/* Where trace is in an ETR's memory. */
static void tmc_find_trace(struct tmc *tmc, bool wrapped)
{
	dma_addr_t address = tmc->address[tmc->now];

	tmc_note_held(tmc, tmc_read_pair(tmc, TMC_RWP, TMC_RWPHI) - address, wrapped);
	tmc->touched[tmc->now] = tmc->held;
	dma_sync_single_for_cpu(tmc->component->dev, address, tmc->held, DMA_FROM_DEVICE);
}

/* The trace of an ETF or ETB, word by word, the oldest first. */
static void tmc_read_ram(struct tmc *tmc, bool wrapped)
{
	u32 *words = (u32 *)tmc->memory[0];
	u64 n;

	tmc_note_held(tmc, component_read(tmc->component, TMC_RWP), wrapped);
	if (!wrapped && component_read(tmc->component, TMC_RRP)) {
		/* It did not begin at the beginning: what is there may be somebody else's. */
		tmc->gap = true;
		tmc->held = 0;
	}
	tmc->oldest = 0;
	for (n = 0; n < tmc->held / sizeof(u32); n++)
		words[n] = component_read(tmc->component, TMC_RRD);
}

/* Flush and stop it: its status. One that does not stop is taken for one that could not write. */
static u32 tmc_quiesce(struct tmc *tmc)
{
	u32 status = TMC_STS_MEMORY_ERROR;

	tmc->running = false;
	tmc_flush(tmc, TMC_FFCR_STOP_ON_FLUSH);
	if (tmc_ready(tmc))
		status = component_read(tmc->component, TMC_STS);
	/* Its memory is read after that. */
	dma_rmb();
	return status;
}

/* What it holds has been read. */
static void tmc_switch_off(const struct tmc *tmc, u32 status)
{
	component_write(tmc->component, 0, TMC_CTL);
	if (status & TMC_STS_MEMORY_ERROR)
		component_write(tmc->component, TMC_STS_MEMORY_ERROR, TMC_STS);
}

/* Stop it, and note what it holds. All that has come out of trace units so far is in it. */
static void tmc_halt(struct tmc *tmc)
{
	u32 status;

	tmc->held = 0;
	tmc->held_in = tmc->now;
	tmc->oldest = 0;
	tmc->gap = tmc->missed;
	tmc->missed = false;
	if (!tmc->running)
		return;
	status = tmc_quiesce(tmc);
	if (status & TMC_STS_MEMORY_ERROR)
		tmc->gap = true;
	else if (tmc->kind == TMC_ETR)
		tmc_find_trace(tmc, status & TMC_STS_FULL);
	else
		tmc_read_ram(tmc, status & TMC_STS_FULL);
	tmc_switch_off(tmc, status);
}

static void tmc_stop(struct auxpmu_sink *sink)
{
	struct tmc *tmc = sink->private;

	link_hold();
	tmc_halt(tmc);
	link_release();
	/* Who comes next begins anew. */
	tmc->missed = false;
}

static int tmc_turn(struct auxpmu_sink *sink)
{
	struct tmc *tmc = sink->private;
	int ret;

	link_hold();
	if (tmc->gate) {
		/* What units have made comes before the gate closes, what they make then waits. */
		tmc_flush(tmc, 0);
		link_gate(tmc->gate, false);
	}
	tmc_halt(tmc);
	if (tmc->kind == TMC_ETR)
		tmc->now ^= 1;
	ret = tmc_run(tmc);
	/* Without a gate, trace of other units was lost meanwhile; the next position says so. */
	if (ret || !tmc->gate)
		tmc->missed = true;
	if (tmc->gate)
		link_gate(tmc->gate, true);
	link_release();
	return ret;
}

/*
 * Pointers must not be read while it runs (DDI 0461, "RAM Write Pointer Register"). The fill level
 * may be.
 */
static u64 tmc_fill_level(const struct tmc *tmc)
{
	return (u64)component_read(tmc->component, TMC_CBUFLEVEL) * sizeof(u32);
}

/* It has gone round, or takes no more trace: it has stopped, or could not write. */
static bool tmc_is_through(u32 status)
{
	return status & (TMC_STS_FULL | TMC_STS_READY | TMC_STS_MEMORY_ERROR);
}

static u64 tmc_progress(struct auxpmu_sink *sink)
{
	const struct tmc *tmc = sink->private;

	if (tmc_is_through(component_read(tmc->component, TMC_STS)))
		return tmc->bytes;
	return tmc_fill_level(tmc);
}

static void tmc_position(struct auxpmu_sink *sink, struct auxpmu_position *position)
{
	const struct tmc *tmc = sink->private;

	position->bytes = tmc->held;
	position->gap = tmc->gap;
}

static unsigned int tmc_spans(struct auxpmu_sink *sink, struct auxpmu_span spans[2])
{
	const struct tmc *tmc = sink->private;
	const u8 *memory = tmc->memory[tmc->held_in];
	u64 first = min(tmc->held, tmc->bytes - tmc->oldest);

	spans[0] = (struct auxpmu_span){ .data = memory + tmc->oldest, .length = first };
	spans[1] = (struct auxpmu_span){ .data = memory, .length = tmc->held - first };
	return 2;
}

static const struct auxpmu_sink_ops tmc_sink_ops = {
	.start = tmc_start,
	.stop = tmc_stop,
	.turn = tmc_turn,
	.progress = tmc_progress,
	.position = tmc_position,
	.spans = tmc_spans,
};

/* --- in an AUX area ------------------------------------------------------------------------- */

bool tmc_reaches_areas(const struct tmc *tmc)
{
	return tmc->kind == TMC_ETR && !area_is_out_of_reach(tmc->component);
}

/* By tables of its own, which take no others. */
static bool tmc_scatters(const struct tmc *tmc)
{
	return tmc->scatters && !tmc->catu;
}

bool tmc_has_tables(const struct tmc *tmc)
{
	return tmc->catu || tmc->scatters;
}

struct area *tmc_make_area(const struct tmc *tmc, const struct auxpmu_buffer *buffer)
{
	const struct area_user user = {
		.name = tmc->name,
		.component = tmc->component,
		.catu = tmc->catu,
		.scatters = tmc_scatters(tmc),
	};

	return area_make(&user, buffer);
}

/* The offset in the AUX area at which its memory begins: that of the window. */
static u64 tmc_base(const struct auxpmu_unit *unit)
{
	return auxpmu_buffer_offset(unit->buffer, unit->window.from);
}

/*
 * Its memory is the window; or all of the area, in which it goes round, as if that began with the
 * window: it has tables then.
 */
static int tmc_run_in_area(struct tmc *tmc, const struct auxpmu_unit *unit)
{
	const struct auxpmu_window *window = &unit->window;
	struct area_aim aim;
	int ret = tmc_programmable(tmc);

	if (ret)
		return ret;
	tmc->window = auxpmu_buffer_rest(unit->buffer, 0);
	if (window->to != AUXPMU_NO_LIMIT)
		tmc->window = window->to - window->from;
	area_aim(area_of(unit), unit->buffer, tmc_base(unit), tmc->window, &aim);
	if (tmc->catu)
		ret = tmc_program_catu(tmc->catu, CATU_MODE_TRANSLATE, aim.catu_table);
	if (ret)
		return ret;
	tmc_program(tmc, aim.base, tmc->window, aim.first, tmc_scatters(tmc));
	tmc_go(tmc);
	return 0;
}

int tmc_start_in_area(struct tmc *tmc, const struct auxpmu_unit *unit)
{
	int ret;

	link_hold();
	/* What was lost at the end of an earlier part of the trace has been told of there. */
	if (unit->starting)
		tmc->missed = false;
	ret = tmc_run_in_area(tmc, unit);
	link_release();
	return ret;
}

/* An ETR with tables of its own has no fill level (DDI 0461, "Current Buffer Fill Level"). */
u64 tmc_progress_in_area(const struct tmc *tmc)
{
	u32 status = component_read(tmc->component, TMC_STS);

	if (tmc_is_through(status))
		return tmc->window;
	if (tmc_scatters(tmc))
		return status & TMC_STS_EMPTY ? 0 : U64_MAX;
	return min(tmc_fill_level(tmc), tmc->window);
}

/* Stopped: bytes from the beginning of its memory to where it writes; too many: nobody knows. */
static u64 tmc_pointer(const struct tmc *tmc, const struct auxpmu_unit *unit)
{
	u64 pointer = tmc_read_pair(tmc, TMC_RWP, TMC_RWPHI);

	if (tmc_scatters(tmc))
		return area_find(area_of(unit), unit->buffer, tmc_base(unit), pointer);
	return pointer - tmc_read_pair(tmc, TMC_DBALO, TMC_DBAHI);
}

/*
 * Of a frame that is not whole the rest is lost, which is in front of what comes next, too. Of a
 * window that it went round in, the newest trace is at the beginning, and the rest is lost, since
 * it is out of order. A flight recorder has all in order, and what was overwritten is not lost; how
 * often it went round, nobody knows.
 */
static void tmc_note_end(struct tmc *tmc, const struct auxpmu_unit *unit, bool full)
{
	u64 at = tmc_pointer(tmc, unit);
	bool recorder = unit->window.to == AUXPMU_NO_LIMIT;

	if (at > tmc->window)
		return;
	tmc->gap = tmc->missed || (full && !recorder);
	tmc->lost = at % TMC_FRAME;
	tmc->missed = tmc->lost;
	tmc->held = round_down(at, TMC_FRAME);
	if (full && (recorder || !at))
		tmc->held += tmc->window;
}

void tmc_stop_in_area(struct tmc *tmc, const struct auxpmu_unit *unit)
{
	struct area *area = area_of(unit);
	u32 status;

	tmc->held = 0;
	tmc->lost = 0;
	tmc->gap = true;
	if (!tmc->running)
		return;
	status = tmc_quiesce(tmc);
	if (!(status & TMC_STS_MEMORY_ERROR))
		tmc_note_end(tmc, unit, status & TMC_STS_FULL);
	area_take(area, unit->buffer, tmc_base(unit), min(tmc->held, tmc->window));
	tmc_switch_off(tmc, status);
	if ((status & TMC_STS_MEMORY_ERROR) && !tmc_ready(tmc))
		area_abandon(area, unit->buffer);
}

void tmc_position_in_area(const struct tmc *tmc, struct auxpmu_position *position)
{
	position->bytes = tmc->held;
	position->lost = tmc->lost;
	position->gap = tmc->gap;
}

/* Whoever uses it, it must not write to memory any more, nor be let to. */
static void tmc_end_for_good(struct tmc *tmc)
{
	tmc->dead = true;
	component_unlock(tmc->component->base);
	tmc_end(tmc);
	tmc->running = false;
}

static void tmc_shut_down(struct component *component)
{
	unsigned long flags;

	local_irq_save(flags);
	link_hold();
	tmc_end_for_good(component->tmc);
	link_release();
	local_irq_restore(flags);
}

void tmc_end_all(void)
{
	struct component *component = NULL;

	while ((component = component_next(component, COMPONENT_TMC)))
		if (component->tmc)
			tmc_end_for_good(component->tmc);
}

/* --- whose it is ---------------------------------------------------------------------------- */

static int tmc_claim_catu(struct component *catu)
{
	int ret = component_claim(catu);

	if (ret)
		return ret;
	ret = tmc_program_catu(catu, CATU_MODE_PASS_THROUGH, 0);
	if (ret)
		component_disclaim(catu);
	return ret;
}

int tmc_lend(struct tmc *tmc)
{
	int ret = tmc->links ? -EBUSY : component_claim(tmc->component);

	if (ret)
		return ret;
	/* What an earlier user missed is not in front of the next one's trace. */
	if (!tmc->users)
		tmc->missed = false;
	if (!tmc->users && tmc->catu)
		ret = tmc_claim_catu(tmc->catu);
	if (ret) {
		component_disclaim(tmc->component);
		return ret;
	}
	tmc->users++;
	return 0;
}

void tmc_take_back(struct tmc *tmc)
{
	tmc->users--;
	if (!tmc->users && tmc->catu) {
		component_write(tmc->catu, 0, CATU_CONTROL);
		component_disclaim(tmc->catu);
	}
	component_disclaim(tmc->component);
}

static int tmc_pass_on(const struct tmc *tmc)
{
	int ret = tmc_programmable(tmc);

	if (ret)
		return ret;
	component_write(tmc->component, 0, TMC_BUFWM);
	tmc_capture(tmc, TMC_MODE_HARDWARE_FIFO);
	return 0;
}

int tmc_link(struct tmc *tmc)
{
	int ret = tmc->users ? -EBUSY : component_claim(tmc->component);

	if (ret)
		return ret;
	if (!tmc->links)
		ret = tmc_pass_on(tmc);
	if (ret) {
		component_disclaim(tmc->component);
		return ret;
	}
	tmc->links++;
	return 0;
}

void tmc_unlink(struct tmc *tmc)
{
	if (!--tmc->links)
		tmc_end(tmc);
	component_disclaim(tmc->component);
}

void tmc_restore(struct tmc *tmc)
{
	component_restore(tmc->component);
	if (tmc->users && tmc->catu) {
		component_restore(tmc->catu);
		tmc_program_catu(tmc->catu, CATU_MODE_PASS_THROUGH, 0);
	}
	if (tmc->links && !(component_read(tmc->component, TMC_CTL) & TMC_CTL_CAPTURE))
		tmc_pass_on(tmc);
}

/* --- life ----------------------------------------------------------------------------------- */

static void tmc_free_memory(struct tmc *tmc)
{
	unsigned int n;

	if (tmc->kind != TMC_ETR) {
		vfree(tmc->memory[0]);
		return;
	}
	for (n = 0; n < TMC_MEMORIES; n++) {
		if (tmc->memory[n])
			dma_free_noncoherent(tmc->component->dev, tmc->bytes, tmc->memory[n],
					     tmc->address[n], DMA_FROM_DEVICE);
		tmc->memory[n] = NULL;
	}
}

static bool tmc_has_memory(struct tmc *tmc, u32 bytes)
{
	unsigned int n;

	tmc->bytes = bytes;
	for (n = 0; n < TMC_MEMORIES; n++) {
		tmc->memory[n] = dma_alloc_noncoherent(tmc->component->dev, bytes, &tmc->address[n],
						       DMA_FROM_DEVICE, GFP_KERNEL | __GFP_NOWARN);
		if (!tmc->memory[n]) {
			tmc_free_memory(tmc);
			return false;
		}
		tmc->touched[n] = bytes;
	}
	return true;
}

/* As much as the device tree says, or what there is. */
static int tmc_make_memory(struct tmc *tmc, u32 devid)
{
	struct device *dev = tmc->component->dev;
	unsigned int bits = devid & TMC_DEVID_AXIAW_VALID ? FIELD_GET(TMC_DEVID_AXIAW, devid) : 40;
	u32 bytes = TMC_MEMORY;
	int ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(bits));

	if (ret)
		return ret;
	of_property_read_u32(dev->of_node, "arm,buffer-size", &bytes);
	tmc->burst = TMC_BURST_16;
	of_property_read_u32(dev->of_node, "arm,max-burst-size", &tmc->burst);
	tmc->burst = min_t(u32, tmc->burst, TMC_BURST_16);
	bytes = max_t(u32, bytes, TMC_MEMORY_LEAST);
	for (; bytes >= TMC_MEMORY_LEAST; bytes /= 2)
		if (tmc_has_memory(tmc, ALIGN(bytes, PAGE_SIZE)))
			return 0;
	return -ENOMEM;
}

static int tmc_make_ram(struct tmc *tmc)
{
	tmc->bytes = (u64)component_read(tmc->component, TMC_RSZ) * sizeof(u32);
	if (!tmc->bytes)
		return -ENODEV;
	tmc->memory[0] = vzalloc(tmc->bytes);
	return tmc->memory[0] ? 0 : -ENOMEM;
}

static int tmc_prepare(struct tmc *tmc)
{
	static unsigned int numbers[ARRAY_SIZE(tmc_kinds)];
	static u32 ids;
	struct component *component = tmc->component;
	u32 devid = component_read(component, TMC_DEVID);
	int ret;

	tmc->kind = FIELD_GET(TMC_DEVID_KIND, devid);
	if (tmc->kind > TMC_ETF)
		return -ENODEV;
	/* Parts of SoC-600: ETR, ETB, ETF. */
	tmc->save_restore = component->part >= 0x9e8 && component->part <= 0x9ea;
	snprintf(tmc->name, TMC_NAME, "%s%u", tmc_kinds[tmc->kind], numbers[tmc->kind]++);
	/* Behind those of the trace buffers, which are numbered by their CPUs. */
	tmc->id = nr_cpu_ids + 1 + ids++;
	/* Without the property in-tree drivers do not trust it, either. */
	tmc->scatters = tmc->kind == TMC_ETR && !(devid & TMC_DEVID_NO_SCATTER) &&
			of_property_read_bool(component->dev->of_node, "arm,scatter-gather");
	ret = tmc->kind == TMC_ETR ? tmc_make_memory(tmc, devid) : tmc_make_ram(tmc);
	if (ret)
		return ret;
	tmc->desc = (struct auxpmu_sink_desc){
		.ops = &tmc_sink_ops,
		.size = tmc->bytes,
		.polled = true,
	};
	tmc->sink = auxpmu_sink_make(&tmc->desc, tmc);
	return PTR_ERR_OR_ZERO(tmc->sink);
}

static int tmc_make(struct component *component)
{
	struct tmc *tmc = kzalloc(sizeof(*tmc), GFP_KERNEL);
	int ret;

	if (!tmc)
		return -ENOMEM;
	tmc->component = component;
	ret = tmc_prepare(tmc);
	if (ret) {
		dev_notice(component->dev, "not used: error %d\n", ret);
		tmc_free_memory(tmc);
		kfree(tmc);
		return ret == -ENOMEM ? ret : 0;
	}
	component->tmc = tmc;
	component->shut_down = tmc_shut_down;
	return 0;
}

int tmcs_make(void)
{
	struct component *component = NULL;
	int ret = 0;

	while (!ret && (component = component_next(component, COMPONENT_TMC)))
		ret = tmc_make(component);
	if (ret)
		tmcs_free();
	return ret;
}

void tmcs_free(void)
{
	struct component *component = NULL;

	while ((component = component_next(component, COMPONENT_TMC))) {
		struct tmc *tmc = component->tmc;

		if (!tmc)
			continue;
		component->tmc = NULL;
		component->shut_down = NULL;
		auxpmu_sink_free(tmc->sink);
		tmc_free_memory(tmc);
		kfree(tmc);
	}
}
