// SPDX-License-Identifier: GPL-2.0-or-later
#include <cinttypes>
#include <csetjmp>
#include <csignal>
#include <fcntl.h>
#include <glob.h>
#include <optional>
#include <ucontext.h>
#include <unistd.h>

#include "pmu.h"

namespace
{

sigjmp_buf back;
struct {
	std::uint64_t at;
	std::int64_t trap, error;
} fault;

void on_fault(int, siginfo_t *, void *context)
{
	const auto &saved = static_cast<const ucontext_t *>(context)->uc_mcontext.gregs;
	fault = {static_cast<std::uint64_t>(saved[REG_RIP]), saved[REG_TRAPNO], saved[REG_ERR]};
	siglongjmp(back, 1);
}

volatile std::uint64_t rdpmc_at;

/* Nothing if it is a general protection fault of the instruction itself; "odd" tells of another. */
std::optional<std::uint64_t> rdpmc(std::uint32_t index, bool &odd)
{
	odd = false;
	if (sigsetjmp(back, 1)) {
		odd = fault.trap != 13 || fault.error || fault.at != rdpmc_at;
		return {};
	}
	std::uint32_t low = 0, high = 0;
	asm volatile("lea 1f(%%rip), %%rax\n\t"
		     "mov %%rax, %2\n"
		     "1:\trdpmc"
		: "=&a"(low), "=&d"(high), "=m"(rdpmc_at)
		: "c"(index));
	return low | std::uint64_t{high} << 32;
}

void reads(std::uint32_t index, std::optional<std::uint64_t> right)
{
	bool odd = false;
	const auto is = rdpmc(index, odd);
	expect(is == right && !odd, "RDPMC of %x: %s%" PRIx64 ", should be %s%" PRIx64, index,
		odd  ? "another fault "
		: is ? ""
		     : "refused ",
		is.value_or(0), right ? "" : "refused ", right.value_or(0));
}

/* For programs: '2' always, '1' of events that they have mapped, '0' never. */
void allow_rdpmc(char when)
{
	glob_t found;
	if (glob("/sys/bus/event_source/devices/cpu*/rdpmc", 0, nullptr, &found))
		give_up("no cpu*/rdpmc in sysfs");
	for (std::size_t i = 0; i < found.gl_pathc; i++) {
		const int file = open(found.gl_pathv[i], O_WRONLY);
		if (file < 0 || write(file, &when, 1) != 1)
			give_up(found.gl_pathv[i]);
		close(file);
	}
	globfree(&found);
}

} // namespace

void catch_faults()
{
	struct sigaction action = {};
	action.sa_sigaction = on_fault;
	action.sa_flags = SA_SIGINFO;
	for (const int number : {SIGSEGV, SIGILL, SIGBUS})
		sigaction(number, &action, nullptr);
}

void try_rdpmc()
{
	constexpr std::uint32_t of_fixed = 1u << 30, fast = 1u << 31;
	/* Bits beyond 32, and all of them different. */
	const auto general = [](unsigned n) {
		return one_at(machine.width - 1) | 0x1234'5670 | n;
	};
	const auto fixed = [](unsigned n) {
		return one_at(machine.fixed_width - 2) | 0x8765'4320 | n;
	};
	const auto right = [&](std::uint32_t index) -> std::optional<std::uint64_t> {
		if (index < machine.general)
			return general(index);
		if (index >= of_fixed && index - of_fixed < machine.fixed)
			return fixed(index - of_fixed);
		return {};
	};
	/* The kernel clears counters that events have left, when it lets programs read them. */
	allow_rdpmc('2');
	for (unsigned n = 0; n < machine.general; n++)
		registers.write(full_pmc + n, general(n));
	for (unsigned n = 0; n < machine.fixed; n++)
		registers.write(fixed_ctr + n, fixed(n));
	for (std::uint32_t n = 0; n < 64; n++) {
		reads(n, right(n));
		reads(of_fixed | n, right(of_fixed | n));
		reads(fast | n, {});
	}
	for (unsigned n = 0; n < 32; n++) {
		reads(1u << n, right(1u << n));
		reads(of_fixed | 1u << n, right(of_fixed | 1u << n));
		reads(~(1u << n), {});
	}
	allow_rdpmc('0');
	for (std::uint32_t n = 0; n < 64; n++) {
		reads(n, {});
		reads(of_fixed | n, {});
	}
	allow_rdpmc('1');
	clear();
}
