// SPDX-License-Identifier: GPL-2.0-only
/*
 * The trace buffer: see trbe.h. Order and barriers are those of "Trace Buffer Extension" in the Arm
 * ARM (DDI 0487, D6).
 *
 * In full-trace mode it fills: at its limit it stops and interrupts, so its limit is where the
 * framework wants the interrupt. In overwrite mode it goes round, and nobody is interrupted.
 */
#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/percpu.h>

#include <asm/barrier.h>
#include <asm/cpufeature.h>
#include <asm/mmu.h>
#include <asm/sysreg.h>

#include "auxpmu.h"
#include "trbe.h"

#define TRBLIMITR_E		BIT(0)
#define TRBLIMITR_FM_FILL	0
#define TRBLIMITR_FM_CIRCULAR	(3 << 1)
#define TRBLIMITR_TM_IGNORE	(3 << 3)
#define TRBLIMITR_LIMIT		GENMASK_ULL(63, 12)

#define TRBSR_S			BIT(17)
#define TRBSR_EA		BIT(18)
#define TRBSR_WRAP		BIT(20)
#define TRBSR_IRQ		BIT(22)
#define TRBSR_EC		GENMASK(31, 26)

#define TRBIDR_ALIGN		GENMASK(3, 0)
#define TRBIDR_P		BIT(4)

/* Of ID_AA64DFR0_EL1. */
#define TRACE_BUFFER_SHIFT	44

/**
 * struct trbe - the trace buffer of one CPU
 * @there: it is there, and can be used
 * @drain_again: erratum 2064142: trace is not all written until it is drained once more, switched
 *	off
 * @synchronize_again: erratum 2038923: it takes a second context synchronization to be on
 * @full: it had stopped at its limit when it was switched off
 * @fault: it had stopped for another reason
 * @pointer: its write pointer then
 * @wrapped: it had gone round
 */
struct trbe {
	bool there;
	bool drain_again;
	bool synchronize_again;
	bool full;
	bool fault;
	u64 pointer;
	bool wrapped;
};

static DEFINE_PER_CPU(struct trbe, trbes);
static unsigned int trbe_log2_align;
static bool trbe_any_strays;
/* Events have been made that know only of the trace buffers that had been found until then. */
static bool trbe_asked;

/* A kernel without CONFIG_ARM64_ERRATUM_N does not look for it: there is no number then. */
#ifdef CONFIG_ARM64_ERRATUM_2064142
#define trbe_has_erratum_2064142()	this_cpu_has_cap(ARM64_WORKAROUND_2064142)
#else
#define trbe_has_erratum_2064142()	false
#endif
#ifdef CONFIG_ARM64_ERRATUM_2038923
#define trbe_has_erratum_2038923()	this_cpu_has_cap(ARM64_WORKAROUND_2038923)
#else
#define trbe_has_erratum_2038923()	false
#endif
#ifdef CONFIG_ARM64_ERRATUM_1902691
#define trbe_has_erratum_1902691()	this_cpu_has_cap(ARM64_WORKAROUND_1902691)
#else
#define trbe_has_erratum_1902691()	false
#endif
#ifdef CONFIG_ARM64_WORKAROUND_TRBE_OVERWRITE_FILL_MODE
#define trbe_overwrites_base()		this_cpu_has_cap(ARM64_WORKAROUND_TRBE_OVERWRITE_FILL_MODE)
#else
#define trbe_overwrites_base()		false
#endif
#ifdef CONFIG_ARM64_WORKAROUND_TRBE_WRITE_OUT_OF_RANGE
#define trbe_writes_out_of_range()	this_cpu_has_cap(ARM64_WORKAROUND_TRBE_WRITE_OUT_OF_RANGE)
#else
#define trbe_writes_out_of_range()	false
#endif

int trbe_detect(const char **why)
{
	struct trbe *trbe = this_cpu_ptr(&trbes);
	u64 features = read_sysreg_s(SYS_ID_AA64DFR0_EL1), id;
	unsigned int log2_align;
	bool strays;

	trbe->there = false;
	if (!(features >> TRACE_BUFFER_SHIFT & 15) || (features >> TRACE_BUFFER_SHIFT & 15) == 15)
		return -ENODEV;
	id = read_sysreg_s(SYS_TRBIDR_EL1);
	if (id & TRBIDR_P)
		return -ENODEV;
	if (arm64_kernel_unmapped_at_el0()) {
		*why = "KPTI hides the kernel from user code, and its memory from a trace buffer; "
		       "boot with kpti=off if that is acceptable";
		return -EOPNOTSUPP;
	}
	if (trbe_has_erratum_1902691()) {
		*why = "erratum 1902691: no trace buffer works on it";
		return -EOPNOTSUPP;
	}
	log2_align = FIELD_GET(TRBIDR_ALIGN, id);
	strays = trbe_overwrites_base() || trbe_writes_out_of_range();
	if (READ_ONCE(trbe_asked) && (log2_align > trbe_log2_align || strays > trbe_any_strays)) {
		*why = "events may be there that were made for other trace buffers than this one; "
		       "load the module when this CPU is online";
		return -EOPNOTSUPP;
	}
	trbe_any_strays |= strays;
	trbe->drain_again = trbe_has_erratum_2064142();
	trbe->synchronize_again = trbe_has_erratum_2038923();
	trbe_log2_align = max(trbe_log2_align, log2_align);
	trbe->there = true;
	return 0;
}

