// SPDX-License-Identifier: GPL-2.0-or-later
#include "perfmon.h"

#include <algorithm>

namespace hwsim::x86
{
namespace
{

bool within(std::uint32_t msr, std::uint32_t first, unsigned count)
{
	return msr >= first && msr < first + count;
}

/* IA32_PERFEVTSELx */
constexpr std::uint64_t select_user = 1 << 16, select_os = 1 << 17, select_int = 1 << 20, select_enable = 1 << 22;
/* A nibble of IA32_FIXED_CTR_CTRL */
constexpr std::uint64_t fixed_os = 1, fixed_user = 2, fixed_pmi = 8;

/* The architectural events (SDM volume 3, "Pre-defined Architectural Performance Events"); reference cycles are cycles. */
Event event_of(std::uint64_t select)
{
	switch (select & 0xffff) {
	case 0x00c0:
		return Event::instructions;
	case 0x00c4:
		return Event::branches;
	case 0x003c:
	case 0x013c:
		return Event::cycles;
	default:
		return Event::none;
	}
}

/*
 * How many instructions run before an event has happened so often. There are no more branches than instructions; cycles are
 * looked after every so often, because they pass at no known rate.
 */
std::uint64_t instructions_until(Event event, std::uint64_t count)
{
	constexpr std::uint64_t least = 100, most = 100'000;
	return event == Event::cycles ? std::clamp(count / 8, least, most) : count;
}

} // namespace

void Perfmon::reset()
{
	general = {};
	fixed = {};
	select = {};
	fixed_control = global_control = global_status = pebs = 0;
}

bool Perfmon::owns(std::uint32_t msr) const
{
	const PmuCapabilities &pmu = profile.pmu;
	switch (msr) {
	case fixed_ctr_ctrl:
	case status:
	case ctrl:
	case ovf_ctrl:
	case pebs_enable:
	case platform_info:
	case perf_capabilities:
		return true;
	case status_set:
		return pmu.version >= 4;
	default:
		return within(msr, pmc0, pmu.general) || within(msr, perfevtsel0, pmu.general) ||
		       within(msr, fixed_ctr0, pmu.fixed) || within(msr, a_pmc0, pmu.general);
	}
}

// --- counting ---------------------------------------------------------------------------

Perfmon::Order Perfmon::general_order(unsigned n) const
{
	const std::uint64_t told = select[n];
	if (!(told & select_enable) || !(global_control >> n & 1))
		return {};
	return {event_of(told), (told & select_os) != 0, (told & select_user) != 0, (told & select_int) != 0};
}

Perfmon::Order Perfmon::fixed_order(unsigned n) const
{
	constexpr Event events[] = {Event::instructions, Event::cycles, Event::cycles, Event::none};
	const std::uint64_t told = fixed_control >> (4 * n);
	if (!(global_control >> (fixed_first_bit + n) & 1))
		return {};
	return {events[n], (told & fixed_os) != 0, (told & fixed_user) != 0, (told & fixed_pmi) != 0};
}

std::uint64_t Perfmon::total(const Order &order) const
{
	if (order.event == Event::none)
		return 0;
	return (order.kernel ? source.total(order.event, true) : 0) +
	       (order.user ? source.total(order.event, false) : 0);
}

bool Perfmon::settle(Counter &counter, const Order &order, unsigned width, unsigned bit)
{
	const std::uint64_t now = total(order);
	counter.value += now - counter.seen;
	counter.seen = now;
	if (!(counter.value >> width))
		return false;
	counter.value = cut(counter.value, width);
	global_status |= std::uint64_t{1} << bit;
	return order.interrupt;
}

bool Perfmon::settle()
{
	bool interrupt = false;
	for (unsigned n = 0; n < profile.pmu.general; n++)
		interrupt |= settle(general[n], general_order(n), profile.pmu.general_width, n);
	for (unsigned n = 0; n < profile.pmu.fixed; n++)
		interrupt |= settle(fixed[n], fixed_order(n), profile.pmu.fixed_width, fixed_first_bit + n);
	return interrupt;
}

bool Perfmon::counting() const
{
	const auto active = [](const Order &order) {
		return order.event != Event::none && (order.kernel || order.user);
	};
	for (unsigned n = 0; n < profile.pmu.general; n++)
		if (active(general_order(n)))
			return true;
	for (unsigned n = 0; n < profile.pmu.fixed; n++)
		if (active(fixed_order(n)))
			return true;
	return false;
}

bool Perfmon::counts_after(std::uint32_t msr, std::uint64_t value) const
{
	Perfmon next = *this;
	next.store(msr, value);
	return next.counting();
}

/* After a change of what is counted: from here on, of the new. */
void Perfmon::restart()
{
	for (unsigned n = 0; n < profile.pmu.general; n++)
		general[n].seen = total(general_order(n));
	for (unsigned n = 0; n < profile.pmu.fixed; n++)
		fixed[n].seen = total(fixed_order(n));
}

std::uint64_t Perfmon::budget() const
{
	std::uint64_t least = unlimited;
	const auto consider = [&least](const Counter &counter, const Order &order, unsigned width) {
		if (order.event != Event::none && order.interrupt)
			least = std::min(
				least, instructions_until(order.event, (std::uint64_t{1} << width) - counter.value));
	};
	for (unsigned n = 0; n < profile.pmu.general; n++)
		consider(general[n], general_order(n), profile.pmu.general_width);
	for (unsigned n = 0; n < profile.pmu.fixed; n++)
		consider(fixed[n], fixed_order(n), profile.pmu.fixed_width);
	return least;
}

// --- registers ----------------------------------------------------------------------------

/* Of counters as they were settled last. */
std::uint64_t Perfmon::read(std::uint32_t msr) const
{
	switch (msr) {
	case fixed_ctr_ctrl:
		return fixed_control;
	case status:
		return global_status;
	case ctrl:
		return global_control;
	case pebs_enable:
		return pebs;
	case platform_info:
		/* Maximum non-turbo ratio, which perf scales cycle packets by. */
		return std::uint64_t{profile.bus_ratio} << 8;
	case ovf_ctrl:
	case status_set:
	case perf_capabilities:
		return 0;
	default:
		if (within(msr, pmc0, profile.pmu.general))
			return general[msr - pmc0].value;
		if (within(msr, a_pmc0, profile.pmu.general))
			return general[msr - a_pmc0].value;
		if (within(msr, perfevtsel0, profile.pmu.general))
			return select[msr - perfevtsel0];
		return fixed[msr - fixed_ctr0].value;
	}
}

bool Perfmon::read_counter(std::uint32_t index, std::uint64_t &value) const
{
	constexpr std::uint32_t fixed_flag = 1u << 30;
	const std::uint32_t n = index & ~fixed_flag;
	if (index & fixed_flag ? n >= profile.pmu.fixed : n >= profile.pmu.general)
		return false;
	value = (index & fixed_flag ? fixed[n] : general[n]).value;
	return true;
}

bool Perfmon::write(std::uint32_t msr, std::uint64_t value)
{
	const bool interrupt = settle();
	store(msr, value);
	restart();
	return interrupt;
}

void Perfmon::store(std::uint32_t msr, std::uint64_t value)
{
	const PmuCapabilities &pmu = profile.pmu;
	switch (msr) {
	case fixed_ctr_ctrl:
		fixed_control = value;
		return;
	case ctrl:
		global_control = value;
		return;
	case ovf_ctrl: /* also IA32_PERF_GLOBAL_STATUS_RESET */
		global_status &= ~value;
		return;
	case status_set:
		global_status |= value;
		return;
	case pebs_enable:
		pebs = value;
		return;
	case status:
	case platform_info:
	case perf_capabilities:
		return;
	default:
		break;
	}
	/* Without full-width writes a counter takes 32 bits and extends their sign (SDM, "IA32_PMCx"). */
	const auto extended = static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(value)));
	if (within(msr, pmc0, pmu.general))
		general[msr - pmc0].value = cut(extended, pmu.general_width);
	else if (within(msr, a_pmc0, pmu.general))
		general[msr - a_pmc0].value = cut(value, pmu.general_width);
	else if (within(msr, perfevtsel0, pmu.general))
		select[msr - perfevtsel0] = value;
	else if (within(msr, fixed_ctr0, pmu.fixed))
		fixed[msr - fixed_ctr0].value = cut(value, pmu.fixed_width);
}

} // namespace hwsim::x86
