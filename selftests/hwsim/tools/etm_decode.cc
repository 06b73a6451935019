// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hwsim-etm-decode: a raw trace of an ETE or ETMv4, of a static program, instruction by instruction through OpenCSD: a second opinion
 * beside perf.
 *
 *   hwsim-etm-decode [--kernel-level N] [--code KCORE] [--steps FILE] TRUTH-PREFIX.unit RAW-PREFIX ELF [TRUTH-PREFIX.blocks] > branches
 *
 * TRUTH-PREFIX.unit.0, .1, ... say what the trace units are, and how they were programmed (EtmUnit). KCORE is a copy of the kernel's code,
 * as "perf record --kcore" makes it; it runs at EL1 unless told. Takes the traces RAW-PREFIX.0, .1, ... of the vCPUs and prints branches and exceptions as
 * hwsim-compare reads them; counts go to standard error. With a log of executed blocks (blocks=on) every instruction has to be in it.
 * FILE has the address of each instruction that single steps have found (guest/stepper): the instructions of all traces have to be exactly
 * these, in this order (StepWalk).
 * Exit status 0: no errors.
 */
#include <cstdio>
#include <iostream>

#include "../base/basic_block_walk.h"
#include "etm_walk.h"
#include "step_walk.h"

namespace
{

using namespace hwsim;

/* Empty without a file. */
std::vector<std::uint64_t> read_steps(const std::string &path)
{
	std::vector<std::uint64_t> steps;
	std::ifstream file(path, std::ios::binary);
	for (std::uint64_t at = 0; file.read(reinterpret_cast<char *>(&at), sizeof at);)
		steps.push_back(at);
	return steps;
}

class Decoder final : public EtmListener
{
public:
	Decoder(unsigned of, BasicBlockWalk *executed, StepWalk *of_program)
		: cpu(of), blocks(executed), steps(of_program)
	{
	}

	/* Reports instructions of the trace that were not executed there, and blocks in the log that the trace lacks. */
	void judge_blocks()
	{
		if (!blocks || (!blocks->differences && !blocks->left()))
			return;
		errors++;
		std::cerr << "cpu " << cpu << ": " << blocks->differences
			  << " instructions were not executed where the trace has them, the first at " << std::hex
			  << blocks->first << std::dec << "; blocks that the trace lacks at the end: " << blocks->left()
			  << "\n";
	}
	void tell() const
	{
		std::cerr << "cpu " << cpu << ": instructions " << instructions << " branches " << branches
			  << " errors " << errors << "\n";
	}

	std::size_t errors = 0;

private:
	void instruction(std::uint64_t at) override
	{
		if (blocks)
			blocks->step(at, 4);
		if (steps)
			steps->take(at);
		instructions++;
	}
	void step(std::uint64_t from, std::uint64_t to) override
	{
		std::printf("[%03u] %lx => %lx\n", cpu, from, to);
		branches++;
	}
	void left(std::uint64_t at) override
	{
		if (blocks)
			blocks->leave(at);
		if (steps)
			steps->leave();
	}
	void error(const std::string &what) override
	{
		constexpr std::size_t shown = 5;
		if (errors++ < shown)
			std::cerr << "cpu " << cpu << ": " << what << "\n";
	}

	unsigned cpu;
	BasicBlockWalk *blocks;
	StepWalk *steps;
	std::size_t instructions = 0, branches = 0;
};

struct Options {
	std::string level = "1", kcore, steps, units, raw, program, blocks;
};

/* Empty if these are no valid arguments. */
std::optional<Options> options(std::vector<std::string> words)
{
	Options all;
	while (words.size() > 2 && words[0].starts_with("--")) {
		if (words[0] == "--code")
			all.kcore = words[1];
		else if (words[0] == "--steps")
			all.steps = words[1];
		else if (words[0] == "--kernel-level" && (words[1] == "1" || words[1] == "2"))
			all.level = words[1];
		else
			return {};
		words.erase(words.begin(), words.begin() + 2);
	}
	if (words.size() != 3 && words.size() != 4)
		return {};
	all.units = words[0], all.raw = words[1], all.program = words[2];
	if (words.size() > 3)
		all.blocks = words[3];
	return all;
}

int run(const Options &with)
{
	std::size_t errors = 0;
	StepWalk steps(read_steps(with.steps));
	for (unsigned cpu = 0;; cpu++) {
		const std::string number = "." + std::to_string(cpu);
		std::ifstream file(with.raw + number, std::ios::binary);
		if (!file)
			break;
		const std::vector<char> trace{std::istreambuf_iterator<char>(file), {}};
		if (trace.empty())
			continue;
		const auto executed = with.blocks.empty() ? std::vector<Step>{} : read_truth(with.blocks + number);
		BasicBlockWalk blocks(executed);
		Decoder decoder(cpu, with.blocks.empty() ? nullptr : &blocks, with.steps.empty() ? nullptr : &steps);
		EtmWalk walk(decoder, EtmUnit::read(with.units + number), with.level == "2" ? ocsd_EL2 : ocsd_EL1);
		if (!with.kcore.empty())
			walk.load(with.kcore);
		walk.load(with.program);
		walk.run({reinterpret_cast<const std::uint8_t *>(trace.data()), trace.size()});
		decoder.judge_blocks();
		decoder.tell();
		errors += decoder.errors;
	}
	if (!with.steps.empty()) {
		std::cerr << steps.report() << "\n";
		errors += !steps.is_right();
	}
	return errors ? 1 : 0;
}

} // namespace

int main(int argc, char **argv)
{
	const auto with = options({argv + 1, argv + argc});
	if (!with) {
		std::cerr << "usage: hwsim-etm-decode [--kernel-level N] [--code KCORE] [--steps FILE] "
			     "TRUTH-PREFIX.unit RAW-PREFIX ELF [TRUTH-PREFIX.blocks] > branches\n";
		return 2;
	}
	try {
		return run(*with);
	} catch (const std::exception &error) {
		std::cerr << "hwsim-etm-decode: " << error.what() << "\n";
		return 2;
	}
}
