// SPDX-License-Identifier: GPL-2.0-or-later
#include "run.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../guest/stepped.h"
#include "kit/aux_ring.h"
#include "memory.h"

namespace hwsim::fuzz
{
namespace
{

constexpr std::size_t most_steps = 100000;
constexpr std::size_t aux_bytes = 4 << 20;

// --- the process ------------------------------------------------------------------------------

/* By system call, because libc would use a restorer of its own. */
void handle(int signal, std::uint64_t handler, std::uint64_t restorer)
{
	constexpr std::uint64_t with_restorer = 0x04000000;
	const struct {
		std::uint64_t handler, flags, restorer, mask;
	} action = {handler, SA_SIGINFO | SA_ONSTACK | SA_NODEFER | with_restorer, restorer, 0};
	if (syscall(SYS_rt_sigaction, signal, &action, nullptr, 8))
		_exit(2);
}
void make_handlers(const Program::Handlers &handlers)
{
	const stack_t other = {reinterpret_cast<void *>(other_stack), 0, other_stack_size};
	if (sigaltstack(&other, nullptr))
		_exit(2);
	for (const int signal : {SIGSEGV, SIGILL, SIGFPE, SIGBUS})
		handle(signal, handlers.recover, handlers.restorer);
	handle(SIGTRAP, handlers.trap, handlers.restorer);
	for (const int signal : {SIGUSR1, SIGUSR2})
		handle(signal, handlers.user, handlers.restorer);
}

/*
 * The child stops. When it goes on it takes its event's descriptor from its parent, if the parent has one with this number, and runs the
 * program.
 */
[[noreturn]] void be(const Program &program)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	map_memory_of(program);
	make_handlers(program.handlers);
	std::raise(SIGSTOP);
	const int parent = static_cast<int>(syscall(SYS_pidfd_open, getppid(), 0));
	const int event = static_cast<int>(syscall(SYS_pidfd_getfd, parent, event_fd, 0));
	if (event >= 0)
		dup2(event, event_fd);
	asm volatile("jmp *%0" : : "r"(program.entry));
	__builtin_unreachable();
}

std::string how_it_ended(int status)
{
	if (WIFEXITED(status))
		return "the program ends with status " + std::to_string(WEXITSTATUS(status));
	return "the program dies of signal " + std::to_string(WTERMSIG(status));
}
void require_end(int status)
{
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		throw Stray(how_it_ended(status));
}

// --- step by step -------------------------------------------------------------------------------

/* Is it a string instruction that repeats? Each repetition is a step. */
bool repeats(const Executed &at)
{
	bool prefixed = false;
	for (const std::uint8_t byte : at.bytes) {
		if (byte == 0xf2 || byte == 0xf3)
			prefixed = true;
		else if ((byte & 0xf0) != 0x40 && byte != 0x66 && byte != 0x67)
			return prefixed && ((byte >= 0x6c && byte <= 0x6f) || (byte >= 0xa4 && byte <= 0xa7) ||
						   (byte >= 0xaa && byte <= 0xaf));
	}
	return false;
}

Executed look(const Stepped &stepped, std::uint64_t ip)
{
	Executed at;
	at.ip = ip;
	const iovec local = {at.bytes.data(), at.bytes.size()};
	const iovec remote = {reinterpret_cast<void *>(at.ip), at.bytes.size()};
	at.available = static_cast<std::uint8_t>(
		std::max<ssize_t>(process_vm_readv(stepped.pid(), &local, 1, &remote, 1, 0), 0));
	return at;
}

/*
 * The virtual hardware carries out PTWRITE in QEMU's place, so that QEMU takes it and the next instruction for one step. The next instruction
 * has a single byte, and the program stands behind it.
 */
bool has_no_step(const std::vector<Executed> &all, std::uint64_t ip)
{
	if (all.empty())
		return false;
	const auto one = PtwriteForm::of(all.back().bytes.data());
	return one && ip == all.back().ip + one->size + 1;
}

/* Notes where the program stands after each step. If it still stands at an instruction that raised a signal, that has not been executed. */
std::vector<Executed> steps(Stepped &stepped, const Program &program)
{
	std::vector<Executed> all;
	std::uint64_t led_from = 0;
	while (all.empty() || all.back().ip != program.last) {
		if (all.size() > most_steps)
			throw Stray("the program does not end");
		Executed at = look(stepped, stepped.pc());
		if (has_no_step(all, at.ip))
			all.push_back(look(stepped, at.ip - 1));
		if (const auto one = PtwriteForm::of(at.bytes.data()))
			at.payload = {stepped.all_registers().rax, one->wide ? 8u : 4u};
		const bool again = !all.empty() && all.back().ip == at.ip;
		if (stepped.at_signal()) {
			if (again)
				all.pop_back();
			/* If the first instruction of a handler raises a signal, too, the first interruption counts. */
			led_from = led_from ? led_from : at.ip;
		} else if (!again || !repeats(at)) {
			at.led_from = led_from;
			led_from = 0;
			all.push_back(at);
		}
		if (!stepped.step())
			throw Stray(how_it_ended(stepped.last_status()));
	}
	return all;
}

std::vector<Executed> without_untraced(std::vector<Executed> all, const Around &around)
{
	bool on = true;
	std::erase_if(all, [&](const Executed &one) {
		const bool was_on = on;
		if (around.off.contains(one.ip))
			on = false;
		else if (around.on.contains(one.ip))
			on = true;
		return !was_on;
	});
	return all;
}

} // namespace

