/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time of the virtual machine: one time stamp counter that RDTSC, TSC packets, MTC packets and cycle counts all derive
 * from, so that they agree to the tick.
 */
#ifndef HWSIM_X86_CLOCK_H
#define HWSIM_X86_CLOCK_H

#include <cstdint>
#include <ctime>

namespace hwsim::x86
{

class Clock
{
public:
	virtual std::uint64_t tsc() = 0;

protected:
	~Clock() = default;
};

/*
 * Ticks of the host's monotonic clock, which is also what QEMU's timers run by. The rate is a whole number of ticks per
 * nanosecond on purpose: no rounding, no drift against the guest's other clocks.
 */
class MonotonicClock final : public Clock
{
public:
	explicit MonotonicClock(std::uint64_t ticks_per_ns) : rate(ticks_per_ns), origin(now()) {}
	std::uint64_t tsc() override { return (now() - origin) * rate; }

private:
	static std::uint64_t now()
	{
		timespec time;
		clock_gettime(CLOCK_MONOTONIC, &time);
		return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
		       static_cast<std::uint64_t>(time.tv_nsec);
	}

	std::uint64_t rate;
	std::uint64_t origin;
};

} // namespace hwsim::x86

#endif
