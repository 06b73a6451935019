// SPDX-License-Identifier: GPL-2.0-or-later
#include "etm_registers.h"

#include <algorithm>

namespace hwsim::arm64::etm
{
namespace
{

constexpr std::uint64_t word = 0xffff'ffff, all = ~std::uint64_t{0};
constexpr std::uint64_t claim_tags = 0xf;
/* TRCOSLSR: OSLM 0b100, the trace unit shares the processor's OS lock; OSLM 0b010, it has its own; OSLK, it is locked. */
constexpr std::uint64_t of_processor = 0x10, of_unit = 0x08, locked = 0x02;
/* Writable bits: of an event, the resource selector number and TYPE (single or pair); of an address comparator, a word-aligned address. */
constexpr std::uint64_t event = 0x9f, address = all & ~std::uint64_t{3};

} // namespace

Registers::Registers(const Features &which)
	: features(which),
	  rows{{
		  {reg::prgctlr, 1, 4, bits::en, false},
		  {reg::statr, 1, 4, 0, true},
		  {reg::configr, 1, 4,
			  bits::bb | bits::cci | bits::cid | bits::vmid | bits::ts | bits::rs |
				  (which.has_el2() ? bits::vmidopt : 0),
			  false},
		  {reg::auxctlr, 1, 4, 0, false},
		  {reg::eventctl0r, 1, 4, event, false},
		  {reg::eventctl1r, 1, 4, bits::atb | 1, false},
		  {reg::rsr, which.is_ete(), 4, 0x1f00, false},
		  {reg::stallctlr, 1, 4, 0, false},
		  {reg::tsctlr, 1, 4, event, false},
		  {reg::syncpr, 1, 4, 0x1f, false},
		  {reg::ccctlr, 1, 4, 0xfff, false},
		  {reg::bbctlr, 1, 4, 0x1ff, false},
		  {reg::traceidr, 1, 4, 0x7f, false},
		  {reg::victlr, 1, 4, which.levels() << bits::exlevel_ns | bits::ssstatus | event, false},
		  {reg::viiectlr, 1, 4, 0x00ff'00ff, false},
		  {reg::vissctlr, 1, 4, 0x00ff'00ff, false},
		  {reg::seqevr, which.sequencer_states() ? which.sequencer_states() - 1 : 0, 4, 0x9f9f, false},
		  {reg::seqrstevr, which.sequencer_states() != 0, 4, event, false},
		  {reg::seqstr, which.sequencer_states() != 0, 4, 3, false},
		  {reg::cntrldvr, which.counters(), 4, 0xffff, false},
		  {reg::cntctlr, which.counters(), 4, 0x3'9f9f, false},
		  {reg::cntvr, which.counters(), 4, 0xffff, false},
		  {reg::idr8, 6, 4, 0, true},
		  {reg::imspec0, 1, 4, 0, false},
		  {reg::idr0, 8, 4, 0, true},
		  {reg::rsctlr + 8, which.selector_pairs() * 2 - 2, 4, 0x003f'ffff, false},
		  {reg::oslar, which.has_os_lock(), 4, 0, false},
		  {reg::oslsr, 1, 4, 0, true},
		  {reg::acvr, which.address_pairs() * 2, 8, address, false},
		  {reg::acatr, which.address_pairs() * 2, 8, which.levels() << bits::comparator_exlevel_ns | 0xc,
			  false},
		  {reg::cidcvr, which.context_comparators(), 8, word, false},
		  {reg::vmidcvr, which.vmid_comparators(), 8, word, false},
		  {reg::cidcctlr0, which.context_comparators(), 8, word, false},
		  {reg::vmidcctlr0, which.vmid_comparators(), 8, word, false},
		  {reg::claimset, 1, 4, 0, false},
		  {reg::claimclr, 1, 4, 0, false},
		  {reg::authstatus, 1, 4, 0, true},
		  {reg::devarch, 1, 4, 0, true},
		  {reg::devid, 1, 4, 0, true},
		  {reg::devtype, 1, 4, 0, true},
	  }}
{
	values[reg::idr0 / 4] = which.idr0;
	values[reg::idr0 / 4 + 1] = which.idr1;
	values[reg::idr0 / 4 + 2] = which.idr2;
	values[reg::idr0 / 4 + 3] = which.idr3;
	values[reg::idr0 / 4 + 4] = which.idr4;
	values[reg::idr0 / 4 + 5] = which.idr5;
	values[reg::idr8 / 4] = which.idr8;
	values[reg::devarch / 4] = which.devarch;
	values[reg::devtype / 4] = which.devtype;
	values[reg::authstatus / 4] = which.authstatus;
}

const Registers::Row *Registers::row_of(std::uint32_t offset) const
{
	const auto found = std::ranges::find_if(rows, [offset](const Row &row) {
		return row.count && offset >= row.offset && offset < row.offset + row.count * row.stride &&
		       !((offset - row.offset) % row.stride);
	});
	return found == rows.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> Registers::read(std::uint32_t offset) const
{
	if (!row_of(offset))
		return {};
	switch (offset) {
	case reg::statr:
		return enabled() ? 0 : bits::pmstable | (never_idle ? 0 : bits::idle);
	case reg::oslar:
		return {};
	case reg::oslsr:
		return (features.has_os_lock() ? of_unit : of_processor) | (os_lock ? locked : 0);
	case reg::claimset:
		return claim_tags;
	case reg::claimclr:
		return claimed;
	default:
		return values[offset / 4];
	}
}

void Registers::set_no_comparators(bool now)
{
	no_comparators = now;
	for (unsigned n = 0; now && n < features.address_pairs() * 2; n++)
		values[reg::acvr / 4 + 2 * n] = values[reg::acatr / 4 + 2 * n] = 0;
}

void Registers::lose()
{
	for (const Row &row : rows)
		for (unsigned n = 0; !row.read_only && n < row.count; n++)
			values[(row.offset + n * row.stride) / 4] ^= 0x5a5a'a5a5'5a5a'a5a5 & row.mask;
	values[reg::prgctlr / 4] = 0;
	claimed = 0;
	os_lock |= features.has_os_lock();
}

bool Registers::write(std::uint32_t offset, std::uint64_t value)
{
	const Row *row = row_of(offset);
	if (!row || row->read_only)
		return false;
	if (offset == reg::claimset)
		claimed |= value & claim_tags;
	else if (offset == reg::claimclr)
		claimed &= ~value;
	else if (offset == reg::oslar)
		os_lock = value & 1;
	else if (no_comparators && (row->offset == reg::acvr || row->offset == reg::acatr))
		return true;
	else if (offset == reg::prgctlr || !enabled())
		values[offset / 4] = value & row->mask;
	return true;
}

} // namespace hwsim::arm64::etm