std::vector<Executed> run_stepped(const Program &program, const std::vector<unsigned> &kept)
{
	const CodeFile file(program, kept);
	const pid_t child = fork();
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
		be(program);
	}
	Stepped stepped(child);
	try {
		while (stepped.pc() != program.first)
			if (!stepped.step())
				throw Stray(how_it_ended(stepped.last_status()));
		std::vector<Executed> all = steps(stepped, program);
		require_end(stepped.go_on());
		return without_untraced(std::move(all), program.around);
	} catch (...) {
		kill(child, SIGKILL);
		waitpid(child, nullptr, 0);
		throw;
	}
}

// --- traced ----------------------------------------------------------------------------------------

std::vector<std::uint8_t> run_traced(
	const Program &program, const std::vector<unsigned> &kept, const auxpmu::Pmu &pmu, const perf_event_attr &attr)
{
	using namespace auxpmu;
	const CodeFile file(program, kept);
	const pid_t child = fork();
	int status;
	if (!child)
		be(program);
	if (waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status))
		throw Stray(how_it_ended(status));
	const Event event = Event::open(attr, Target::task(child)).value();
	DataRing ring = DataRing::map(event, 16 * page_size).value();
	AuxRing aux = AuxRing::map(ring, event, aux_bytes, AuxMode::full_trace, pmu.monotonic_aux_head()).value();
	if (dup2(event.fd(), event_fd) < 0)
		give_up("the descriptor of the event");
	kill(child, SIGCONT);
	waitpid(child, &status, 0);
	close(event_fd);
	require_end(status);
	std::uint64_t flags = 0;
	ring.drain([&](const RecordView &record) {
		const Record decoded = decode(record, attr);
		if (const auto *one = std::get_if<AuxRecord>(&decoded))
			flags |= one->flags;
	});
	if (flags)
		throw std::runtime_error("an AUX record has flags " + std::to_string(flags));
	const Spans spans = aux.readable();
	std::vector<std::uint8_t> bytes(spans.size());
	std::memcpy(bytes.data(), spans.first.data(), spans.first.size());
	if (!spans.second.empty())
		std::memcpy(bytes.data() + spans.first.size(), spans.second.data(), spans.second.size());
	return bytes;
}

} // namespace hwsim::fuzz
