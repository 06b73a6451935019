/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A random program of A64, executed at random: what is executed is told to a PacketStream, and OpenCSD's decoder must find the same
 * in the bytes. The meaning of the program's words is written down beside them here; the classifier has no part in it.
 */
#ifndef HWSIM_TEST_ETM_SCRIPT_H
#define HWSIM_TEST_ETM_SCRIPT_H

#include <cinttypes>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "../arm64/etm_stream.h"
#include "../tools/opencsd_reader.h"

class EtmScript
{
public:
	using Words = std::vector<std::string>;

	explicit EtmScript(std::uint64_t seed) : random(seed)
	{
		choose_config();
		for (Part &part : parts)
			make_program(part);
	}
	void run(int steps)
	{
		enable();
		while (steps-- > 0)
			step();
		finish();
	}
	const Words &said() const { return words; }
	Words heard() const;
	std::size_t bytes() const { return trace.size(); }

private:
	enum class Kind { plain, conditional, jump, call, indirect, indirect_call, ret, eret, svc, brk, isb, wait };
	struct Instruction {
		std::uint32_t word;
		Kind kind;
		std::uint64_t target = 0;
	};
	struct Part {
		std::uint64_t base;
		std::uint8_t level;
		std::vector<Instruction> instructions{};
		std::vector<std::uint8_t> bytes{};

		bool has(std::uint64_t pc) const { return pc - base < 4 * instructions.size(); }
	};
	using Address = hwsim::arm64::etm::Address;

	std::uint64_t below(std::uint64_t limit) { return random() % limit; }
	bool one_in(std::uint64_t n) { return below(n) == 0; }

	void choose_config();
	void make_program(Part &part);
	Instruction make_instruction(std::uint64_t pc, const Part &part);
	std::uint64_t somewhere(const Part &part) { return part.base + 4 * below(part.instructions.size()); }
	Part &part_of(std::uint64_t at) { return parts[parts[1].has(at)]; }

	void step();
	void execute();
	void branch_executed(const Instruction &instruction);
	void except(hwsim::arm64::etm::Exception type, std::uint64_t return_address);
	void happen();
	void enable();
	void finish();
	void take()
	{
		const auto pending = stream.pending();
		trace.insert(trace.end(), pending.begin(), pending.end());
		stream.taken();
	}

	template <class... Values>
	void say(const char *format, Values... values)
	{
		words.push_back(text(format, values...));
	}
	template <class... Values>
	static std::string text(const char *format, Values... values)
	{
		char line[96];
		std::snprintf(line, sizeof line, format, values...);
		return line;
	}
	static std::string context_text(unsigned level, std::uint32_t vmid, std::uint32_t id)
	{
		return text("context EL%u %" PRIx32 " %" PRIx32, level, vmid, id);
	}
	/* The stream writes a context only if it differs from the one before. */
	void say_context()
	{
		const std::string now = context_text(context.level, *context.vmid, *context.context_id);
		if (now != last_context)
			words.push_back(now);
		last_context = now;
	}
	/* Is the last word the context of a target? The target's packet has it, and is not written if the trace ends there. */
	bool target_is_new() const { return words.back().starts_with("context"); }
	/*
	 * Of what follows the last P0 element that got out only times, counts and events are known. Instrumentation should be, too,
	 * but OpenCSD 1.5.5 looks for markers twice instead of for it (discardElements()).
	 */
	void forget_uncertain()
	{
		Words known(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(certain));
		for (std::size_t i = certain; i < words.size(); i++)
			if (words[i].starts_with("time") || words[i].starts_with("cycles") ||
				words[i].starts_with("event") || words[i] == "marker")
				known.push_back(words[i]);
		words = std::move(known);
	}
	/* A P0 element makes known what was executed up to here. */
	void say_run()
	{
		for (const std::uint64_t at : run_since)
			say("%" PRIx64, at);
		begin_run();
		certain = words.size();
	}
	void begin_run()
	{
		run_since.clear();
		since = pc;
	}
	void count_cycles();

	std::mt19937_64 random;
	hwsim::arm64::etm::StreamConfig config;
	TraceUnit unit;
	bool waits = false; /* WFI and WFE are P0 elements */
	Part parts[2] = {{0x40'0000, 0}, {0xffff'8000'1000'0000, 1}};
	hwsim::arm64::etm::PacketStream stream;
	std::vector<std::uint8_t> trace;