bool trbe_there(int cpu)
{
	return per_cpu_ptr(&trbes, cpu)->there;
}

u32 trbe_align(void)
{
	WRITE_ONCE(trbe_asked, true);
	return 1u << trbe_log2_align;
}

bool trbe_strays(void)
{
	return trbe_any_strays;
}

/* All that the trace unit has made is in memory behind this; of a buffer that is on. */
static __always_inline void trbe_drain(void)
{
	tsb_csync();
	dsb(nsh);
}

static void trbe_off(const struct trbe *trbe)
{
	u64 limit = read_sysreg_s(SYS_TRBLIMITR_EL1);

	write_sysreg_s(limit & ~TRBLIMITR_E, SYS_TRBLIMITR_EL1);
	if (trbe->drain_again)
		trbe_drain();
	isb();
}

void trbe_reset(void)
{
	write_sysreg_s(0, SYS_TRBLIMITR_EL1);
	isb();
	trbe_drain();
	write_sysreg_s(0, SYS_TRBPTR_EL1);
	write_sysreg_s(0, SYS_TRBBASER_EL1);
	write_sysreg_s(0, SYS_TRBSR_EL1);
	isb();
}

/* The address of @position, or of the end of the buffer if that is where a window ends. */
static u64 trbe_address_of(const struct auxpmu_unit *unit, u64 position)
{
	const struct auxpmu_window *window = &unit->window;
	u64 start = auxpmu_buffer_offset(unit->buffer, window->from);

	return (u64)(uintptr_t)unit->buffer->base + start + (position - window->from);
}

void trbe_start(const struct auxpmu_unit *unit)
{
	const struct trbe *trbe = this_cpu_ptr(&trbes);
	u64 base = (u64)(uintptr_t)unit->buffer->base;
	u64 limit = base + auxpmu_buffer_rest(unit->buffer, 0);
	u64 mode = TRBLIMITR_FM_CIRCULAR;

	if (unit->window.irq != AUXPMU_NO_LIMIT) {
		limit = trbe_address_of(unit, unit->window.irq);
		mode = TRBLIMITR_FM_FILL;
		/* The page in front of the buffer is for what goes to the base. */
		if (unit->rules.guarded)
			base -= PAGE_SIZE;
	}
	write_sysreg_s(0, SYS_TRBSR_EL1);
	write_sysreg_s(base, SYS_TRBBASER_EL1);
	write_sysreg_s(trbe_address_of(unit, unit->window.from), SYS_TRBPTR_EL1);
	isb();
	write_sysreg_s((limit & TRBLIMITR_LIMIT) | mode | TRBLIMITR_TM_IGNORE | TRBLIMITR_E,
		       SYS_TRBLIMITR_EL1);
	isb();
	if (trbe->synchronize_again)
		isb();
}

bool trbe_stop(void)
{
	struct trbe *trbe = this_cpu_ptr(&trbes);
	u64 status;

	trbe_drain();
	trbe_off(trbe);
	status = read_sysreg_s(SYS_TRBSR_EL1);
	trbe->pointer = read_sysreg_s(SYS_TRBPTR_EL1);
	trbe->wrapped = status & TRBSR_WRAP;
	/* What stops it: the end of its memory (EC 0), or a fault. */
	trbe->fault = (status & TRBSR_EA) || FIELD_GET(TRBSR_EC, status);
	trbe->full = (status & TRBSR_S) && trbe->wrapped && !trbe->fault;
	/* An interrupt of this window must not be taken for one of the next. */
	write_sysreg_s(status & ~TRBSR_IRQ, SYS_TRBSR_EL1);
	isb();
	return !trbe->fault;
}

void trbe_position(struct auxpmu_unit *unit, struct auxpmu_position *position)
{
	const struct trbe *trbe = this_cpu_ptr(&trbes);
	const struct auxpmu_buffer *buffer = unit->buffer;
	u64 from = auxpmu_buffer_offset(buffer, unit->window.from);
	u64 to = trbe->pointer - (u64)(uintptr_t)buffer->base;

	/* Between its stop and that of the trace unit, trace is lost. */
	position->gap = trbe->full || trbe->fault;
	if (unit->window.irq != AUXPMU_NO_LIMIT) {
		position->bytes = trbe->full ? unit->window.irq - unit->window.from : to - from;
		return;
	}
	position->bytes = auxpmu_buffer_distance(buffer, from, to,
						 trbe->wrapped ? auxpmu_buffer_rest(buffer, from) :
								 0);
}

bool trbe_interrupted(void)
{
	u64 status = read_sysreg_s(SYS_TRBSR_EL1);

	if (!(status & TRBSR_IRQ))
		return false;
	/* The rest of the register has to stay until trbe_stop(). */
	write_sysreg_s(status & ~TRBSR_IRQ, SYS_TRBSR_EL1);
	isb();
	return true;
}
