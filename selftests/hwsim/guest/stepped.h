/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stepped: a child that is single-stepped by the trap flag: the kernel stops it after each instruction. No trace hardware is involved.
 */
#ifndef HWSIM_GUEST_STEPPED_H
#define HWSIM_GUEST_STEPPED_H

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

[[noreturn]] inline void give_up(const char *what)
{
	std::perror(what);
	std::exit(1);
}

class Stepped
{
public:
	/* Takes a child that has called PTRACE_TRACEME, and waits until it stops. */
	explicit Stepped(pid_t of) : child(of)
	{
		wait();
		signal = 0;
	}
	/* Executes one step; false if the child has ended. A signal for the child is kept, and delivered with the next step. */
	bool step()
	{
		if (ptrace(PTRACE_SINGLESTEP, child, nullptr, signal))
			give_up("PTRACE_SINGLESTEP");
		return wait();
	}
	/* Runs the child to this address by a breakpoint, then removes the breakpoint and restores the PC. */
	void run_to(unsigned long at)
	{
		const long there = word(at);
		ptrace(PTRACE_POKETEXT, child, at, (there & ~0xffl) | 0xcc);
		if (ptrace(PTRACE_CONT, child, nullptr, 0) || !wait() || pc() != at + 1)
			give_up("the program does not come to its mark");
		ptrace(PTRACE_POKETEXT, child, at, there);
		signal = 0;
		registers.rip = at;
		ptrace(PTRACE_SETREGS, child, nullptr, &registers);
	}
	unsigned long pc() const { return registers.rip; }
	const user_regs_struct &all_registers() const { return registers; }
	/* The word in the child's memory at this address. */
	long word(unsigned long at) const { return ptrace(PTRACE_PEEKTEXT, child, at, nullptr); }
	pid_t pid() const { return child; }
	/* Was the child stopped by a signal other than the step's, such as that of an INT3? It gets the signal with the next step. */
	bool at_signal() const { return signal; }
	/*
	 * Runs the child to its end, and returns the status from waitpid(). Clears the trap flag first: after a step over POPF or IRET the
	 * kernel takes the flag for the program's own and would leave it set.
	 */
	int go_on()
	{
		registers.eflags &= ~0x100ul;
		ptrace(PTRACE_SETREGS, child, nullptr, &registers);
		ptrace(PTRACE_CONT, child, nullptr, signal);
		wait();
		return status;
	}
	int last_status() const { return status; }

private:
	bool wait()
	{
		if (waitpid(child, &status, 0) != child)
			give_up("waitpid");
		const int stopped_by = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
		signal = stopped_by == SIGTRAP && !is_breakpoint() ? 0 : stopped_by;
		return stopped_by && !ptrace(PTRACE_GETREGS, child, nullptr, &registers);
	}
	bool is_breakpoint() const
	{
		siginfo_t info;
		return !ptrace(PTRACE_GETSIGINFO, child, nullptr, &info) && info.si_code == SI_KERNEL;
	}

	pid_t child;
	int status = 0;
	int signal = 0;
	user_regs_struct registers{};
};

#endif
