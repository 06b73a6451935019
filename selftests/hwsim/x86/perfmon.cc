// SPDX-License-Identifier: GPL-2.0-or-later
#include "perfmon.h"

#include <algorithm>
#include <utility>

namespace hwsim::x86
{
namespace
{

bool within(std::uint32_t msr, std::uint32_t first, unsigned count)
{
	return msr >= first && msr < first + count;
}

/* IA32_PERFEVTSELx */
constexpr std::uint64_t select_event = 0xff, select_user = 1 << 16, select_os = 1 << 17, select_edge = 1 << 18,
			select_int = 1 << 20, select_any = 1 << 21, select_enable = 1 << 22, select_invert = 1 << 23;
constexpr unsigned select_mask_shift = 24, select_bits = 32;
/* A nibble of IA32_FIXED_CTR_CTRL */
constexpr std::uint64_t fixed_os = 1, fixed_user = 2, fixed_any = 4, fixed_pmi = 8;
/* Bits of IA32_PERF_GLOBAL_STATUS that belong to no counter and not to the trace. */
constexpr std::uint64_t enclave = std::uint64_t{1} << 60, uncore = std::uint64_t{1} << 61,
			debug_store = std::uint64_t{1} << 62, condition_changed = std::uint64_t{1} << 63;
/* IA32_PERF_CAPABILITIES. There is no SMM to freeze in, once a kernel runs. */
constexpr std::uint64_t freezes_in_smm = 1 << 12, full_width_writes = 1 << 13;
/* The highest bit of IA32_PERF_GLOBAL_INUSE. */
constexpr std::uint64_t interrupt_in_use = std::uint64_t{1} << 63;

std::uint64_t ones(unsigned number)
{
	return (std::uint64_t{1} << number) - 1;
}

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
 * How many instructions may run before the event has happened "count" times. There are no more branches than instructions; cycles and wake-ups
 * have no known rate, so they are checked every "most" instructions or more often.
 */
std::uint64_t instructions_until(Event event, std::uint64_t count)
{
	constexpr std::uint64_t least = 100, most = 100'000;
	if (event == Event::wakeups)
		return std::clamp(count, least, most);
	return event == Event::cycles ? std::clamp(count / 8, least, most) : count;
}

} // namespace

void Perfmon::reset()
{
	general = {};
	fixed = {};
	select = {};
	fixed_control = global_control = global_status = 0;
	freezing = freezing_records = false;
}

bool Perfmon::owns(std::uint32_t msr)
{
	switch (msr) {
	case fixed_ctr_ctrl:
	case status:
	case ctrl:
	case ovf_ctrl:
	case pebs_enable:
	case platform_info:
	case perf_capabilities:
	case status_set:
	case in_use:
		return true;
	default:
		return within(msr, pmc0, most_general) || within(msr, perfevtsel0, most_general) ||
		       within(msr, fixed_ctr0, most_fixed) || within(msr, a_pmc0, most_general);
	}
}

// --- what is refused ----------------------------------------------------------------------

bool Perfmon::exists(std::uint32_t msr) const
{
	const PmuCapabilities &pmu = profile.pmu;
	switch (msr) {
	case perf_capabilities:
		return pmu.full_width;
	case status_set:
	case in_use:
		return pmu.version >= 4;
	default:
		break;
	}
	if (within(msr, pmc0, most_general))
		return msr - pmc0 < pmu.general;
	if (within(msr, perfevtsel0, most_general))
		return msr - perfevtsel0 < pmu.general;
	if (within(msr, fixed_ctr0, most_fixed))
		return msr - fixed_ctr0 < pmu.fixed;
	if (within(msr, a_pmc0, most_general))
		return pmu.full_width && msr - a_pmc0 < pmu.general;
	return true;
}

/* May AnyThread be set? With one thread in each core it counts nothing more (SDM volume 3, "AnyThread Counting and Software Evolution"). */
bool Perfmon::any_thread() const
{
	return profile.pmu.version >= 3 && !profile.pmu.any_thread_deprecated;
}

/* The bits of counters in the global registers. */
std::uint64_t Perfmon::counter_bits() const
{
	return ones(profile.pmu.general) | ones(profile.pmu.fixed) << fixed_first_bit;
}

bool Perfmon::write_faults(std::uint32_t msr, std::uint64_t value) const
{
	const PmuCapabilities &pmu = profile.pmu;
	const std::uint64_t frozen_bits = pmu.version >= 4 ? lbr_frozen | counters_frozen | enclave : 0;
	const std::uint64_t status_bits =
		counter_bits() | (traces ? topa_interrupt : 0) | frozen_bits | uncore | debug_store;
	switch (exists(msr) ? msr : in_use) {
	case status:
	case in_use:
	case perf_capabilities:
	case platform_info:
		return true;
	case ctrl:
		return value & ~counter_bits();
	case ovf_ctrl:
		return value & ~(status_bits | condition_changed);
	case status_set:
		return value & ~status_bits;
	case fixed_ctr_ctrl: {
		constexpr std::uint64_t each = 0x1111'1111'1111'1111;
		const std::uint64_t field = fixed_os | fixed_user | fixed_pmi | (any_thread() ? fixed_any : 0);
		return value & ~(each * field & ones(4 * pmu.fixed));
	}
	case pebs_enable: /* there is no PEBS */
		return value;
	default:
		break;
	}
	if (within(msr, perfevtsel0, pmu.general))
		return value >> select_bits || (!any_thread() && (value & select_any));
	if (within(msr, fixed_ctr0, pmu.fixed))
		return value >> pmu.fixed_width;
	return within(msr, a_pmc0, pmu.general) && value >> pmu.general_width;
}

// --- counting ---------------------------------------------------------------------------

/*
 * The event as CMASK, INV and EDGE change it (SDM volume 3, "Architectural Performance Monitoring Version 1"). No cycle has two events, and
 * each event stands alone: so with EDGE an event counts as often as it happens, and so do the stretches without it, one of which begins after
 * each.
 */
Perfmon::Order Perfmon::condition(std::uint64_t select)
{
	const auto mask = select >> select_mask_shift & 0xff;
	const bool inverted = mask && (select & select_invert), edge = select & select_edge;
	Order order;
	order.event = event_of(select);
	if (mask > 1)
		order.event = inverted ? Event::cycles : Event::none;
	else if (inverted && order.event == Event::none)
		order.event = Event::cycles;
	else if (inverted && order.event == Event::cycles)
		order.event = Event::none;
	else if (inverted && !edge)
		order.without = std::exchange(order.event, Event::cycles);
	if (edge && order.event == Event::cycles)
		order.event = Event::wakeups;
	return order;
}

Perfmon::Order Perfmon::general_order(unsigned n) const
{
	const std::uint64_t told = select[n];
	if (!(told & select_enable) || !(global_control >> n & 1) || frozen())
		return {};
	Order order = condition(told);
	order.kernel = told & select_os;
	order.user = told & select_user;
	order.interrupt = told & select_int;
	return order;
}

Perfmon::Order Perfmon::fixed_order(unsigned n) const
{
	constexpr Event events[] = {Event::instructions, Event::cycles, Event::cycles, Event::none};
	const std::uint64_t told = fixed_control >> (4 * n);
	if (!(global_control >> (fixed_first_bit + n) & 1) || frozen())
		return {};
	return {events[n], Event::none, (told & fixed_os) != 0, (told & fixed_user) != 0, (told & fixed_pmi) != 0};
}

std::uint64_t Perfmon::total(const Order &order) const
{
	if (order.event == Event::none)
		return 0;
	const auto at = [&](bool kernel) {
		return source.total(order.event, kernel) - source.total(order.without, kernel);
	};
	return (order.kernel ? at(true) : 0) + (order.user ? at(false) : 0);
}

bool Perfmon::settle(Counter &counter, const Order &order, unsigned width, unsigned bit)
{
	const std::uint64_t now = total(order);
	/* A block counts its instructions when it begins, before their cycles have passed. */
	if (order.without != Event::none && static_cast<std::int64_t>(now - counter.seen) < 0)
		return false;
	counter.value += now - counter.seen;
	counter.seen = now;
	if (!(counter.value >> width))
		return false;
	counter.value = cut(counter.value, width);
	global_status |= std::uint64_t{1} << bit;
	return order.interrupt;
}

bool Perfmon::settle_all()
{
	bool interrupt = false;
	for (unsigned n = 0; n < profile.pmu.general; n++)
		interrupt |= settle(general[n], general_order(n), profile.pmu.general_width, n);
	for (unsigned n = 0; n < profile.pmu.fixed; n++)
		interrupt |= settle(fixed[n], fixed_order(n), profile.pmu.fixed_width, fixed_first_bit + n);
	return interrupt;
}

bool Perfmon::settle()
{
	const bool interrupt = settle_all();
	if (interrupt)
		request();
	return interrupt;
}

/*
 * SDM volume 3, "Freezing LBR and Performance Counters on PMI": up to version 3 the counters are disabled, from 4 on a bit of the status holds
 * them until software clears it.
 */
void Perfmon::request()
{
	if (freezing_records && profile.pmu.version >= 4)
		global_status |= lbr_frozen;
	if (!freezing)
		return;
	(void)settle_all();
	if (profile.pmu.version >= 4)
		global_status |= counters_frozen;
	else
		global_control = 0;
	restart();
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

/* What is counted has changed: from here on, counters count the new events. */
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

/* Counters are as of the last settle(). */
std::uint64_t Perfmon::read(std::uint32_t msr) const
{
	switch (msr) {
	case fixed_ctr_ctrl:
		return fixed_control;
	case status:
		return global_status;
	case ctrl:
		return global_control;
	case in_use:
		return used();
	case platform_info:
		/* Maximum non-turbo ratio, which perf scales cycle packets by. */
		return std::uint64_t{profile.bus_ratio} << 8;
	case perf_capabilities:
		return profile.pmu.full_width
			       ? freezes_in_smm | full_width_writes | static_cast<std::uint64_t>(profile.lbr.format)
			       : 0;
	case ovf_ctrl:
	case status_set:
	case pebs_enable:
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

/* SDM volume 3, "IA32_PERF_GLOBAL_INUSE MSR": counters and interrupts that are programmed, whether they count or not. */
std::uint64_t Perfmon::used() const
{
	std::uint64_t bits = 0;
	bool interrupt = false;
	for (unsigned n = 0; n < profile.pmu.general; n++) {
		bits |= std::uint64_t{(select[n] & select_event) != 0} << n;
		interrupt |= (select[n] & select_int) != 0;
	}
	for (unsigned n = 0; n < profile.pmu.fixed; n++) {
		const std::uint64_t told = fixed_control >> (4 * n);
		bits |= std::uint64_t{(told & (fixed_os | fixed_user)) != 0} << (fixed_first_bit + n);
		interrupt |= (told & fixed_pmi) != 0;
	}
	return bits | (interrupt ? interrupt_in_use : 0);
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
	case status:
	case in_use:
	case pebs_enable:
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
