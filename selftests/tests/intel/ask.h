/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What users may request of PT and BTS: the tests in ask_*.cc put every possible value into an attr, for the PMU under test and
 * for the in-tree one. Both must give the same answer, to root and to nobody, and write the same values into the registers.
 * Where ours is meant to differ, a test says so, and why.
 */
#ifndef AUXPMU_TESTS_ASK_H
#define AUXPMU_TESTS_ASK_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <format>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "shared/fixture.h"
#include "shared/hardware.h"

namespace auxpmu::test::asking
{

constexpr std::uint64_t bit(unsigned n)
{
	return std::uint64_t{1} << n;
}

/* --- asking ---------------------------------------------------------------------------------- */

/* An attr whose PMU is chosen later, its target, and its description for failure messages. */
struct Ask {
	std::string what;
	perf_event_attr attr;
	Target target = Target::on_cpu(0);
};

/* An attr that requests nothing special. */
perf_event_attr plain();
Ask ask_config(std::uint64_t config);

inline constexpr std::array<const char *, 8> exclude_names = {
	"user", "kernel", "hv", "idle", "host", "guest", "callchain_kernel", "callchain_user"};

/* flags has one bit for each of these names. */
Ask ask_exclude(unsigned flags);
/* The requests as users must make them: for their own thread, excluding the kernel; and as they may not. */
std::vector<Ask> of_own_thread(std::vector<Ask> asks, bool exclude_kernel);

/* The in-tree PMU for these units. */
const Pmu &theirs();
/* Skips the test unless it runs as root. */
void need_root();

/* The result of opening the event: 0 or an errno. */
int answer(const Pmu &whose, Ask ask);

/* Is ours meant to answer like this, although the in-tree PMU answers "theirs"? */
using Meant = std::function<bool(const Ask &, int ours, int theirs)>;
inline bool nothing_meant(const Ask &, int, int)
{
	return false;
}

/* All requests go first to the in-tree PMU, which cannot be opened while ours holds the claim. */
void compare_answers(const std::vector<Ask> &asks, const Meant &meant = nothing_meant);
void compare_answers_to_nobody(const std::vector<Ask> &asks, const Meant &meant = nothing_meant);

/* --- fields of config ---------------------------------------------------------------------------- */

/* The config fields of the in-tree PMU, by name. */
std::map<std::string, std::uint64_t> fields();
std::uint64_t field(const std::string &name);
/* Bits that affect the meaning of others: the fields of one bit. */
std::vector<std::uint64_t> switches();
/* Combinations of switches: none, two that are often set together, and all. */
std::vector<std::uint64_t> companions();

/* --- registers ------------------------------------------------------------------------------- */

inline constexpr std::uint32_t debugctl = 0x1d9, rtit_ctl = 0x570, rtit_addr0_a = 0x580;

/* The registers of one CPU, through /dev/cpu/N/msr, which reads on that CPU, and so also the values while it traces. */
class Registers
{
public:
	explicit Registers(int cpu) : file(::open(std::format("/dev/cpu/{}/msr", cpu).c_str(), O_RDONLY | O_CLOEXEC))
	{
		if (!file)
			SKIP("registers cannot be read: modprobe msr");
	}
	std::uint64_t operator[](std::uint32_t number) const
	{
		std::uint64_t value = 0;

		REQUIRE(::pread(file.get(), &value, sizeof(value), number) == sizeof(value));
		return value;
	}

private:
	UniqueFd file;
};

/* An event that traces, with room for more trace than is made while registers are read. */
struct Tracing {
	Tracing(const Pmu &whose, Ask ask, AuxMode mode = AuxMode::full_trace)
	{
		ask.attr.type = whose.type();
		event = Event::open(ask.attr, ask.target).value();
		data = DataRing::map(event, 4 * KiB).value();
		aux = AuxRing::map(data, event, bytes(whose, mode), mode).value();
	}

	/* A branch record is 24 bytes. */
	static std::size_t bytes(const Pmu &whose, AuxMode mode)
	{
		return !whose.name().ends_with("bts") ? 64 * KiB : mode == AuxMode::overwrite ? 128 * KiB : 1 * MiB;
	}

	Event event;
	DataRing data;
	AuxRing aux;
};

/* The CPU whose registers are read: not the one that runs this program, so that hardly anything is traced. */
int watched();

/* Checks that IA32_RTIT_CTL or IA32_DEBUGCTL is the same with both PMUs while each of the requests is traced. */
void compare_controls(const std::vector<Ask> &asks);

} // namespace auxpmu::test::asking

#endif /* AUXPMU_TESTS_ASK_H */
