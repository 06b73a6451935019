/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Program: what the fuzzer runs, a list of operations over numbered slots (events, mappings, actors, modelled units, control
 * groups).  And its text, a line per operation, from which the same program can be read again.  Knows of no kernel.
 */
#ifndef AUXPMU_FUZZ_PROGRAM_H
#define AUXPMU_FUZZ_PROGRAM_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kit/result.h"

namespace auxpmu::fuzz
{

/* Slots of each sort. */
constexpr unsigned nr_events = 8;
constexpr unsigned nr_mappings = 6;
constexpr unsigned nr_actors = 4; /* actor 0 is there from the beginning, and does not go */
constexpr unsigned nr_models = 2;
constexpr unsigned nr_groups = 2;

enum class Kind : unsigned {
	open,
	close,
	dup,
	map_data,
	map_aux,
	unmap,
	unmap_part,
	move,
	protect,
	advise,
	poke,
	drain,
	read,
	poll,
	enable,
	disable,
	reset,
	refresh,
	period,
	set_output,
	pause_output,
	filter,
	modify,
	id,
	notify,
	start,
	exec,
	leave,
	kill,
	unshare,
	work,
	pin,
	emit,
	nmi,
	fault,
	group_make,
	group_enter,
	group_remove,
	model_make,
	model_set,
	model_live,
	model_remove,
	revoke,
	cpu,
	module,
};
constexpr unsigned nr_kinds = static_cast<unsigned>(Kind::module) + 1;

/* Words of an argument stand for 0, 1, 2, ...; what has none, or is larger, is a number. */
struct Argument {
	const char *name;
	std::span<const char *const> words;
};

/* What there is to say of a kind: its name, its arguments, and what share of those tried has to succeed. */
struct Grammar {
	const char *name;
	std::vector<Argument> arguments;
	bool root = false;  /* for programs of root's only */
	unsigned floor = 0; /* percent; 0: none is asked for */
	bool aux = false;   /* nothing of it succeeds without an AUX PMU */
};
const Grammar &grammar(Kind kind);

/* Whose events they are: names of PMUs are found when an event is opened. */
enum class Type : unsigned {
	synth,
	model0,
	model1,
	clock,
	task_clock,
	switches,
	faults,
	dummy,
	syscall,
	cycles,
	breakpoint,
	other,
};
constexpr bool is_aux(std::uint64_t type)
{
	return type <= static_cast<std::uint64_t>(Type::model1);
}

/* Arguments by name, in the order of the grammar. */
namespace arg
{
enum Open : unsigned {
	event,
	type,
	config,
	config1,
	config2,
	period,
	sample,
	read_format,
	flags,
	wakeup,
	watermark,
	aux_sample,
	action,
	branches,
	who,
	whom,
	cpu,
	leader,
	output,
	open_flags,
	spoil,
	nr_open,
};
} // namespace arg

/* attr's bits behind read_format, as the kernel numbers them. */
namespace flag
{
enum Bit : unsigned {
	disabled = 0,
	inherit = 1,
	pinned = 2,
	exclusive = 3,
	exclude_user = 4,
	exclude_kernel = 5,
	exclude_hv = 6,
	mmap = 8,
	comm = 9,
	freq = 10,
	inherit_stat = 11,
	enable_on_exec = 12,
	task = 13,
	watermark = 14,
	mmap_data = 17,
	sample_id_all = 18,
	mmap2 = 23,
	context_switch = 26,
	write_backward = 27,
	namespaces = 28,
	aux_output = 31,
	cgroup = 32,
	build_id = 34,
	inherit_thread = 35,
	remove_on_exec = 36,
	sigtrap = 37,
};
} // namespace flag

struct Operation {
	Kind kind = Kind::id;
	unsigned actor = 0;
	bool wait = true; /* is it done before the next one begins? */
	std::vector<std::uint64_t> arguments;

	std::uint64_t operator[](unsigned n) const { return arguments.at(n); }
	bool operator==(const Operation &) const = default;
};

struct Program {
	bool root = false; /* whose, root's or nobody's */
	int paranoid = 1;  /* kernel.perf_event_paranoid */
	std::vector<Operation> operations;

	bool operator==(const Program &) const = default;
};

std::string to_text(const Operation &operation);
std::string to_text(const Program &program);
/* EINVAL with the line that cannot be read. */
Result<Program> parse(std::string_view text);

/* The same seed and count make the same program, on any machine. */
Program generate(std::uint64_t seed, std::size_t count);

} // namespace auxpmu::fuzz

#endif /* AUXPMU_FUZZ_PROGRAM_H */
