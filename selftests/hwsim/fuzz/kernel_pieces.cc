// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pieces for ring 0 alone. Any of them may be left out, so none knows how the one before has left the trace unit. A piece that has to know
 * first switches the unit off, which is never refused.
 */
#include <iterator>

#include "program.h"

namespace hwsim::fuzz
{
namespace
{

void wrmsr(Code &code, std::uint64_t msr, std::uint64_t value)
{
	code.load(1, msr).load(0, value & 0xffffffff).load(2, value >> 32).put({0x0f, 0x30});
}

/* A random value of a field, if the processor has it (bits of "values"); else 0. */
std::uint64_t some_of(Random &random, unsigned values, unsigned shift)
{
	const unsigned value = random.below(16);
	return values >> value & 1 ? std::uint64_t{value} << shift : 0;
}

/*
 * A value of IA32_RTIT_CTL with TraceEn set. Most have branches, of which there is most to see, and trace the kernel, where the program
 * runs.
 */
std::uint64_t some_control(Random &random, const Rtit &unit)
{
	std::uint64_t ctl = rtit::trace_en;
	const auto maybe = [&](bool can, unsigned one_in, std::uint64_t bits) {
		if (const bool wanted = random.one_in(one_in); can && wanted)
			ctl |= bits;
	};
	ctl |= random.one_in(8) ? 0 : rtit::os;
	ctl |= random.one_in(8) ? 0 : rtit::branch_en;
	maybe(true, 2, rtit::user);
	maybe(true, 2, rtit::tsc_en);
	maybe(true, 2, rtit::dis_retc);
	maybe(unit.cyc, 3, rtit::cyc_en);
	maybe(unit.mtc, 3, rtit::mtc_en);
	maybe(unit.ptwrite, 2, rtit::ptw_en);
	maybe(unit.ptwrite, 2, rtit::fup_on_ptw);
	maybe(unit.cr3_filter, 4, rtit::cr3_filter);
	/* Zero is a value that all fields have. */
	if (unit.cyc)
		ctl |= some_of(random, unit.cyc_thresholds, rtit::cyc_thresh) |
		       some_of(random, unit.psb_freqs & 7, rtit::psb_freq);
	if (unit.mtc)
		ctl |= some_of(random, unit.mtc_freqs, rtit::mtc_freq);
	return ctl;
}

struct Bounds {
	std::uint64_t first, last;
};
/*
 * An arena, a part of one, a function, a part of this piece, the handlers, or what lies between two arenas; bounds may lie within
 * instructions.
 */
Bounds some_range(Random &random, const Code &code, const Around &around)
{
	const Arena &arena = arenas[random.below(std::size(arenas))];
	switch (random.below(8)) {
	case 0:
		return {arena.base, arena.end() - 1};
	case 1: {
		const std::uint64_t at = arena.base + random.below(arena.pages * page_size);
		return {at, at + random.below(4096)};
	}
	case 2:
	case 3:
	case 4: {
		const std::uint64_t leaf = around.leaves[random.below(static_cast<unsigned>(around.leaves.size()))];
		/* The function alone, or with what lies before it in its page; the range ends with one of its instructions. */
		return {random.one_in(2) ? leaf : leaf & ~(page_size - 1), leaf + 2 * random.below(3)};
	}
	case 5: {
		const std::uint64_t at = code.here() + random.below(200);
		return {at, at + random.below(100)};
	}
	case 6: /* handlers, and the end */
		return {base_arena.base, base_arena.end() - 1};
	default: /* from one to the next */
		return {arenas[1].base + random.below(page_size), arenas[2].base + random.below(page_size)};
	}
}

/* CR3 in RAX. "other": bits to invert, on which page tables do not depend. */
void load_cr3(Code &code, unsigned other)
{
	code.put({0x0f, 0x20, 0xd8});
	if (other)
		code.put({0x48, 0x83, 0xf0, other});
}
/* At most one of the two lowest bits that the CR3 filter compares. */
unsigned some_cr3(Random &random)
{
	return random.below(3) * 0x20;
}
void write_cr3_match(Code &code, Random &random)
{
	load_cr3(code, some_cr3(random));
	code.put({0x48, 0x83, 0xe0, 0xe0, 0x48, 0x89, 0xc2, 0x48, 0xc1, 0xea,
		0x20}); /* AND of the lowest bits; MOV; SHR */
	code.load(1, rtit::cr3_match).put({0x0f, 0x30});
}

/* Clears Stopped, whether it was set or not. PacketByteCnt is 0, and tracing begins with a PSB, or it is not. */
void write_status(Code &code, Random &random)
{
	wrmsr(code, rtit::status, random.one_in(2) ? 0 : std::uint64_t{random.between(1, 2000)} << 32);
}

/* A WRMSR that is refused: the handler goes on behind it, at the address in R14. */
void wrmsr_refused(Code &code, Around &around, std::uint64_t msr, std::uint64_t value)
{
	code.load(1, msr).load(0, value & 0xffffffff).load(2, value >> 32);
	code.put({0x4c, 0x8d, 0x35}); /* LEA */
	const auto behind = code.hole(4);
	around.refused.insert(code.here());
	code.put({0x0f, 0x30});
	code.land(behind);
}
/* SDM volume 3, "Trace Control Registers": while TraceEn is set no other register may be written, and of this one no other bit changed. */
void refused_while_on(Code &code, Random &random, Around &around, std::uint64_t ctl)
{
	static constexpr std::uint64_t bits[] = {
		rtit::os, rtit::user, rtit::tsc_en, rtit::dis_retc, rtit::branch_en, rtit::topa};
	switch (random.below(4)) {
	case 0:
		return wrmsr_refused(code, around, rtit::status, 0);
	case 1:
		return wrmsr_refused(code, around, around.unit.cr3_filter ? rtit::cr3_match : rtit::output_mask, 0x7f);
	case 2:
		return wrmsr_refused(code, around, around.unit.ranges ? rtit::addr0_a : rtit::output_base, 0);
	default:
		return wrmsr_refused(code, around, rtit::ctl, ctl ^ random.of(bits));
	}
}
/* Reserved bits, reserved values of fields, and registers that are not there. */
void refused_while_off(Code &code, Random &random, Around &around)
{
	constexpr std::uint64_t not_canonical = 0x800000000000;
	const Rtit &unit = around.unit;
	switch (random.below(6)) {
	case 0:
		return wrmsr_refused(code, around, rtit::ctl, std::uint64_t{1} << random.between(60, 63));
	case 1:
		return wrmsr_refused(code, around, rtit::status, 0x40);
	case 2:
		return wrmsr_refused(code, around, rtit::output_base, 1u << random.below(7));
	case 3:
		return wrmsr_refused(code, around, rtit::addr0_a + 2 * unit.ranges, 0);
	case 4:
		if (unit.ranges)
			return wrmsr_refused(code, around, rtit::addr0_a, not_canonical);
		return wrmsr_refused(code, around, rtit::ctl, rtit::mtc_en);
	default:
		return wrmsr_refused(code, around, rtit::ctl, std::uint64_t{3} << rtit::addr_cfg);
	}
}

} // namespace

std::uint64_t write_control(Code &code, Random &random, const Around &around, bool first)
{
	std::uint64_t ctl = some_control(random, around.unit) | (around.single_range ? 0 : rtit::topa);
	wrmsr(code, rtit::ctl, random.one_in(2) ? 0 : ctl & ~rtit::trace_en);
	if (!first && random.one_in(8))
		return ctl & ~rtit::trace_en;
	for (unsigned n = 0; n < around.unit.ranges; n++)
		if (random.one_in(4)) {
			const Bounds bounds = some_range(random, code, around);
			wrmsr(code, rtit::addr0_a + 2 * n, bounds.first);
			wrmsr(code, rtit::addr0_a + 2 * n + 1, bounds.last);
			ctl |= (random.one_in(3) ? rtit::stop : rtit::within) << (rtit::addr_cfg + 4 * n);
		}
	if (ctl & rtit::cr3_filter)
		write_cr3_match(code, random);
	if (first)
		wrmsr(code, rtit::status, 0);
	else if (!random.one_in(4))
		write_status(code, random);
	wrmsr(code, rtit::ctl, ctl);
	return ctl;
}

void interrupts(Code &code, Random &random, Around &around)
{
	for (unsigned i = random.between(1, 4); i; i--) {
		if (random.one_in(3))
			code.put({0xcc});
		else
			code.put({0xcd, around.vectors[random.below(static_cast<unsigned>(around.vectors.size()))]});
		jcc(code, random);
	}
}

/*
 * A branch follows each MOV to CR3. Otherwise, if tracing ends at the second of two, libipt takes the end for that of the first, whose PIP
 * is right before it.
 */
void address_spaces(Code &code, Random &random, Around &)
{
	for (unsigned i = random.between(1, 4); i; i--) {
		load_cr3(code, some_cr3(random));
		code.put({0x0f, 0x22, 0xd8});
		for (unsigned j = random.between(1, 3); j; j--)
			jcc(code, random);
	}
}

/* Once or several times, also one right behind the other. The last state is left to the pieces that follow. */
void control(Code &code, Random &random, Around &around)
{
	for (unsigned i = random.between(1, 3); i; i--) {
		const std::uint64_t ctl = write_control(code, random, around);
		if (random.one_in(4))
			wrmsr(code, rtit::ctl, ctl); /* the same value again */
		for (unsigned j = random.below(4); j; j--)
			random.one_in(3) ? address_spaces(code, random, around) : jcc(code, random);
	}
}

void refused(Code &code, Random &random, Around &around)
{
	const std::uint64_t ctl = write_control(code, random, around);
	for (unsigned i = random.between(1, 3); i; i--) {
		if (ctl & rtit::trace_en)
			refused_while_on(code, random, around, ctl);
		else
			refused_while_off(code, random, around);
		jcc(code, random);
	}
}

void end_of_trace(Code &code)
{
	wrmsr(code, rtit::ctl, 0);
}

} // namespace hwsim::fuzz
