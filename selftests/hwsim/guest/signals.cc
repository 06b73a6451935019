// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program to be traced that takes signals from all kinds of instructions (arm64): a system call, a fault, an undefined instruction, and a
 * system call within another signal's handler. The handlers return, skip the faulting instruction, or leave by siglongjmp(). Every run
 * executes the same.
 *
 *   signals [ROUNDS]
 */
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ucontext.h>
#include <unistd.h>

namespace
{

sigjmp_buf out;
volatile unsigned counts[NSIG];

void count(int signal)
{
	counts[signal] = counts[signal] + 1;
}

/* Skips the faulting instruction. */
void go_on_behind(int signal, siginfo_t *, void *context)
{
	count(signal);
	static_cast<ucontext_t *>(context)->uc_mcontext.pc += 4;
}

void nested(int signal, siginfo_t *, void *)
{
	count(signal);
	if (signal == SIGUSR1)
		raise(SIGUSR2);
}

void jump_out(int signal, siginfo_t *, void *)
{
	count(signal);
	siglongjmp(out, signal);
}

void take(int signal, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = {};
	action.sa_sigaction = handler;
	action.sa_flags = SA_SIGINFO;
	sigaction(signal, &action, nullptr);
}

[[gnu::noinline]] void fault(volatile unsigned *where)
{
	*where = *where + 1;
}

} // namespace

int main(int argc, char **argv)
{
	const unsigned rounds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 20;
	take(SIGUSR1, nested);
	take(SIGUSR2, nested);
	take(SIGILL, go_on_behind);
	take(SIGBUS, jump_out);
	for (unsigned round = 0; round < rounds; round++) {
		raise(SIGUSR1);
		take(SIGSEGV, round % 2 ? jump_out : go_on_behind);
		if (!sigsetjmp(out, 1))
			fault(reinterpret_cast<volatile unsigned *>(round * 8));
		asm volatile(".inst 0x00000000");
		if (!sigsetjmp(out, 1))
			raise(SIGBUS);
	}
	std::printf("signals %u %u %u %u %u\n", counts[SIGUSR1], counts[SIGUSR2], counts[SIGSEGV], counts[SIGILL],
		counts[SIGBUS]);
	return 0;
}
