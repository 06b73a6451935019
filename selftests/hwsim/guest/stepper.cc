// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Single-steps a program from its first instruction to its last, and records the address of each (arm64). This gives a record of execution
 * that depends neither on a trace unit nor on the emulator's plugin.
 *
 *   stepper FILE PROGRAM [ARGUMENT...]
 *
 * FILE: step_log.h. The exit status is that of the program.
 */
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <elf.h>
#include <optional>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unordered_map>

#include "step_log.h"

namespace step_log = hwsim::step_log;

namespace
{

[[noreturn]] void give_up(const char *what)
{
	std::perror(what);
	std::exit(125);
}

class Stepper
{
public:
	Stepper(pid_t of, std::FILE *to) : child(of), log(to) {}
	/* Steps the child to its end; returns its status as a shell does. */
	int run()
	{
		if (!wait())
			give_up("the program has ended before its first instruction");
		bool there = true;
		while (there) {
			const std::uint64_t at = pc();
			there = is_exclusive_load(word(at)) ? step_exclusive(at) : step(at);
		}
		return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}

private:
	static constexpr std::uint64_t size = 4;                 /* bytes of an instruction */
	static constexpr long word_size = sizeof(std::uint64_t); /* bytes of a step in the log */
	static constexpr unsigned longest = 16; /* most instructions from an exclusive load to its store */

	user_regs_struct registers() const
	{
		user_regs_struct all;
		iovec vector = {&all, sizeof all};
		if (ptrace(PTRACE_GETREGSET, child, NT_PRSTATUS, &vector))
			give_up("PTRACE_GETREGSET");
		return all;
	}
	std::uint64_t pc() const { return registers().pc; }
	/* Waits until the child stops; false if it has ended. */
	bool wait()
	{
		if (waitpid(child, &status, 0) != child)
			give_up("waitpid");
		signal = WIFSTOPPED(status) && WSTOPSIG(status) != SIGTRAP ? WSTOPSIG(status) : 0;
		return WIFSTOPPED(status);
	}
	void executed(std::uint64_t at) { std::fwrite(&at, sizeof at, 1, log); }

	/*
	 * Not every step executes an instruction. If the instruction faults, the child stops at it again, with a signal. If a signal is
	 * delivered, the step ends at the first instruction of the handler. After a system call the kernel stops the child twice. Some
	 * instructions are emulated by the kernel.
	 */
	bool step(std::uint64_t at)
	{
		const bool elsewhere = signal || is_emulated(word(at)), behind_call = called;
		called = !signal && is_call(word(at));
		if (ptrace(PTRACE_SINGLESTEP, child, nullptr, signal))
			give_up("PTRACE_SINGLESTEP");
		const bool there = wait();
		if (!elsewhere && !((signal || behind_call) && pc() == at))
			executed(at);
		return there;
	}

	/*
	 * A step between a load-exclusive and its store-exclusive would make the store fail, every time. So the whole sequence runs at
	 * once, up to the instruction after the store or to the target of a branch in between (Arm ARM, DDI0487, B2.17), as in debuggers.
	 * Nevertheless the store fails if an interrupt comes in between; if the program tries again then, the log forgets that it did.
	 */
	bool step_exclusive(std::uint64_t begin)
	{
		std::uint64_t store = begin + size, branch = 0;
		while (!is_exclusive_store(word(store))) {
			if (is_conditional(word(store)))
				branch = store;
			if ((store += size) > begin + longest * size)
				return step(begin);
		}
		const std::uint64_t behind = store + size,
				    other = branch ? branch + displacement(word(branch)) : behind;
		const std::uint32_t kept = replace(behind, breakpoint), kept_other = replace(other, breakpoint);
		if (ptrace(PTRACE_CONT, child, nullptr, 0) || !wait() || signal)
			give_up("an exclusive store is not reached");
		const user_regs_struct now = registers();
		replace(other, kept_other);
		replace(behind, kept);
		const long place = forget_failed(begin);
		const bool is_stored = now.pc == behind;
		if (is_stored && has_failed(word(store), now))
			failed = {begin, place, place + static_cast<long>((store - begin) / size + 2) * word_size};
		for (std::uint64_t at = begin; at <= (is_stored ? store : branch); at += size)
			executed(at | (at == begin ? step_log::exclusive_load : 0) |
				 (at == store ? step_log::exclusive_store : 0));
		return true;
	}