	std::uint64_t pc = 0, since = 0;
	std::vector<std::uint64_t> run_since, calls;
	hwsim::arm64::etm::Context context;
	std::string last_context;
	std::uint64_t time = 0;
	std::uint32_t cycles = 0;
	bool cycles_known = false;
	Words words;
	std::size_t certain = 0; /* number of words that a P0 element has made known */
};

inline void EtmScript::choose_config()
{
	config.ete = one_in(2);
	config.return_stack = one_in(2);
	config.return_depth = 1 + static_cast<unsigned>(below(15));
	config.broadcast = one_in(4);
	if (one_in(2))
		config.cycle_threshold = static_cast<std::uint32_t>(below(40));
	config.timestamp_markers = config.ete && one_in(2);
	config.sync_period = 256u << below(4);
	waits = one_in(2);
	unit.ete = config.ete;
	unit.configr = 0x1 | (config.broadcast ? 1 << 3 : 0) | (config.cycle_threshold ? 1 << 4 : 0) | 1 << 6 | 1 << 7 |
		       1 << 11 | (config.return_stack ? 1 << 12 : 0);
	unit.idr0 |= config.timestamp_markers ? 1 << 23 : 0;
	unit.idr2 |= waits ? 0x8000'0000 : 0;
	context.vmid = 1;
	context.context_id = 1000;
	stream.start(config);
}

