// SPDX-License-Identifier: GPL-2.0-or-later
#include "lbr.h"

#include <algorithm>

namespace hwsim::x86
{
namespace
{

/* MSR_LBR_SELECT: which branches get no record, by privilege level of the target and by kind; the last bit is EN_CALLSTACK. */
constexpr std::uint64_t not_to_os = 1 << 0, not_to_user = 1 << 1, select_callstack = 1 << 9, select_bits = 0x3ff;
/* IA32_LBR_CTL: which branches get one. */
constexpr std::uint64_t arch_os = 1 << 1, arch_user = 1 << 2, arch_callstack = 1 << 3, arch_bits = 0x7f'000f;
/* In IA32_LBR_x_INFO: the kind of branch, and that cycles are valid. */
constexpr unsigned type_shift = 56;
constexpr std::uint64_t cycles_valid = std::uint64_t{1} << 60, flags = std::uint64_t{7} << 61, cycles_most = 0xffff;

/* By kind: bits of MSR_LBR_SELECT and of IA32_LBR_CTL, and how IA32_LBR_x_INFO names it. */
struct Kind {
	std::uint64_t select, ctl;
	std::uint64_t type;
};

Kind kind_of(Branch kind)
{
	switch (kind) {
	case Branch::conditional:
		return {1 << 2, 1 << 16, 0};
	case Branch::call:
		return {1 << 3, 1 << 19, 4};
	case Branch::indirect_call:
		return {1 << 4, 1 << 20, 3};
	case Branch::ret:
		return {1 << 5, 1 << 21, 5};
	case Branch::indirect_jump:
		return {1 << 6, 1 << 18, 1};
	case Branch::jump:
		return {1 << 7, 1 << 17, 2};
	default: /* far ones, interrupts and exceptions */
		return {1 << 8, 1 << 22, 8};
	}
}

/* Is it a canonical address? The bits above the lowest "width" are something else. */
bool canonical(std::uint64_t value, unsigned width = 64)
{
	const auto upper = static_cast<std::int64_t>(value << (64 - width)) >> (64 - width + 47);
	return upper == 0 || upper == -1;
}

std::uint64_t ones(unsigned number)
{
	return (std::uint64_t{1} << number) - 1;
}

} // namespace

void Lbr::reset()
{
	records = {};
	enabled = false;
	control = recorded_at = 0;
	depth = lbr.depth;
	top = 0;
}

// --- registers ----------------------------------------------------------------------------

/* The record, and the part of it, that a register has. Architectural records are numbered from the newest one, others stay in place. */
Lbr::Where Lbr::where(std::uint32_t msr) const
{
	constexpr struct {
		Bank bank;
		std::uint32_t legacy, architectural;
	} first[] = {{Bank::from, 0x680, 0x1500}, {Bank::to, 0x6c0, 0x1600}, {Bank::info, 0xdc0, 0x1200}};
	for (const auto &[bank, legacy, architectural] : first) {
		const std::uint32_t n = msr - (lbr.architectural() ? architectural : legacy);
		if (n >= lbr.depth || (bank == Bank::info && !lbr.has_info()))
			continue;
		return {bank, lbr.architectural() && n < depth ? (top + depth - n) % depth : n};
	}
	return {};
}

bool Lbr::owns(std::uint32_t msr) const
{
	if (!present)
		return false;
	if (lbr.architectural() ? msr == arch_ctl || msr == arch_depth : msr == select || msr == tos)
		return true;
	return where(msr).bank != Bank::none;
}

std::uint64_t Lbr::read(std::uint32_t msr) const
{
	switch (msr) {
	case select:
	case arch_ctl:
		return control;
	case tos:
		return top;
	case arch_depth:
		return depth;
	default:
		break;
	}
	const Where at = where(msr);
	const Record &record = records[at.record];
	return at.bank == Bank::from ? record.from : at.bank == Bank::to ? record.to : record.info;
}

std::uint64_t Lbr::info_bits() const
{
	return cycles_most | flags | (lbr.architectural() ? cycles_valid | std::uint64_t{15} << type_shift : 0);
}

/*
 * Reserved bits, a depth that CPUID does not list, and non-canonical addresses; in some formats the highest bits are no part of the
 * address.
 */
bool Lbr::write_faults(std::uint32_t msr, std::uint64_t value) const
{
	switch (msr) {
	case select:
		return value & ~select_bits;
	case arch_ctl:
		return value & ~arch_bits;
	case tos:
		return value >= lbr.depth;
	case arch_depth:
		return value > lbr.depth || !value || value % 8 || !(lbr.depths() >> (value / 8 - 1) & 1);
	default:
		break;
	}
	const Where at = where(msr);
	const bool flagged = lbr.format == Format::flags || lbr.format == Format::time;
	if (at.bank == Bank::info)
		return value & ~info_bits();
	if (at.bank == Bank::from)
		return !canonical(value, flagged ? 63 : 64);
	return lbr.format != Format::time && !canonical(value);
}

void Lbr::write(std::uint32_t msr, std::uint64_t value)
{
	switch (msr) {
	case arch_ctl:
		enabled = value & arch_enable;
		[[fallthrough]];
	case select:
		control = value;
		return;
	case tos:
		top = static_cast<unsigned>(value);
		return;
	case arch_depth: /* SDM volume 3, "LBR Depth": all records become 0 */
		depth = static_cast<unsigned>(value);
		records = {};
		return;
	default:
		break;
	}
	const Where at = where(msr);
	if (at.record >= depth) /* architectural records beyond the chosen depth are 0 */
		return;
	Record &record = records[at.record];
	(at.bank == Bank::from ? record.from : at.bank == Bank::to ? record.to : record.info) = value;
}

// --- records ------------------------------------------------------------------------------

bool Lbr::stacks_calls() const
{
	return control & (lbr.architectural() ? arch_callstack : select_callstack);
}

bool Lbr::wanted(const Transfer &branch) const
{
	const Kind kind = kind_of(branch.kind);
	const bool to_kernel = branch.to.level == 0;
	if (lbr.architectural())
		return (control & (to_kernel ? arch_os : arch_user)) && (control & kind.ctl);
	return !(control & (to_kernel ? not_to_os : not_to_user)) && !(control & kind.select);
}

std::uint64_t Lbr::info_of(Branch kind, std::uint64_t cycles) const
{
	return cycles | (lbr.architectural() ? cycles_valid | kind_of(kind).type << type_shift : 0);
}

/* A return removes the record of its call. */
void Lbr::forget_newest()
{
	records[top] = {};
	top = (top + depth - 1) % depth;
}

/*
 * SDM volume 3, "LBR Stack": which register has what; "Filtering of Last Branch Records"; "Call-Stack LBR" ("LBR call-stack mode"): a
 * return removes the newest record, and a call of the next instruction, which does not return, gets none.
 */
void Lbr::record(const Transfer &branch, std::uint64_t now)
{
	if (!wanted(branch))
		return;
	if (stacks_calls()) {
		if (branch.kind == Branch::ret)
			return forget_newest();
		if (branch.kind == Branch::call && branch.to.pc == branch.next)
			return;
	}
	const std::uint64_t cycles = std::min(now - recorded_at, cycles_most);
	recorded_at = now;
	top = (top + 1) % depth;
	Record &record = records[top];
	record = {branch.from, branch.to.pc, lbr.has_info() ? info_of(branch.kind, cycles) : 0};
	if (lbr.format == Format::flags || lbr.format == Format::time)
		record.from &= ones(63); /* predicted */
	if (lbr.format == Format::time)
		record.to = (record.to & ones(48)) | cycles << 48;
}

} // namespace hwsim::x86
