// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libipt's own packet tests, whose authors have the hardware: programs in assembly, with the packets that processors generate for
 * them. They are extracted from Debian's package of its sources when the tests are run (selftests/vm/libipt-tests), and are not in
 * this tree.
 */
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "../x86/classify.h"
#include "../x86/pt_packet.h"
#include "pt_machine.h"

namespace
{

using Bytes = std::vector<std::uint8_t>;
using Words = std::vector<std::string>;

std::filesystem::path tests()
{
	if (!std::filesystem::exists(LIBIPT_TESTS))
		SKIP("built without libipt's sources");
	return LIBIPT_TESTS;
}

/* The names of all tests that have a file with this extension, sorted. */
std::vector<std::string> names_with(const std::string &extension)
{
	std::vector<std::string> names;
	for (const auto &file : std::filesystem::directory_iterator(tests()))
		if (file.path().extension() == extension)
			names.push_back(file.path().stem());
	std::ranges::sort(names);
	return names;
}

Bytes trace_of(const std::string &name)
{
	std::ifstream file(tests() / (name + ".pt"), std::ios::binary);
	return {std::istreambuf_iterator<char>(file), {}};
}

Words lines_of(const std::string &name)
{
	std::ifstream file(tests() / name);
	Words lines;
	for (std::string line; std::getline(file, line);)
		lines.push_back(line);
	return lines;
}

/* None if the trace cannot be read: some tests have packets that no processor writes, with reserved encodings or cut short. */
std::optional<std::vector<pt_packet>> readable(const Bytes &trace)
{
	try {
		return read_packets(trace);
	} catch (const std::runtime_error &) {
		return {};
	}
}

// --- as bytes --------------------------------------------------------------------------

/* The packet as we write it; none if we do not write such packets. */
std::optional<Packet> written(const pt_packet &packet)
{
	const auto &payload = packet.payload;
	const auto of_ip = [&](IpKind kind) {
		return ip(kind, static_cast<IpBytes>(payload.ip.ipc), payload.ip.ip);
	};
	switch (packet.type) {
	case ppt_psb:
		return psb();
	case ppt_psbend:
		return psbend();
	case ppt_ovf:
		return overflow();
	case ppt_stop:
		return trace_stop();
	case ppt_fup:
		return of_ip(IpKind::fup);
	case ppt_tip:
		return of_ip(IpKind::tip);
	case ppt_tip_pge:
		return of_ip(IpKind::tip_pge);
	case ppt_tip_pgd:
		return of_ip(IpKind::tip_pgd);
	case ppt_tnt_8:
		return tnt(payload.tnt.payload, payload.tnt.bit_size);
	case ppt_tnt_64:
		/* We write a long TNT only if a short one is too small. */
		return payload.tnt.bit_size > short_tnt_bits
			       ? std::optional(tnt(payload.tnt.payload, payload.tnt.bit_size))
			       : std::nullopt;
	case ppt_mode:
		if (number(payload.mode.leaf) != pt_mol_exec)
			return {};
		return mode_exec(
			static_cast<std::uint8_t>(payload.mode.bits.exec.csl | payload.mode.bits.exec.csd << 1 |
						  payload.mode.bits.exec.iflag << 2));
	case ppt_pip:
		/* NR is never set, because the machine runs no VMX guests. */
		return payload.pip.nr ? std::nullopt : std::optional(pip(payload.pip.cr3));
	case ppt_tsc:
		return tsc(payload.tsc.tsc);
	case ppt_tma:
		return tma(payload.tma.ctc, payload.tma.fc);
	case ppt_mtc:
		return mtc(payload.mtc.ctc);
	case ppt_cbr:
		return cbr(payload.cbr.ratio);
	case ppt_cyc:
		return cyc(payload.cyc.value);
	case ppt_ptw:
		return ptwrite(payload.ptw.payload, payload.ptw.plc, payload.ptw.ip);
	case ppt_cfe:
		return control_flow_event(
			static_cast<ControlFlowEvent>(number(payload.cfe.type)), payload.cfe.vector, payload.cfe.ip);
	case ppt_evd:
		return number(payload.evd.type) == pt_evd_cr2 ? std::optional(event_data(payload.evd.payload))
							      : std::nullopt;
	default:
		return {};
	}
}

// --- as the traces of programs ------------------------------------------------------------

constexpr std::uint64_t handler = 0xffff'ffff'8100'0000; /* in the kernel, which is not traced */

/* The program's words: not the time, nor the places where a decoder may begin, nor the mode, which never changes. */
Words flow_words(const std::string &trace)
{
	static const std::set<std::string> others = {"PSB", "TSC", "TMA", "MTC", "CBR", "64", "64i", "32"};
	Words words;
	std::istringstream all(trace);
	for (std::string word; all >> word;)
		if (!others.contains(word) && !word.starts_with("at:"))
			words.push_back(word);
	return words;
}

std::uint64_t address_in(const std::string &word)
{
	const auto colon = word.find(':');
	return colon == word.npos ? 0 : std::stoull(word.substr(colon + 1), nullptr, 16);
}

/*
 * A program, executed instruction by instruction as libipt's test says, for the tracker and a trace unit. Only the packets of the
 * test say what interrupts the program: a FUP in front of another packet says where; the program leaves the filters if the packet
 * that ends the trace has an address, and otherwise enters the kernel.
 */
class Replay
{
public:
	explicit Replay(const std::string &name)
	{
		for (const std::string &line : lines_of(name + ".code")) {
			std::istringstream words(line);
			std::uint64_t address;
			words >> std::hex >> address;
			for (unsigned byte; words >> byte;)
				code[address].push_back(static_cast<std::uint8_t>(byte));
		}
		steps = lines_of(name + ".exp");
		const std::string trace = in_words(trace_of(name));
		theirs = flow_words(trace);
		if (const auto begin = trace.find("at:"); begin != trace.npos)
			synchronized = std::stoull(trace.substr(begin + 3), nullptr, 16);
		for (std::size_t i = 0; i < theirs.size(); i++)
			if (theirs[i].starts_with("PGD"))
				ends.push_back({i && theirs[i - 1].starts_with("FUP:") ? address_in(theirs[i - 1]) : 0,
					address_in(theirs[i])});
			else if (i && theirs[i - 1].starts_with("FUP:") && theirs[i].starts_with("TIP:"))
				interruptions.push_back(address_in(theirs[i - 1]));
		uncompressed = name.find("ret_uncompressed") != name.npos;
	}