inline EtmScript::Instruction EtmScript::make_instruction(std::uint64_t pc, const Part &part)
{
	const std::uint64_t target = somewhere(part);
	const auto words = static_cast<std::uint32_t>(static_cast<std::int64_t>(target - pc) >> 2);
	const auto reg = static_cast<std::uint32_t>(below(31));
	switch (below(24)) {
	case 0:
		return {0x5400'0000 | (words & 0x7ffff) << 5 | reg % 14, Kind::conditional, target};
	case 1:
		return {0x5400'0010 | (words & 0x7ffff) << 5 | reg % 14, Kind::conditional, target};
	case 2:
		return {0xb500'0000 | (words & 0x7ffff) << 5 | reg, Kind::conditional, target};
	case 3:
		return {0x3600'0000 | (words & 0x3fff) << 5 | reg, Kind::conditional, target};
	case 4:
		return {0x1400'0000 | (words & 0x3ff'ffff), Kind::jump, target};
	case 5:
	case 6:
		return {0x9400'0000 | (words & 0x3ff'ffff), Kind::call, target};
	case 7:
		return {0xd61f'0000 | reg << 5, Kind::indirect};
	case 8:
		return {one_in(2) ? 0xd63f'0000 | reg << 5 : 0xd73f'0800 | reg << 5 | 1, Kind::indirect_call};
	case 9:
	case 10:
		return {one_in(2) ? 0xd65f'03c0 : 0xd65f'0bff, Kind::ret};
	case 11:
		if (part.level)
			return {one_in(2) ? 0xd69f'03e0 : 0xd69f'0bff, Kind::eret};
		return {0xd400'0001 | reg << 5, Kind::svc};
	case 12:
		return {0xd420'0000 | reg << 5, Kind::brk};
	case 13:
		return {0xd503'3fdf, Kind::isb};
	case 14:
		return {one_in(2) ? 0xd503'207f : 0xd503'205f, waits ? Kind::wait : Kind::plain};
	default:
		return {0xd503'201f, Kind::plain};
	}
}

inline void EtmScript::make_program(Part &part)
{
	part.instructions.resize(300);
	for (std::size_t i = 0; i < part.instructions.size(); i++) {
		Instruction &made = part.instructions[i] = make_instruction(part.base + 4 * i, part);
		/* The last instruction jumps, so that nothing runs over the end. */
		if (i + 1 == part.instructions.size())
			made = {0x1400'0000 | (static_cast<std::uint32_t>(-static_cast<std::int64_t>(i)) & 0x3ff'ffff),
				Kind::jump, part.base};
		for (unsigned byte = 0; byte < 4; byte++)
			part.bytes.push_back(static_cast<std::uint8_t>(made.word >> 8 * byte));
	}
}

inline void EtmScript::enable()
{
	Part &part = parts[below(2)];
	pc = somewhere(part);
	context.level = part.level;
	calls.clear();
	begin_run();
	stream.enable({pc}, context);
	say("on");
	say_context();
	cycles_known = false;
}

/* Says the cycle count that follows each P0 element, if cycles are counted. */
inline void EtmScript::count_cycles()
{
	if (!config.cycle_threshold || (cycles_known && cycles < *config.cycle_threshold))
		return;
	say("cycles %" PRIu32, cycles_known && cycles <= config.most_cycles ? cycles : 0);
	cycles = 0;
	cycles_known = true;
}

inline void EtmScript::except(hwsim::arm64::etm::Exception type, std::uint64_t return_address)
{
	say_run();
	stream.exception(type, {return_address});
	say("exception %u %" PRIx64, static_cast<unsigned>(type), return_address);
	certain = words.size();
	count_cycles();
	pc = somewhere(parts[1]);
	context.level = 1;
	stream.handler({pc}, context);
	say_context();
	begin_run();
}

inline void EtmScript::branch_executed(const Instruction &instruction)
{
	const std::uint64_t next = pc + 4, from = pc;
	Part &part = part_of(pc);
	const bool taken = instruction.kind != Kind::conditional || one_in(2);
	std::uint64_t to = taken ? instruction.target : next;
	switch (instruction.kind) {
	case Kind::ret:
		to = one_in(4) || calls.empty() ? somewhere(part) : calls.back();
		if (!calls.empty())
			calls.pop_back();
		break;
	case Kind::indirect:
	case Kind::indirect_call:
		to = somewhere(part);
		break;
	case Kind::eret:
		to = somewhere(parts[one_in(4)]);
		break;
	case Kind::isb:
	case Kind::wait:
		to = next;
		break;
	default:
		break;
	}
	if (instruction.kind == Kind::call || instruction.kind == Kind::indirect_call)
		calls.push_back(next);
	run_since.push_back(from);
	pc = to;
	say_run();
	switch (instruction.kind) {
	case Kind::conditional:
		if (taken)
			stream.direct({to});
		else
			stream.not_taken();
		break;
	case Kind::jump:
		stream.direct({to});
		break;
	case Kind::call:
		stream.call({to}, {next});
		break;
	case Kind::indirect:
		stream.indirect({to});
		break;
	case Kind::indirect_call:
		stream.indirect_call({to}, {next});
		break;
	case Kind::ret:
		stream.ret({to});
		break;
	case Kind::eret:
		context.level = part_of(to).level;
		stream.exception_return({to}, context);
		/* ETE has no packet for it, and OpenCSD reports it with the instruction; ETMv4 has one after the address. */
		if (config.ete) {
			say("eret");
			certain = words.size();
		}
		say_context(); /* with the address, which is in front of the cycles */
		if (!config.ete)
			say("eret");
		count_cycles();
		return;
	default:
		stream.executed();
		break;
	}
	count_cycles();
}

inline void EtmScript::execute()
{
	using hwsim::arm64::etm::Exception;
	const Part &part = part_of(pc);
	const Instruction &instruction = part.instructions[(pc - part.base) / 4];
	switch (instruction.kind) {
	case Kind::plain:
		run_since.push_back(pc);
		pc += 4;
		break;
	case Kind::svc:
		run_since.push_back(pc);
		except(Exception::call, pc + 4);
		break;
	case Kind::brk:
		except(Exception::instruction_debug, pc);
		break;
	default:
		branch_executed(instruction);
		break;
	}
}

/* Something happens independently of the program. */
inline void EtmScript::happen()
{
	using hwsim::arm64::etm::Exception;
	switch (below(8)) {
	case 0:
		except(one_in(2) ? Exception::irq : Exception::data_fault, pc);
		break;
	case 1:
		time += random() >> below(64);
		stream.timestamp(time);
		if (config.timestamp_markers)
			say("marker");
		say("time %" PRIx64 " %" PRIu32, time,
			config.cycle_threshold && cycles_known ? std::min(cycles, config.most_cycles) : 0);
		break;
	case 2: {
		const auto events = static_cast<std::uint8_t>(1 + below(15));
		stream.event(events);
		say("event %u", events);
		break;
	}
	case 3:
		if (!run_since.empty())
			break;
		context.context_id = 1000 + static_cast<std::uint32_t>(below(3));
		context.vmid = static_cast<std::uint32_t>(below(3));
		stream.context(context);
		say_context();
		break;
	case 4: /* what was executed since the last P0 element is lost */
		if (!one_in(4) || target_is_new())
			break;
		stream.disable();
		enable();
		break;
	case 5:
		if (!config.ete)
			break;
		stream.instrumentation(context.level, time);
		say("instrumentation %u %" PRIx64, context.level, time);
		break;
	case 6: {
		if (!one_in(8) || target_is_new())
			break;
		stream.disable();
		take();
		forget_uncertain();
		last_context.clear();
		stream.begin_overflow();
		const hwsim::arm64::etm::Context elsewhere;
		for (unsigned n = static_cast<unsigned>(below(40)); n--;) {
			stream.call({somewhere(parts[0])}, {somewhere(parts[0])});
			stream.ret({somewhere(parts[0])});
			stream.context(elsewhere);
			stream.timestamp(random());
			stream.exception(Exception::irq, {somewhere(parts[0])});
			stream.handler({somewhere(parts[1])}, elsewhere);
		}
		stream.end_overflow();
		enable();
		words[words.size() - 2] = "overflow";
		break;
	}
	default:
		break;
	}
}

inline void EtmScript::step()
{
	const auto passed = static_cast<std::uint32_t>(one_in(200) ? below(10'000) : below(20));
	stream.cycles(passed);
	cycles = std::min(cycles + passed, config.most_cycles + 1);
	if (one_in(10))
		happen();
	execute();
	if (stream.sync_due())
		stream.sync({since}, context);
	take();
}

/* The last exception makes known all that came before. */
inline void EtmScript::finish()
{
	except(hwsim::arm64::etm::Exception::irq, pc);
	stream.disable();
	stream.stop();
	take();
	words.resize(certain + (words.size() > certain && words[certain].starts_with("cycles") ? 1 : 0));
}

inline EtmScript::Words EtmScript::heard() const
{
	OpenCsd decoder(unit, true);
	for (const Part &part : parts)
		decoder.program(part.base, part.bytes);
	decoder.process(trace);
	Words all;
	std::string last;
	for (const ocsd_generic_trace_elem &element : decoder.elements()) {
		switch (number(element.elem_type)) {
		case OCSD_GEN_TRC_ELEM_NO_SYNC:
			last.clear();
			break;
		case OCSD_GEN_TRC_ELEM_EO_TRACE:
			break;
		case OCSD_GEN_TRC_ELEM_TRACE_ON:
			all.push_back(element.trace_on_reason == TRACE_ON_OVERFLOW ? "overflow" : "on");
			break;
		case OCSD_GEN_TRC_ELEM_PE_CONTEXT: {
			const std::string now = context_text(static_cast<unsigned>(element.context.exception_level),
				element.context.vmid, element.context.context_id);
			if (now != last)
				all.push_back(now);
			last = now;
			break;
		}
		case OCSD_GEN_TRC_ELEM_INSTR_RANGE:
			for (std::uint64_t at = element.st_addr; at < element.en_addr; at += 4)
				all.push_back(text("%" PRIx64, at));
			break;
		case OCSD_GEN_TRC_ELEM_EXCEPTION:
			all.push_back(text("exception %u %" PRIx64, element.exception_number,
				static_cast<std::uint64_t>(element.en_addr)));
			break;
		case OCSD_GEN_TRC_ELEM_EXCEPTION_RET:
			all.push_back("eret");
			break;
		case OCSD_GEN_TRC_ELEM_TIMESTAMP:
			all.push_back(text("time %" PRIx64 " %" PRIu32, element.timestamp,
				element.has_cc ? element.cycle_count : 0));
			break;
		case OCSD_GEN_TRC_ELEM_CYCLE_COUNT:
			all.push_back(text("cycles %" PRIu32, element.cycle_count));
			break;
		case OCSD_GEN_TRC_ELEM_EVENT:
			all.push_back(text("event %u", static_cast<unsigned>(element.trace_event.ev_number)));
			break;
		case OCSD_GEN_TRC_ELEM_SYNC_MARKER:
			all.push_back("marker");
			break;
		case OCSD_GEN_TRC_ELEM_INSTRUMENTATION:
			all.push_back(text("instrumentation %u %" PRIx64, static_cast<unsigned>(element.sw_ite.el),
				element.sw_ite.value));
			break;
		default:
			all.push_back(text("element %u", number(element.elem_type)));
			break;
		}
	}
	return all;
}

#endif
