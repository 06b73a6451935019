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
#include <fstream>
#include <intel-pt.h>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "../base/block_walk.h"
#include "image.h"

namespace
{

using namespace hwsim;

class Decoder
{
public:
	Decoder(unsigned of, Bytes &trace, pt_image *image, hwsim::BlockWalk *executed)
		: cpu(of), blocks(executed), decoder(nullptr, pt_insn_free_decoder)
	{
		pt_config config;
		pt_config_init(&config);
		config.begin = trace.data();
		config.end = trace.data() + trace.size();
		decoder.reset(pt_insn_alloc_decoder(&config));
		if (!decoder || pt_insn_set_image(decoder.get(), image) < 0)
			throw std::runtime_error("libipt: no decoder");
	}

	void run()
	{
		int status;
		while ((status = pt_insn_sync_forward(decoder.get())) >= 0) {
			status = walk(status);
			if (status == -pte_eos)
				break;
			errors++;
			std::uint64_t offset = 0;
			pt_insn_get_offset(decoder.get(), &offset);
			std::cerr << "cpu " << cpu << ": " << pt_errstr(pt_errcode(status)) << " at byte " << offset
				  << " behind " << std::hex << last.ip << std::dec << "\n";
		}
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
	/* From a PSB, which may have had events, to the end or to an error. */
	int walk(int status)
	{
		flowing = false;
		for (;;) {
			while (status & pts_event_pending) {
				pt_event event;
				status = pt_insn_event(decoder.get(), &event, sizeof event);
				if (status < 0)
					return status;
				tell(event);
			}
			if (status & pts_eos)
				return -pte_eos;
			pt_insn instruction;
			status = pt_insn_next(decoder.get(), &instruction, sizeof instruction);
			if (status < 0)
				return status;
			arrive(instruction.ip);
			if (blocks)
				blocks->step(instruction.ip, instruction.size);
			last = instruction;
			flowing = true;
			instructions++;
		}
	}
	void tell(const pt_event &event)
	{
		/* PSB+ repeats where we are; nothing has happened. */
		if (event.status_update)
			return;
		switch (event.type) {
		case ptev_enabled:
			branch(0, event.variant.enabled.ip);
			flowing = false;
			break;
		case ptev_disabled:
			branch(last.ip, event.ip_suppressed ? 0 : event.variant.disabled.ip);
			flowing = false;
			break;
		case ptev_async_disabled:
			arrive(event.variant.async_disabled.at);
			if (blocks)
				blocks->leave(event.variant.async_disabled.at);
			branch(event.variant.async_disabled.at,
				event.ip_suppressed ? 0 : event.variant.async_disabled.ip);
			flowing = false;
			break;
		case ptev_async_branch:
			arrive(event.variant.async_branch.from);
			branch(event.variant.async_branch.from, event.variant.async_branch.to);
			flowing = false;
			break;
		case ptev_overflow:
			flowing = false;
			break;
		default:
			break;
		}
	}
	/* At an instruction, or at an interrupt in front of it. A jump to the next instruction is a branch, too. */
	void arrive(std::uint64_t ip)
	{
		if (flowing && (ip != last.ip + last.size || always_branches(last.iclass)))
			branch(last.ip, ip);
	}
	static bool always_branches(pt_insn_class kind)
	{
		switch (kind) {
		case ptic_call:
		case ptic_return:
		case ptic_jump:
		case ptic_far_call:
		case ptic_far_return:
		case ptic_far_jump:
		case ptic_indirect:
			return true;
		default:
			return false;
		}
	}
	void branch(std::uint64_t from, std::uint64_t to)
	{
		std::printf("[%03u] %lx => %lx\n", cpu, from, to);
		branches++;
	}

	unsigned cpu;
	hwsim::BlockWalk *blocks;
	std::unique_ptr<pt_insn_decoder, void (*)(pt_insn_decoder *)> decoder;
	pt_insn last{};
	bool flowing = false; /* the next instruction follows the last one, or a branch led to it */
	std::size_t instructions = 0, branches = 0;
};

int run(const std::string &prefix, const std::vector<std::string> &code, const std::string &log)
{
	std::size_t errors = 0;
	const Image image(pt_image_alloc(nullptr), pt_image_free);
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
		hwsim::BlockWalk walk(executed);
		Decoder decoder(cpu, trace, image.get(), log.empty() ? nullptr : &walk);
		decoder.run();
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