	/* Can our trace unit do all that this test has, and does the test say all that a replay needs? */
	bool possible() const
	{
		static const std::set<std::string> known = {"[disabled]", "[enabled]", "[resumed]", "[interrupt]"};
		static const std::array words = {"PGE:", "PGD", "TIP:", "FUP:", "T", "N"};
		if (steps.empty() || theirs.empty())
			return false;
		for (const std::string &step : steps)
			if (!known.contains(step) && !(is_address(step) && code.contains(at(step))))
				return false;
		for (const std::string &word : theirs)
			if (std::ranges::none_of(words, [&](const char *start) { return word.starts_with(start); }))
				return false;
		const auto count = [&](const char *step) {
			return static_cast<std::size_t>(std::ranges::count(steps, step));
		};
		return count("[disabled]") == ends.size() && count("[interrupt]") == interruptions.size() &&
		       !inside_filter();
	}

	Words run()
	{
		start();
		/* Where PSB+ says, if no instruction comes first. */
		if (!is_address(steps.front()) && synchronized)
			enter(user(synchronized));
		for (const std::string &step : steps) {
			if (is_address(step))
				arrive(at(step));
			else if (step == "[disabled]")
				leave();
			else if (step == "[interrupt]")
				interrupted = true;
			else
				tracker.forget();
		}
		Words ours = flow_words(machine.said());
		/* The test may begin and end in the middle of a trace. */
		if (!theirs.front().starts_with("PGE:") && !ours.empty())
			ours.erase(ours.begin());
		if (ours.size() >= 2 && ours[ours.size() - 2] == "FUP:off")
			ours.resize(ours.size() - 2);
		return ours;
	}
	const Words &expected() const { return theirs; }
	std::uint64_t impossible() const { return tracker.statistics().impossible; }

private:
	struct End {
		std::uint64_t from, to; /* 0: not told */
	};

	static bool is_address(const std::string &step)
	{
		return step.size() == 16 && step.find_first_not_of("0123456789abcdef") == step.npos;
	}
	static std::uint64_t at(const std::string &step) { return std::stoull(step, nullptr, 16); }

	/* The range to trace, if filters() says that not all is traced. */
	std::pair<std::uint64_t, std::uint64_t> filter() const
	{
		std::uint64_t low = ~std::uint64_t{0}, high = 0;
		for (const std::string &step : steps)
			if (is_address(step)) {
				low = std::min(low, at(step));
				high = std::max(high, at(step));
			}
		if (synchronized) {
			low = std::min(low, synchronized);
			high = std::max(high, synchronized);
		}
		return {low, high};
	}
	bool filters() const
	{
		return std::ranges::any_of(ends, [](const End &end) { return end.to; });
	}
	/* Does the program leave to an address within that range? Then the test needs more than one range. */
	bool inside_filter() const
	{
		const auto [low, high] = filter();
		return std::ranges::any_of(ends, [&](const End &end) { return end.to >= low && end.to <= high; });
	}

