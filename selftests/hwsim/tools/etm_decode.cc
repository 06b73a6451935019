// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hwsim-etm-decode: a raw trace of an ETE or ETMv4, of a static program, instruction by instruction through OpenCSD: a second opinion
 * beside perf.
 *
 *   hwsim-etm-decode [--code KCORE] TRUTH-PREFIX.unit RAW-PREFIX ELF [TRUTH-PREFIX.blocks] > branches
 *
 * TRUTH-PREFIX.unit.0, .1, ... say what the trace units are, and how they were programmed (EtmUnit). KCORE is a copy of the kernel's code,
 * as "perf record --kcore" makes it. Takes the traces RAW-PREFIX.0, .1, ... of the vCPUs and prints branches and exceptions as
 * hwsim-compare reads them; counts go to standard error. With a log of executed blocks (blocks=on) every instruction has to be in it.
 * Exit status 0: no errors.
 */
#include <cstdio>
#include <iostream>

#include "../base/basic_block_walk.h"
#include "etm_walk.h"

namespace
{

using namespace hwsim;

class Decoder final : public EtmListener
{
public:
	Decoder(unsigned of, BasicBlockWalk *executed) : cpu(of), blocks(executed) {}

	/* What is in the log and not in the trace, and the reverse. */
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
	}
	void error(const std::string &what) override
	{
		constexpr std::size_t shown = 5;
		if (errors++ < shown)
			std::cerr << "cpu " << cpu << ": " << what << "\n";
	}

	unsigned cpu;
	BasicBlockWalk *blocks;
	std::size_t instructions = 0, branches = 0;
};

int run(const std::string &units, const std::string &prefix, const std::vector<std::string> &code,
	const std::string &log)
{
	std::size_t errors = 0;
	for (unsigned cpu = 0;; cpu++) {
		std::ifstream file(prefix + "." + std::to_string(cpu), std::ios::binary);
		if (!file)
			break;
		const std::vector<char> trace{std::istreambuf_iterator<char>(file), {}};
		if (trace.empty())
			continue;
		const auto executed = log.empty() ? std::vector<Step>{} : read_truth(log + "." + std::to_string(cpu));
		BasicBlockWalk blocks(executed);
		Decoder decoder(cpu, log.empty() ? nullptr : &blocks);
		EtmWalk walk(decoder, EtmUnit::read(units + "." + std::to_string(cpu)));
		for (const std::string &path : code)
			walk.load(path);
		walk.run({reinterpret_cast<const std::uint8_t *>(trace.data()), trace.size()});
		decoder.judge_blocks();
		decoder.tell();
		errors += decoder.errors;
	}
	return errors ? 1 : 0;
}

} // namespace

int main(int argc, char **argv)
{
	std::vector<std::string> words(argv + 1, argv + argc), code;
	if (words.size() > 2 && words[0] == "--code") {
		code.push_back(words[1]);
		words.erase(words.begin(), words.begin() + 2);
	}
	if (words.size() != 3 && words.size() != 4) {
		std::cerr << "usage: hwsim-etm-decode [--code KCORE] TRUTH-PREFIX.unit RAW-PREFIX ELF "
			     "[TRUTH-PREFIX.blocks] > branches\n";
		return 2;
	}
	code.push_back(words[2]);
	try {
		return run(words[0], words[1], code, words.size() > 3 ? words[3] : "");
	} catch (const std::exception &error) {
		std::cerr << "hwsim-etm-decode: " << error.what() << "\n";
		return 2;
	}
}
