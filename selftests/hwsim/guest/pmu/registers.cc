// SPDX-License-Identifier: GPL-2.0-or-later
#include <cinttypes>

#include "pmu.h"

namespace
{

void there(std::uint32_t msr, bool is, bool read_only = false)
{
	const auto now = registers.read(msr);
	expect(now.has_value() == is, "%x %s", msr, is ? "cannot be read" : "can be read");
	expect(registers.write(msr, now.value_or(0)) == (is && !read_only), "%x %s", msr,
		is && !read_only ? "cannot be written" : "can be written");
}

/* Each bit alone: those of "allowed" are taken, and then read as "reads" says; others change nothing. */
template <class Reads>
void try_bits(std::uint32_t msr, std::uint64_t allowed, Reads reads)
{
	for (unsigned n = 0; n < 64; n++) {
		const std::uint64_t bit = one_at(n), before = registers[msr];
		const bool taken = registers.write(msr, bit), may = allowed >> n & 1;
		const std::uint64_t now = registers[msr], right = may ? reads(bit) : before;
		expect(taken == may && now == right, "bit %u of %x is %s, and it reads %" PRIx64 ", not %" PRIx64, n,
			msr, taken ? "taken" : "refused", now, right);
	}
	clear();
}

} // namespace

void try_presence()
{
	for (unsigned n = 0; n < most_general; n++) {
		there(pmc + n, n < machine.general);
		there(event_select + n, n < machine.general);
		there(full_pmc + n, machine.full_width && n < machine.general);
	}
	for (unsigned n = 0; n < most_fixed; n++)
		there(fixed_ctr + n, n < machine.fixed);
	there(status_set, machine.version >= 4);
	there(in_use, machine.version >= 4, true);
	there(status, true, true);
	there(capabilities, machine.tells_more, true);
}

void try_reserved_bits()
{
	const auto same = [](std::uint64_t value) {
		return value;
	};
	const auto nothing = [](std::uint64_t) -> std::uint64_t {
		return 0;
	};
	const std::uint64_t width = one_at(machine.width) - 1, fixed_width = one_at(machine.fixed_width) - 1;
	for (unsigned n = 0; n < machine.general; n++) {
		try_bits(event_select + n, 0xffff'ffff & ~(machine.any_thread ? 0 : any), same);
		/* 32 bits are written, and their sign extended. */
		try_bits(pmc + n, ~std::uint64_t{0}, [width](std::uint64_t value) {
			const std::uint64_t low = value & 0xffff'ffff;
			return (low >> 31 ? low | ~std::uint64_t{0xffff'ffff} : low) & width;
		});
		try_bits(full_pmc + n, machine.full_width ? width : 0, same);
	}
	std::uint64_t fields = 0;
	for (unsigned n = 0; n < machine.fixed; n++) {
		try_bits(fixed_ctr + n, fixed_width, same);
		fields |= std::uint64_t{machine.any_thread ? 0xfu : 0xbu} << (4 * n);
	}
	try_bits(fixed_ctrl, fields, same);
	try_bits(control, machine.counters(), same);
	try_bits(status, 0, same);
	try_bits(in_use, 0, same);
	try_bits(capabilities, 0, same);
	/* SDM volume 4: the trace's; from version 4 on LBR_Frz, CTR_Frz and ASCI; Ovf_Uncore, OvfBuf; CondChgd cannot be set. */
	std::uint64_t bits = machine.counters() | one_at(61) | one_at(62);
	if (machine.trace)
		bits |= one_at(55);
	if (machine.version >= 4)
		bits |= one_at(58) | one_at(59) | one_at(60);
	try_bits(status_reset, bits | one_at(63), nothing);
	try_bits(status_set, machine.version >= 4 ? bits : 0, nothing);
	/* LBR, BTF, TR; BTS, BTINT; BTS_OFF_OS, BTS_OFF_USR; what freezes on an interrupt, and in SMM. */
	bits = one_at(0) | one_at(1) | one_at(6);
	if (machine.store)
		bits |= one_at(7) | one_at(8);
	if (machine.store_by_level)
		bits |= one_at(9) | one_at(10);
	if (machine.tells_more && machine.version > 1)
		bits |= one_at(11) | one_at(12);
	if (machine.freezes_in_smm)
		bits |= one_at(14);
	try_bits(debugctl, bits, [](std::uint64_t value) { return value & ~std::uint64_t{machine.architectural_lbr}; });
}

/* IA32_PERF_GLOBAL_STATUS_SET and _RESET, bit by bit; IA32_PERF_GLOBAL_INUSE. */
void try_status()
{
	if (machine.version < 4)
		return;
	for (unsigned n = 0; n < 64; n++) {
		if (!(machine.counters() >> n & 1))
			continue;
		registers.write(status_set, one_at(n));
		expect(registers[status] == one_at(n), "bit %u is set, and the status is %" PRIx64, n,
			registers[status]);
		registers.write(status_reset, one_at(n));
		expect(registers[status] == 0, "bit %u is reset, and the status is %" PRIx64, n, registers[status]);
	}
	const auto uses = [](std::uint32_t msr, std::uint64_t value, std::uint64_t right) {
		registers.write(msr, value);
		expect(registers[in_use] == right, "with %" PRIx64 " in %x in use is %" PRIx64 ", not %" PRIx64, value,
			msr, registers[in_use], right);
		registers.write(msr, 0);
	};
	for (unsigned n = 0; n < machine.general; n++) {
		uses(event_select + n, instructions, one_at(n));
		uses(event_select + n, user | enable, 0);
		uses(event_select + n, interrupt, one_at(63));
	}
	for (unsigned n = 0; n < machine.fixed; n++) {
		uses(fixed_ctrl, one_at(4 * n), one_at(32 + n));
		uses(fixed_ctrl, one_at(4 * n + 1), one_at(32 + n));
		uses(fixed_ctrl, one_at(4 * n + 3), one_at(63));
	}
}
