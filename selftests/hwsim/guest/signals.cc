// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program to be traced that takes signals from all kinds of instructions (arm64): a system call, a fault, an undefined instruction, and a
 * system call within another signal's handler. The handlers return, skip the faulting instruction, or leave by siglongjmp(). In each round an
 * exclusive store fails once, because the kernel has to copy its page first. Every run executes the same, but for interrupts, which make
 * such stores fail, too.
 *
 *   signals [ROUNDS]
 */
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
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

/* A page that is there, but not to be written to as it is: the kernel's page of zeroes. */
volatile unsigned *page_of_zeroes()
{
	void *const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		std::exit(1);
	volatile unsigned *const first = static_cast<unsigned *>(page);
	return *first ? nullptr : first;
}

[[gnu::noinline]] void increment_exclusively(volatile unsigned *what)
{
	unsigned value, failed;
	asm volatile("1:	ldxr %w0, [%2]\n"
		     "	add %w0, %w0, #1\n"
		     "	stxr %w1, %w0, [%2]\n"
		     "	cbnz %w1, 1b"
		: "=&r"(value), "=&r"(failed)
		: "r"(what)
		: "memory");
}

} // namespace

int main(int argc, char **argv)
{
	const unsigned rounds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 20;
	take(SIGUSR1, nested);
	take(SIGUSR2, nested);
	take(SIGILL, go_on_behind);
	take(SIGBUS, jump_out);
	unsigned increments = 0;
	for (unsigned round = 0; round < rounds; round++) {
		volatile unsigned *const page = page_of_zeroes();
		increment_exclusively(page);
		increments += *page;
		raise(SIGUSR1);
		take(SIGSEGV, round % 2 ? jump_out : go_on_behind);
		if (!sigsetjmp(out, 1))
			fault(reinterpret_cast<volatile unsigned *>(round * 8));
		asm volatile(".inst 0x00000000");
		if (!sigsetjmp(out, 1))
			raise(SIGBUS);
	}
	std::printf("signals %u %u %u %u %u, increments %u\n", counts[SIGUSR1], counts[SIGUSR2], counts[SIGSEGV],
		counts[SIGILL], counts[SIGBUS], increments);
	return 0;
}
