// SPDX-License-Identifier: GPL-2.0-or-later
#include "bts.h"

#include <cstddef>

namespace hwsim::x86
{

bool Bts::owns(std::uint32_t msr) const
{
	return (msr == ds_area && has.store) ||
	       ((msr == debugctl || msr == misc_enable) && (has.store || has.counters));
}

/* The bits that IA32_DEBUGCTL has. */
std::uint64_t Bts::bits() const
{
	return lbr | btf | tr | (has.store ? bts | btint | off_os | off_user : 0) |
	       (has.freezes ? freeze_lbr | freeze_counters | freeze_in_smm : 0);
}

std::uint64_t Bts::read(std::uint32_t msr) const
{
	/* Bits of IA32_MISC_ENABLE; no_store and no_pebs say that branch trace store, or PEBS, is not there. */
	constexpr std::uint64_t fast_strings = 1, counters = 1 << 7, no_store = 1 << 11, no_pebs = 1 << 12;
	switch (msr) {
	case debugctl:
		return control;
	case ds_area:
		return area;
	default:
		return fast_strings | (has.counters ? counters : 0) | (has.store ? 0 : no_store) | no_pebs;
	}
}

void Bts::write(std::uint32_t msr, std::uint64_t value)
{
	if (msr == debugctl)
		control = has.records ? value : value & ~lbr;
	else if (msr == ds_area)
		area = value;
	/* A write of IA32_MISC_ENABLE switches nothing that we have. */
}

void Bts::lose(const Loss &loss)
{
	if (loss.to == Loss::To::other)
		control = (btf | btint | off_user) & bits();
	else
		reset();
}

/* The DS area has to be at a canonical address; bits that are not there are reserved (SDM volume 4). */
bool Bts::write_faults(std::uint32_t msr, std::uint64_t value) const
{
	const auto upper = static_cast<std::int64_t>(value) >> 47;
	return (msr == ds_area && upper != 0 && upper != -1) || (msr == debugctl && (value & ~bits()));
}

/*
 * SDM volume 3, "DS Save Area": the absolute maximum is the address of the byte behind the buffer, and should be a multiple of the size of
 * a record plus 1. Both are true if records end before it.
 */
bool Bts::has_room(const Area &now) const
{
	const std::uint64_t end = now.index + sizeof(Record);
	return rules.early_maximum ? end < now.maximum : end <= now.maximum;
}

/*
 * A record never crosses the absolute maximum: with BTINT it is dropped there, without BTINT the buffer is a ring. Above the threshold
 * every record requests the interrupt; only one comes, because its delivery masks the entry in the APIC.
 */
bool Bts::record(std::uint64_t from, std::uint64_t to)
{
	constexpr std::uint64_t predicted = 1 << 4;
	Area now;
	if (!memory.load_linear(area, now)) {
		counts.unmapped++;
		return false;
	}
	const bool interrupts = control & btint;
	if (!has_room(now)) {
		if (interrupts) {
			counts.dropped++;
			return false;
		}
		now.index = now.base;
	}
	if (!memory.store_linear(now.index, Record{from, to, predicted}) ||
		!memory.store_linear(area + offsetof(Area, index), now.index + sizeof(Record))) {
		counts.unmapped++;
		return false;
	}
	counts.records++;
	const bool due = interrupts && now.index + sizeof(Record) >= now.threshold;
	counts.interrupts += due;
	return due;
}

} // namespace hwsim::x86
