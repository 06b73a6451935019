/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stepped: a child under the trap flag. The kernel stops it behind each instruction. Nothing that traces has a part in it.
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
	/* A child that has asked for it (PTRACE_TRACEME), and stops. */
	explicit Stepped(pid_t of) : child(of)
	{
		wait();
		signal = 0;
	}
	/* Whether it is there still; what signal it is to be given is kept for the next step. */
	bool step()
	{
		if (ptrace(PTRACE_SINGLESTEP, child, nullptr, signal))
			give_up("PTRACE_SINGLESTEP");
		return wait();
	}
	/* To this address, and as if nothing had been there to stop it. */
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
	/* What is in its memory there. */
	long word(unsigned long at) const { return ptrace(PTRACE_PEEKTEXT, child, at, nullptr); }
	pid_t pid() const { return child; }
	/* It was stopped by a signal of its own, INT3's included, which it gets with the next step. */
	bool at_signal() const { return signal; }
	/*
	 * To its end; its status, as waitpid() has it. What steps over POPF or IRET leaves the trap flag to the program, whose own it then
	 * seems to be.
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
