// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program, and a record of what it executes that is made without trace hardware, by the trap flag: the kernel stops the program after
 * each instruction, and its address is recorded. From steps_begin to steps_middle a list of branches describes the execution completely;
 * from there to steps_end there are signals, to whose handlers no branch of the program leads.
 *
 *   steps           the program
 *   steps PREFIX    writes the executed addresses from steps_begin to steps_middle to PREFIX.bts, and those up to steps_end to PREFIX.pt.
 *                   A repeated instruction (REP) is listed once. Prints their numbers, and how often signals led to a handler or back
 */
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

#include "stepped.h"

/* Marks whose addresses a debugger finds by name. */
#define MARK extern "C" [[gnu::noinline, gnu::noclone]] void
MARK steps_begin()
{
	asm volatile("");
}
MARK steps_middle()
{
	asm volatile(" ");
}
MARK steps_end()
{
	asm volatile("  ");
}

namespace
{

// --- the program ---------------------------------------------------------------------------

[[gnu::noinline]] unsigned fibonacci(unsigned n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

/* Recurses deeper than the 64 return addresses that processors keep for return compression. */
[[gnu::noinline]] unsigned down(unsigned n)
{
	const unsigned below = n ? down(n - 1) : 1;
	asm volatile("");
	return below + n;
}

unsigned add(unsigned a, unsigned b)
{
	return a + b;
}
unsigned mix(unsigned a, unsigned b)
{
	return a * 31 ^ b;
}
[[gnu::noinline]] unsigned choose(unsigned a, unsigned b)
{
	switch (b % 7) {
	case 0:
		return mix(a, 3);
	case 1:
		return a ^ 0x55;
	case 2:
		return a << 1;
	case 3:
		return a >> 1;
	case 4:
		return a - b;
	case 5:
		return a / 3;
	default:
		return a * b;
	}
}
unsigned (*volatile table[])(unsigned, unsigned) = {add, mix, choose};

int order(const void *a, const void *b)
{
	return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

/* Calls that never return, because longjmp() leaves them. */
std::jmp_buf back;
void jump_back()
{
	std::longjmp(back, 1);
}
void (*volatile jump)() = jump_back;
[[gnu::noinline]] void leave_by_jump(unsigned depth)
{
	if (depth)
		leave_by_jump(depth - 1);
	else
		jump();
	asm volatile("");
}

/* Instructions with a REP prefix, repeated many times, once, never, or until a comparison ends them. */
void repeat(unsigned n)
{
	char from[64] = {}, to[64];
	void *source = from, *target = to;
	unsigned long count = n;
	asm volatile("rep movsb" : "+S"(source), "+D"(target), "+c"(count)::"memory");
	count = n / 8, target = to;
	asm volatile("rep stosq" : "+D"(target), "+c"(count) : "a"(1) : "memory");
	count = sizeof to, target = to;
	asm volatile("repne scasb" : "+D"(target), "+c"(count) : "a"(0) : "memory", "cc");
	count = n, source = from, target = to;
	asm volatile("repe cmpsb" : "+S"(source), "+D"(target), "+c"(count)::"memory", "cc");
}

/* Branches that compilers seldom generate: to the next instruction, to their own block, or depending on RCX. */
void odd_branches()
{
	unsigned long count = 5, pc;
	asm volatile("1: loop 1b\n\t"
		     "jrcxz 2f\n\t"
		     "nop\n"
		     "2: jmp 3f\n"
		     "3: clc\n\t"
		     "jnc 4f\n"
		     "4: jc 5f\n"
		     "5: lea -128(%%rsp), %%rsp\n\t"
		     "call 6f\n"
		     "6: pop %1\n\t"
		     "push $0\n\t"
		     "call 7f\n\t"
		     "jmp 8f\n"
		     "7: ret $8\n"
		     "8: lea 9f(%%rip), %1\n\t"
		     "push %1\n\t"
		     "ret\n\t"
		     "nop\n"
		     "9: lea 128(%%rsp), %%rsp"
		: "+c"(count), "=&r"(pc)::"memory", "cc");
}

/*
 * Two pieces of code whose addresses differ in the upper 32 bits (the Makefile links them so). EBX times, the code moves to the CPUs of
 * R12, jumps to the other piece, returns by a direct jump, and moves to the CPUs of R13. So it leaves a CPU in whose trace the last address
 * is of the other piece, for a CPU in whose trace the last address is of this piece.
 */
asm(R"(
	.pushsection .hop_here, "ax", @progbits
hop:
	mov	$203, %eax	# sched_setaffinity
	mov	%r12, %rdx
	syscall
	lea	hop_there(%rip), %rax
	jmp	*%rax
hop_back:
	mov	$203, %eax
	mov	%r13, %rdx
	syscall
	dec	%ebx
	jnz	hop
	ret
	.popsection
	.pushsection .hop_there, "ax", @progbits
hop_there:
	jmp	hop_back
	.popsection
)");

/* Hops between the first and the last CPU of the affinity mask, which may be the same one. */
void hop()
{
	cpu_set_t all, first, last;
	CPU_ZERO(&first);
	CPU_ZERO(&last);
	if (sched_getaffinity(0, sizeof all, &all))
		_exit(1);
	int cpu = 0, n = CPU_COUNT(&all);
	for (; n; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		if (!CPU_COUNT(&first))
			CPU_SET(cpu, &first);
		if (!--n)
			CPU_SET(cpu, &last);
	}
	unsigned long times = 6;
	register cpu_set_t *to asm("r12") = &last;
	register cpu_set_t *from asm("r13") = &first;
	asm volatile("lea -128(%%rsp), %%rsp\n\t"
		     "call hop\n\t"
		     "lea 128(%%rsp), %%rsp"
		: "+b"(times)
		: "D"(0l), "S"(sizeof all), "r"(to), "r"(from)
		: "rax", "rcx", "rdx", "r11", "memory", "cc");
	sched_setaffinity(0, sizeof all, &all);
}

/* Each page causes a fault, after which the same instruction is executed again. */
void touch_pages()
{
	constexpr std::size_t size = 16 << 12;
	void *at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		_exit(1);
	for (std::size_t i = 0; i < size; i += 1 << 12)
		static_cast<volatile char *>(at)[i] = 1;
	munmap(at, size);
}

void plain_work()
{
	unsigned value = 1;
	int numbers[32];
	for (int i = 0; i < 32; i++)
		numbers[i] = i * 7919 % 101;
	for (unsigned i = 0; i < 60; i++)
		value = table[i % 3](value, i);
	value += down(150) + fibonacci(8);
	std::qsort(numbers, 32, sizeof numbers[0], order);
	for (unsigned i = 0; i < 8; i++) {
		if (!setjmp(back))
			leave_by_jump(i);
		repeat(i * 7);
		getppid();
	}
	odd_branches();
	hop();
	touch_pages();
	alignas(64) char text[64]; /* strlen() takes another path if a string is near the end of a page */
	std::snprintf(text, sizeof text, "%u %s %d", numbers[3], "words", numbers[5]);
	table[0](value, static_cast<unsigned>(std::strlen(text)));
}

volatile std::sig_atomic_t seen;
void count(int)
{
	seen = seen + 1;
	if (seen == 2)
		std::raise(SIGUSR2);
}
/* Skips the faulting instruction, which is two bytes long. */
void step_over(int, siginfo_t *, void *context)
{
	static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP] += 2;
}
sigjmp_buf out;
void jump_out(int)
{
	siglongjmp(out, 1);
}

void handle(int signal, void (*handler)(int))
{
	struct sigaction action = {};
	action.sa_handler = handler;
	sigaction(signal, &action, nullptr);
}

/* A raised signal, another one raised in its handler, a fault whose handler skips the instruction, and a fault left by siglongjmp(). */
void work_with_signals()
{
	struct sigaction action = {};
	action.sa_sigaction = step_over;
	action.sa_flags = SA_SIGINFO;
	sigaction(SIGSEGV, &action, nullptr);
	handle(SIGUSR1, count);
	handle(SIGUSR2, count);
	handle(SIGFPE, jump_out);
	for (int i = 0; i < 3; i++) {
		std::raise(SIGUSR1);
		fibonacci(4);
		asm volatile("movb (%%rax), %%al" : : "a"(8) : "memory");
		if (!sigsetjmp(out, 1))
			asm volatile("divl %%ecx" : : "a"(1), "d"(0), "c"(0) : "cc");
	}
}

int work()
{
	steps_begin();
	plain_work();
	steps_middle();
	work_with_signals();
	steps_end();
	return seen == 4 ? 0 : 1;
}

// --- what it does, step by step --------------------------------------------------------------

/* Starts this program anew, as a child to be traced by ptrace(). */
pid_t start(char *program)
{
	const pid_t child = fork();
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
		execl(program, program, nullptr);
		_exit(127);
	}
	return child;
}
/* Is the child at an instruction with a REP prefix (at_repeat), or at the system call that returns from a signal handler (at_return)? */
bool at_repeat(const Stepped &stepped)
{
	const long here = stepped.word(stepped.pc()) & 0xff;
	return here == 0xf2 || here == 0xf3;
}
bool at_return(const Stepped &stepped)
{
	return stepped.all_registers().rax == SYS_rt_sigreturn && (stepped.word(stepped.pc()) & 0xffff) == 0x050f;
}

void write(const std::string &path, const std::vector<unsigned long> &pcs, std::size_t n)
{
	std::FILE *file = std::fopen(path.c_str(), "w");
	if (!file)
		give_up(path.c_str());
	for (std::size_t i = 0; i < n; i++)
		std::fprintf(file, "%lx\n", pcs[i]);
	if (std::fclose(file))
		give_up(path.c_str());
}

int tell(char *program, const std::string &prefix)
{
	const auto middle = reinterpret_cast<unsigned long>(steps_middle),
		   end = reinterpret_cast<unsigned long>(steps_end);
	std::vector<unsigned long> pcs;
	std::size_t to_middle = 0, led = 0;
	Stepped stepped(start(program));
	stepped.run_to(reinterpret_cast<unsigned long>(steps_begin));
	for (unsigned long pc; (pc = stepped.pc()) != end;) {
		if (pc == middle)
			to_middle = pcs.size();
		const bool again = !pcs.empty() && pcs.back() == pc;
		if (stepped.at_signal()) {
			/* The signal precedes the current instruction, or that instruction raised it and was not executed. */
			led++;
			if (again)
				pcs.pop_back();
		} else if (!again || !at_repeat(stepped)) {
			led += at_return(stepped);
			pcs.push_back(pc);
		}
		if (!stepped.step())
			give_up("the program has ended before its mark");
	}
	const int status = stepped.go_on();
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		give_up("the program does not end well");
	write(prefix + ".bts", pcs, to_middle);
	write(prefix + ".pt", pcs, pcs.size());
	std::printf("steps: %zu to the middle, %zu to the end, led by signals %zu times\n", to_middle, pcs.size(), led);
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	return argc > 1 ? tell(argv[0], argv[1]) : work();
}
