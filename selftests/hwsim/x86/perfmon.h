/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Perfmon: the performance counters of one processor: SDM volume 3, "Performance Monitoring", architectural version 3 to 5. An
 * EventSource keeps totals of what has happened; the counters add the difference whenever they are looked at, or when the budget
 * until the next overflow is used up.
 *
 * What CMASK, INV and EDGE make of an event depends on how events fall on cycles. Here a processor retires at most one instruction in
 * a cycle, and none in the next: so no cycle has two events, and each event stands alone.
 */
#ifndef HWSIM_X86_PERFMON_H
#define HWSIM_X86_PERFMON_H

#include <array>
#include <cstdint>

#include "profile.h"

namespace hwsim::x86
{

/* Wake-ups are those from HLT, where no cycles pass. */
enum class Event : std::uint8_t { none, instructions, branches, cycles, wakeups };

/* What has happened since the machine began; monotonic. */
class EventSource
{
public:
	virtual std::uint64_t total(Event event, bool kernel) = 0;

protected:
	~EventSource() = default;
};

class Perfmon
{
public:
	/* "trace": there is a trace unit. */
	Perfmon(const Profile &of, EventSource &from, bool trace = true) : profile(of), source(from), traces(trace) {}

	void reset();
	/* Registers that some processor has; read_faults() and write_faults() know whether this one does. */
	static bool owns(std::uint32_t msr);
	bool read_faults(std::uint32_t msr) const { return !exists(msr); }
	bool write_faults(std::uint32_t msr, std::uint64_t value) const;
	/* As of the last settle(). */
	std::uint64_t read(std::uint32_t msr) const;
	/* True if a counter that overflowed before the write asks for an interrupt. */
	[[nodiscard]] bool write(std::uint32_t msr, std::uint64_t value);
	/* RDPMC of this index; false if there is no such counter. */
	bool read_counter(std::uint32_t index, std::uint64_t &value) const;

	/* Brings the counters up to date. True if one overflowed that asks for an interrupt. */
	[[nodiscard]] bool settle();
	/* Does any counter count? */
	bool counting() const;
	/* Will one, after this write? */
	bool counts_after(std::uint32_t msr, std::uint64_t value) const;
	/* Instructions that may pass before settle() has to be called again, if an overflow is not to be late. */
	std::uint64_t budget() const;

	/*
	 * FREEZE_PERFMON_ON_PMI and FREEZE_LBRS_ON_PMI of IA32_DEBUGCTL. Up to version 3 the vCPU freezes last branch records itself.
	 */
	void freeze_on_request(bool counters, bool records)
	{
		freezing = counters;
		freezing_records = records;
	}
	/* LBR_Frz of IA32_PERF_GLOBAL_STATUS: last branch records stand still. */
	bool records_frozen() const { return global_status & lbr_frozen; }
	/* Another unit has requested a performance interrupt; settle() calls this for the counters. */
	void request();
	/* Trace_ToPA_PMI of IA32_PERF_GLOBAL_STATUS. */
	void set_topa_interrupt()
	{
		global_status |= topa_interrupt;
		request();
	}

	static constexpr std::uint64_t topa_interrupt = std::uint64_t{1} << 55, lbr_frozen = std::uint64_t{1} << 58,
				       counters_frozen = std::uint64_t{1} << 59;
	static constexpr std::uint64_t unlimited = std::uint64_t{1} << 40;

private:
	static constexpr std::uint32_t pmc0 = 0xc1, perfevtsel0 = 0x186, fixed_ctr0 = 0x309, perf_capabilities = 0x345,
				       fixed_ctr_ctrl = 0x38d, status = 0x38e, ctrl = 0x38f, ovf_ctrl = 0x390,
				       status_set = 0x391, in_use = 0x392, pebs_enable = 0x3f1, a_pmc0 = 0x4c1,
				       platform_info = 0xce;
	static constexpr unsigned fixed_first_bit = 32; /* in the global registers */
	/* As many as have MSR addresses. */
	static constexpr unsigned most_general = 8, most_fixed = 16;

	struct Counter {
		std::uint64_t value = 0;
		std::uint64_t seen = 0; /* the total that value includes */
	};
	/* What a counter is told to count. */
	struct Order {
		Event event = Event::none;
		Event without = Event::none; /* cycles: only those in which this does not happen */
		bool kernel = false, user = false;
		bool interrupt = false;
	};

	static std::uint64_t cut(std::uint64_t value, unsigned width)
	{
		return value & ((std::uint64_t{1} << width) - 1);
	}
	static Order condition(std::uint64_t select);
	bool frozen() const { return global_status & counters_frozen; }
	Order general_order(unsigned n) const;
	Order fixed_order(unsigned n) const;
	std::uint64_t total(const Order &order) const;
	bool settle(Counter &counter, const Order &order, unsigned width, unsigned bit);
	bool settle_all();
	void restart();
	bool exists(std::uint32_t msr) const;
	bool any_thread() const;
	std::uint64_t counter_bits() const;
	std::uint64_t used() const;
	void store(std::uint32_t msr, std::uint64_t value);

	const Profile &profile;
	EventSource &source;
	const bool traces;
	bool freezing = false, freezing_records = false;
	std::array<Counter, 8> general{};
	std::array<Counter, 4> fixed{};
	std::array<std::uint64_t, 8> select{};
	std::uint64_t fixed_control = 0, global_control = 0, global_status = 0;
};

} // namespace hwsim::x86

#endif
