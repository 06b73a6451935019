// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hwsim-decode: a raw trace of a static program, instruction by instruction through libipt: a second opinion beside perf.
 *
 *   hwsim-decode [--code KCORE] RAW-PREFIX ELF [TRUTH-PREFIX.blocks] > branches
 *
 * KCORE is a copy of the kernel's code, as "perf record --kcore" makes it.
 * Takes the traces RAW-PREFIX.0, .1, ... of the vCPUs and prints branches as hwsim-compare reads them; counts go to standard error.
 * With a log of executed blocks (blocks=on) every instruction has to be in it. Exit status 0: no errors.
 */
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "../base/basic_block_walk.h"
#include "image.h"
#include "trace_walk.h"

namespace
{

using namespace hwsim;

class Decoder : public WalkListener
{
public:
	Decoder(unsigned of, BasicBlockWalk *executed) : cpu(of), blocks(executed) {}

	void run(Bytes &trace, pt_image *image)
	{
		TraceWalk(trace, image, *this).run();
		if (blocks && (blocks->differences || blocks->left())) {
			errors++;
			std::cerr << "cpu " << cpu << ": " << blocks->differences
				  << " instructions were not executed where the trace has them, the first at "
				  << std::hex << blocks->first << std::dec
				  << "; blocks that the trace lacks at the end: " << blocks->left() << "\n";
		}
		std::cerr << "cpu " << cpu << ": instructions " << instructions << " branches " << branches
			  << " errors " << errors << "\n";
	}

	std::size_t errors = 0;

private:
	void instruction(const pt_insn &instruction) override
	{
		if (blocks)
			blocks->step(instruction.ip, instruction.size);
		instructions++;
	}
	void branch(std::uint64_t from, std::uint64_t to) override
	{
		std::printf("[%03u] %lx => %lx\n", cpu, from, to);
		branches++;
	}
	void left(std::uint64_t at) override
	{
		if (blocks)
			blocks->leave(at);
	}
	void error(int status, std::uint64_t offset, std::uint64_t behind) override
	{
		errors++;
		std::cerr << "cpu " << cpu << ": " << pt_errstr(pt_errcode(status)) << " at byte " << offset
			  << " behind " << std::hex << behind << std::dec << "\n";
	}

	unsigned cpu;
	BasicBlockWalk *blocks;
	std::size_t instructions = 0, branches = 0;
};

int run(const std::string &prefix, const std::vector<std::string> &code, const std::string &log)
{
	std::size_t errors = 0;
	const Image image = new_image();
	for (const std::string &path : code)
		load(image.get(), path);
	for (unsigned cpu = 0;; cpu++) {
		const std::string path = prefix + "." + std::to_string(cpu);
		if (!std::ifstream(path))
			break;
		Bytes trace = read_file(path);
		if (trace.empty())
			continue;
		const auto executed =
			log.empty() ? std::vector<hwsim::Step>{} : hwsim::read_truth(log + "." + std::to_string(cpu));
		BasicBlockWalk walk(executed);
		Decoder decoder(cpu, log.empty() ? nullptr : &walk);
		decoder.run(trace, image.get());
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
	if (words.size() != 2 && words.size() != 3) {
		std::cerr << "usage: hwsim-decode [--code KCORE] RAW-PREFIX ELF [TRUTH-PREFIX.blocks] > branches\n";
		return 2;
	}
	code.push_back(words[1]);
	try {
		return run(words[0], code, words.size() > 2 ? words[2] : "");
	} catch (const std::exception &error) {
		std::cerr << "hwsim-decode: " << error.what() << "\n";
		return 2;
	}
}