	void start()
	{
		std::uint64_t more = ctl::user | (uncompressed ? ctl::dis_retc : 0);
		if (filters()) {
			machine.write(msr::addr0_a, filter().first);
			machine.write(msr::addr0_a + 1, filter().second);
			more |= std::uint64_t{range_filter} << ctl::addr_cfg(0).shift;
		}
		machine.start(more);
	}

	const BasicBlock &block(Place where)
	{
		static const Bytes nop = {0x90};
		const auto found = code.find(where.pc);
		const Bytes &bytes = found == code.end() ? nop : found->second;
		const Instruction instruction = classify(bytes);
		BasicBlock &made = blocks.emplace_back();
		made.address = where.pc;
		made.length = static_cast<std::uint32_t>(bytes.size());
		made.kind = instruction.kind;
		made.displacement = instruction.displacement;
		made.level = where.level;
		made.mode = where.mode;
		made.sizes.push_back(static_cast<std::uint8_t>(bytes.size()));
		return made;
	}
	void enter(Place where)
	{
		last = &block(where);
		tracker.enter(*last, true, [&] { return where.pc; });
	}
	/* Something interrupts the program at "from". An instruction there may be the cause; the test does not list it then. */
	void tear(std::uint64_t from, Place to)
	{
		const BasicBlock &there = block(user(from));
		if (there.kind == Branch::software_interrupt)
			enter(user(from));
		tracker.discontinuity(user(from), to, true, Cause::fault);
	}
	void arrive(std::uint64_t pc)
	{
		if (interrupted) {
			tear(interruptions[interruption++], user(pc));
			interrupted = false;
		}
		enter(user(pc));
	}
	void leave()
	{
		const End &here = ends[end++];
		const Place to = here.to ? user(here.to) : kernel(handler);
		if (here.from) {
			tear(here.from, to);
			return;
		}
		/* The program leaves by the last instruction, or by the next one, which the test does not list then. */
		if (last && !is_branch(last->kind))
			enter(user(last->address + last->length));
		enter(to);
		tracker.forget();
	}

	std::map<std::uint64_t, Bytes> code;
	Words steps, theirs;
	std::vector<End> ends;
	std::vector<std::uint64_t> interruptions;
	std::size_t end = 0, interruption = 0;
	std::uint64_t synchronized = 0; /* where PSB+ says that the program is, or 0 */
	bool uncompressed = false, interrupted = false;
	Machine machine;
	FlowTracker tracker{machine.unit};
	std::deque<BasicBlock> blocks; /* kept here, because the tracker does not copy them */
	const BasicBlock *last = nullptr;
};

/* Tests of errata have names like "skl014-call", from the specification updates of processors. This machine has no errata. */
bool of_erratum(const std::string &name)
{
	static const std::set<std::string> processors = {"apl", "bdm", "skd", "skl", "skz"};
	return processors.contains(name.substr(0, 3)) && name.size() > 3 && std::isdigit(name[3]);
}

std::string text(const Words &words)
{
	std::string all;
	for (const std::string &word : words)
		all += word + " ";
	return all;
}

} // namespace

TEST_CASE("packets are the bytes that libipt's own compiler of tests makes of them")
{
	std::set<int> types;
	std::size_t packets = 0;
	for (const std::string &name : names_with(".pt")) {
		const Bytes trace = trace_of(name);
		std::size_t at = 0;
		for (const pt_packet &packet : readable(trace).value_or(std::vector<pt_packet>{})) {
			const std::size_t from = at;
			at += packet.size;
			const auto ours = written(packet);
			if (!ours)
				continue;
			CAPTURE(name, from, packet.type);
			const auto bytes = ours->data();
			CHECK(Bytes(bytes.begin(), bytes.end()) ==
				Bytes(trace.begin() + static_cast<std::ptrdiff_t>(from),
					trace.begin() + static_cast<std::ptrdiff_t>(at)));
			types.insert(packet.type);
			packets++;
		}
	}
	CHECK(types.size() == 20);
	CHECK(packets > 1000);
}

TEST_CASE("programs of libipt's own tests have the packets that are written there")
{
	static const std::set<std::string> otherwise_here = {
		/* SDM, "Deferred TIPs": a processor may defer a TIP until a TNT is full. Ours never does. */
		"call_indirect_deferred-ret_compressed",
		/* MOV CR3 ends a trace only with a CR3 filter, which the test does not mention. */
		"tip_pgd_noip-mov_cr3",
	};
	std::size_t replayed = 0;
	for (const std::string &name : names_with(".exp")) {
		if (of_erratum(name) || otherwise_here.contains(name) || !readable(trace_of(name)))
			continue;
		Replay replay(name);
		if (!replay.possible())
			continue;
		CAPTURE(name);
		const Words ours = replay.run();
		CHECK(text(ours) == text(replay.expected()));
		CHECK(replay.impossible() == 0);
		replayed++;
	}
	CHECK(replayed >= 29);
}