	/*
	 * If the store of the sequence that begins here has just failed, and only a branch came since, the log goes back to where that
	 * sequence began. Returns where the log has got to.
	 */
	long forget_failed(std::uint64_t begin)
	{
		const long now = std::ftell(log);
		if (!failed || failed->load != begin || failed->behind_branch != now)
			return now;
		if (std::fseek(log, failed->place, SEEK_SET))
			give_up("cannot forget an exclusive store that failed");
		return failed->place;
	}

	static bool is_call(std::uint32_t word) { return (word & 0xffe0'001f) == 0xd400'0001; } /* SVC */
	/* MRS of an identification register traps to the kernel, which emulates it (arch/arm64/kernel/cpufeature.c, do_emulate_mrs()). */
	static bool is_emulated(std::uint32_t word) { return (word & 0xffff'f000) == 0xd538'0000; }
	static constexpr std::uint32_t breakpoint = 0xd420'0000; /* BRK #0 */
	/* Load/store exclusive, of one register or two (C4.1.94); B.cond, CBZ and CBNZ. */
	static bool is_exclusive_load(std::uint32_t word) { return (word & 0x3fc0'0000) == 0x0840'0000; }
	static bool is_exclusive_store(std::uint32_t word) { return (word & 0x3fc0'0000) == 0x0800'0000; }
	/* The register that bits 20 to 16 name has the outcome; number 31 is none that could be read. */
	static bool has_failed(std::uint32_t store, const user_regs_struct &behind)
	{
		const unsigned outcome = store >> 16 & 31;
		return outcome < 31 && behind.regs[outcome] & 0xffff'ffff;
	}
	static bool is_conditional(std::uint32_t word)
	{
		return (word & 0xff00'0010) == 0x5400'0000 || (word & 0x7e00'0000) == 0x3400'0000;
	}
	static std::uint64_t displacement(std::uint32_t word)
	{
		return static_cast<std::uint64_t>(static_cast<std::int64_t>(std::uint64_t{word} << 40) >> 45 << 2);
	}
	/* The ptrace() word at this address, which has two instructions. It is cached: only replace() changes the child's code. */
	std::uint64_t words(std::uint64_t at)
	{
		at &= ~std::uint64_t{7};
		const auto [known, is_new] = code.try_emplace(at);
		if (is_new)
			known->second = static_cast<std::uint64_t>(ptrace(PTRACE_PEEKTEXT, child, at, nullptr));
		return known->second;
	}
	std::uint32_t word(std::uint64_t at) { return static_cast<std::uint32_t>(words(at) >> at % 8 * 8); }
	std::uint32_t replace(std::uint64_t at, std::uint32_t by)
	{
		const std::uint32_t before = word(at);
		const unsigned shift = at % 8 * 8;
		const std::uint64_t now = (words(at) & ~(std::uint64_t{0xffff'ffff} << shift)) | std::uint64_t{by}
													 << shift;
		if (ptrace(PTRACE_POKETEXT, child, at & ~std::uint64_t{7}, now))
			give_up("PTRACE_POKETEXT");
		code[at & ~std::uint64_t{7}] = now;
		return before;
	}

	const pid_t child;
	std::FILE *const log;
	std::unordered_map<std::uint64_t, std::uint64_t> code;
	int status = 0, signal = 0;
	bool called = false; /* the last step was a system call */
	/* The last sequence whose store has failed: the address of its load, and where it is in the log, up to the branch behind it. */
	struct Failed {
		std::uint64_t load;
		long place, behind_branch;
	};
	std::optional<Failed> failed;
};

} // namespace

int main(int argc, char **argv)
{
	if (argc < 3)
		return 125;
	std::FILE *log = std::fopen(argv[1], "wb");
	if (!log)
		give_up(argv[1]);
	const pid_t child = fork();
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
		execv(argv[2], argv + 2);
		give_up(argv[2]);
	}
	const int status = Stepper(child, log).run();
	return std::fclose(log) ? 125 : status;
}
