// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel_run.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

#include "memory.h"
#include "run.h"

namespace hwsim::fuzz
{
namespace
{

constexpr std::size_t most_steps = 100000, most_trace = 2 << 20;

std::uint64_t address(const auto &of)
{
	return reinterpret_cast<std::uint64_t>(of.data());
}
std::uint64_t &word(std::uint64_t at)
{
	return *reinterpret_cast<std::uint64_t *>(at);
}

/* In ring 0 there is no fault handler that maps pages in. */
void touch(std::uint64_t begin, std::uint64_t end)
{
	for (std::uint64_t at = begin; at < end; at += page_size) {
		auto *byte = reinterpret_cast<volatile std::uint8_t *>(at);
		*byte = *byte;
	}
}
std::vector<ring0_range> code_of_programs()
{
	std::vector<ring0_range> ranges;
	for (const Arena &arena : arenas)
		ranges.push_back({arena.base, arena.end()});
	ranges.push_back({base_arena.base, base_arena.end()});
	return ranges;
}

} // namespace

KernelRuns::KernelRuns() : module(open("/dev/hwsim_ring0", O_RDWR | O_CLOEXEC))
{
	if (module < 0)
		throw std::runtime_error("there is no /dev/hwsim_ring0: is the module loaded?");
}

KernelRuns::~KernelRuns()
{
	close(module);
}

void KernelRuns::run(const Program &program, const std::vector<unsigned> &kept, ring0_run &run) const
{
	constexpr std::uint64_t fixed_flag = 2, trap_flag = 0x100;
	const CodeFile file(program, kept);
	map_memory_of(program);
	const std::vector<ring0_range> code = code_of_programs();
	for (const ring0_range &range : code)
		touch(range.begin, range.end);
	touch(stack, stack + stack_size);
	std::array<std::uint64_t, 256> gates{};
	for (const auto &[vector, handler] : program.gates)
		gates[vector] = handler.begin;
	const std::vector<std::uint64_t> refused(program.around.refused.begin(), program.around.refused.end());
	run.entry = program.entry;
	run.gates = address(gates);
	run.code = address(code);
	run.nr_code = code.size();
	run.refused = address(refused);
	run.nr_refused = refused.size();
	run.single_range = program.around.single_range;
	if (ioctl(module, RING0_WHERE, &run))
		throw std::runtime_error(std::string("hwsim_ring0 cannot: ") + std::strerror(errno));
	word(exit_word) = run.exit;
	word(flags_word) = fixed_flag | (run.nr_steps ? trap_flag : 0);
	word(lost_word) = word(faults_word) = 0;
	if (ioctl(module, RING0_RUN, &run))
		throw std::runtime_error(std::string("hwsim_ring0: ") + std::strerror(errno));
	if (const std::uint64_t at = word(lost_word)) {
		char said[128];
		std::snprintf(said, sizeof said, "the program, %s, has a fault that it does not know of, at %lx",
			run.nr_steps ? "stepped" : "traced", at);
		throw Stray(said);
	}
}

KernelSteps KernelRuns::stepped(const Program &program, const std::vector<unsigned> &kept) const
{
	std::vector<ring0_step> steps(most_steps);
	ring0_run how{};
	how.steps = address(steps);
	how.nr_steps = steps.size();
	run(program, kept, how);
	if (how.nr_steps == steps.size())
		throw Stray("the program does not end");
	steps.resize(how.nr_steps);
	return {std::move(steps), how.cr3, word(faults_word)};
}

KernelTrace KernelRuns::traced(const Program &program, const std::vector<unsigned> &kept) const
{
	std::vector<std::uint8_t> bytes(most_trace);
	ring0_run how{};
	how.trace = address(bytes);
	how.trace_size = bytes.size();
	run(program, kept, how);
	bytes.resize(how.trace_size);
	return {std::move(bytes), how.cr3, word(faults_word), how.status};
}

} // namespace hwsim::fuzz
