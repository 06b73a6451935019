// SPDX-License-Identifier: GPL-2.0-only
#include "program.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <format>

namespace auxpmu::fuzz
{

namespace
{

constexpr const char *types[] = {"synth", "model0", "model1", "clock", "task-clock", "switches", "faults", "dummy",
	"syscall", "cycles", "breakpoint", "other"};
constexpr const char *whose[] = {"self", "actor", "all", "group"};
constexpr const char *cpus[] = {"any", "0", "1", "absent"};
constexpr const char *rings[] = {"full", "overwrite"};
constexpr const char *members[] = {"data_tail", "aux_head", "aux_tail", "aux_offset", "aux_size", "data_head", "lock"};
constexpr const char *actors[] = {"process", "thread", "user-namespace"};
constexpr const char *works[] = {"spin", "syscalls", "pages", "yield", "children"};
constexpr const char *filters[] = {"none", "program", "twice", "stop", "kernel", "file", "garbage"};
constexpr const char *advices[] = {"dofork", "dontfork", "dodump", "free", "willneed"};
constexpr const char *namespaces[] = {"mounts", "names", "processes", "user", "groups"};
constexpr const char *faults[] = {"setup", "orders", "mixed", "add", "arm", "stuck", "overrun", "spurious_irq",
	"late_irq", "lost_irq", "due", "busy", "truncated", "partial", "collision", "slow_stop", "short_sample",
	"collide", "sink", "wrap"};
constexpr const char *attributes[] = {"output", "record", "start_align", "end_align", "granule", "spare", "irq_delay",
	"ram", "rate", "filters", "min_chunk", "max_chunk", "min_buffer", "max_buffer", "overwrite", "name", "format",
	"no_nmi", "cpus", "shared", "polled", "continuous"};
constexpr const char *ways[] = {"gone", "there"};
constexpr const char *marks[] = {"request", "begin", "arm", "disarm", "end", "full", "sample", "off"};

std::array<Grammar, nr_kinds> make_grammars()
{
	std::array<Grammar, nr_kinds> all;
	const auto set = [&all](Kind kind, Grammar one) {
		all[static_cast<unsigned>(kind)] = std::move(one);
	};

	set(Kind::open, {"open",
				{{"event", {}}, {"type", types}, {"config", {}}, {"config1", {}}, {"config2", {}},
					{"period", {}}, {"sample", {}}, {"read", {}}, {"flags", {}}, {"wakeup", {}},
					{"watermark", {}}, {"aux_sample", {}}, {"action", {}}, {"branches", {}},
					{"who", whose}, {"whom", {}}, {"cpu", cpus}, {"leader", {}}, {"output", {}},
					{"open_flags", {}}, {"spoil", {}}},
				false, 25});
	set(Kind::close, {"close", {{"event", {}}}, false, 30});
	set(Kind::dup, {"dup", {{"event", {}}, {"to", {}}}});
	set(Kind::map_data, {"map_data", {{"mapping", {}}, {"event", {}}, {"pages", {}}, {"ring", rings}}, false, 20});
	set(Kind::map_aux,
		{"map_aux", {{"mapping", {}}, {"event", {}}, {"pages", {}}, {"ring", rings}}, false, 15, true});
	set(Kind::unmap, {"unmap", {{"mapping", {}}, {"aux", {}}}, false, 20});
	set(Kind::unmap_part, {"unmap_part", {{"mapping", {}}, {"aux", {}}, {"from", {}}, {"pages", {}}}});
	set(Kind::move, {"move", {{"mapping", {}}, {"to", {}}, {"aux", {}}, {"pages", {}}}});
	set(Kind::protect, {"protect", {{"mapping", {}}, {"aux", {}}, {"how", {}}}});
	set(Kind::advise, {"advise", {{"mapping", {}}, {"aux", {}}, {"advice", advices}}});
	set(Kind::poke, {"poke", {{"mapping", {}}, {"member", members}, {"value", {}}}, false, 20});
	set(Kind::drain, {"drain", {{"mapping", {}}}, false, 20});
	set(Kind::read, {"read", {{"event", {}}, {"bytes", {}}}});
	set(Kind::poll, {"poll", {{"event", {}}}});
	set(Kind::enable, {"enable", {{"event", {}}, {"group", {}}}, false, 30});
	set(Kind::disable, {"disable", {{"event", {}}, {"group", {}}}, false, 30});
	set(Kind::reset, {"reset", {{"event", {}}, {"group", {}}}});
	set(Kind::refresh, {"refresh", {{"event", {}}, {"count", {}}}, false, 20});
	set(Kind::period, {"period", {{"event", {}}, {"value", {}}}, false, 20});
	set(Kind::set_output, {"set_output", {{"event", {}}, {"to", {}}}, false, 5});
	set(Kind::pause_output, {"pause_output", {{"event", {}}, {"pause", {}}}, false, 10});
	set(Kind::filter, {"filter", {{"event", {}}, {"filter", filters}, {"size", {}}}, false, 5, true});
	set(Kind::modify, {"modify", {{"event", {}}, {"member", {}}, {"value", {}}}, false, 15});
	set(Kind::id, {"id", {{"event", {}}}});
	set(Kind::notify, {"notify", {{"event", {}}, {"whom", {}}, {"signal", {}}, {"on", {}}}, false, 20});
	set(Kind::start, {"start", {{"which", {}}, {"as", actors}}, false, 20});
	set(Kind::exec, {"exec", {}, false, 50});
	set(Kind::leave, {"leave", {}, false, 50});
	set(Kind::kill, {"kill", {{"which", {}}}, false, 20});
	set(Kind::unshare, {"unshare", {{"what", namespaces}}});
	set(Kind::work, {"work", {{"what", works}, {"amount", {}}}, false, 90});
	set(Kind::pin, {"pin", {{"mask", {}}}, false, 50});
	set(Kind::emit, {"emit", {{"type", types}, {"cpu", {}}, {"bytes", {}}}, true, 5, true});
	set(Kind::nmi, {"nmi", {{"cpu", {}}, {"count", {}}, {"at", marks}}, true});
	set(Kind::fault, {"fault", {{"type", types}, {"fault", faults}, {"times", {}}}, true, 30, true});
	set(Kind::group_make, {"group_make", {{"group", {}}}, true, 20});
	set(Kind::group_enter, {"group_enter", {{"group", {}}}, true, 15});
	set(Kind::group_remove, {"group_remove", {{"group", {}}}, true});
	set(Kind::model_make, {"model_make", {{"model", {}}}, true, 20, true});
	set(Kind::model_set, {"model_set", {{"model", {}}, {"attribute", attributes}, {"value", {}}}, true, 5, true});
	set(Kind::model_live, {"model_live", {{"model", {}}, {"live", {}}}, true, 20, true});
	set(Kind::model_remove, {"model_remove", {{"model", {}}}, true});
	set(Kind::revoke, {"revoke", {{"model", {}}}, true});
	set(Kind::cpu, {"cpu", {{"online", {}}}, true, 50});
	set(Kind::module, {"module", {{"way", ways}}, true});
	return all;
}

bool take(std::string_view &line, std::string_view &word)
{
	while (line.starts_with(' '))
		line.remove_prefix(1);
	word = line.substr(0, line.find(' '));
	line.remove_prefix(word.size());
	return !word.empty();
}

bool number(std::string_view text, std::uint64_t &value)
{
	const int base = text.starts_with("0x") ? 16 : 10;

	if (base == 16)
		text.remove_prefix(2);
	const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
	return error == std::errc() && end == text.data() + text.size();
}

bool value_of(const Argument &argument, std::string_view text, std::uint64_t &value)
{
	for (std::size_t n = 0; n < argument.words.size(); n++)
		if (text == argument.words[n]) {
			value = n;
			return true;
		}
	/* Of an argument with words a number is one that has none. */
	return number(text, value) && (argument.words.empty() || value >= argument.words.size());
}

bool parse_operation(std::string_view line, Operation &operation)
{
	std::string_view word;

	operation = {};
	if (!take(line, word))
		return false;
	operation.wait = !word.ends_with('&');
	if (!operation.wait)
		word.remove_suffix(1);
	if (word.size() != 1 || word[0] < '0' || word[0] >= static_cast<char>('0' + nr_actors))
		return false;
	operation.actor = static_cast<unsigned>(word[0] - '0');
	if (!take(line, word))
		return false;
	unsigned kind = 0;
	while (kind < nr_kinds && word != grammar(static_cast<Kind>(kind)).name)
		kind++;
	if (kind == nr_kinds)
		return false;
	operation.kind = static_cast<Kind>(kind);
	const auto &arguments = grammar(operation.kind).arguments;
	operation.arguments.assign(arguments.size(), 0);
	while (take(line, word)) {
		const auto equals = word.find('=');
		std::size_t n = 0;

		while (n < arguments.size() && word.substr(0, equals) != arguments[n].name)
			n++;
		if (n == arguments.size() || equals == word.npos ||
			!value_of(arguments[n], word.substr(equals + 1), operation.arguments[n]))
			return false;
	}
	return true;
}

} // namespace

const Grammar &grammar(Kind kind)
{
	static const auto all = make_grammars();

	return all.at(static_cast<unsigned>(kind));
}

/* What is 0 is left out; large numbers are bits or bytes, and read better in hexadecimal. */
std::string to_text(const Operation &operation)
{
	const auto &how = grammar(operation.kind);
	std::string text = std::format("{}{} {}", operation.actor, operation.wait ? "" : "&", how.name);

	for (std::size_t n = 0; n < how.arguments.size(); n++) {
		const auto value = operation.arguments.at(n);

		if (value < how.arguments[n].words.size())
			text += std::format(" {}={}", how.arguments[n].name, how.arguments[n].words[value]);
		else if (value > 4095)
			text += std::format(" {}={:#x}", how.arguments[n].name, value);
		else if (value)
			text += std::format(" {}={}", how.arguments[n].name, value);
	}
	return text;
}

std::string to_text(const Program &program)
{
	std::string text =
		std::format("program of {} paranoid {}\n", program.root ? "root" : "nobody", program.paranoid);

	for (const auto &operation : program.operations)
		text += to_text(operation) + "\n";
	return text;
}

/* Lines that begin with # are for people. */
Result<Program> parse(std::string_view text)
{
	Program program;
	bool begun = false;

	for (unsigned n = 1; !text.empty(); n++) {
		const std::string_view line = text.substr(0, text.find('\n'));

		text.remove_prefix(std::min(text.size(), line.size() + 1));
		if (line.empty() || line.starts_with('#'))
			continue;
		if (!begun) {
			char who[8] = {};

			if (std::sscanf(std::string(line).c_str(), "program of %7s paranoid %d", who,
				    &program.paranoid) != 2 ||
				(std::string_view(who) != "root" && std::string_view(who) != "nobody"))
				return Error{EINVAL, std::format("line {}: not the head of a program: {}", n, line)};
			program.root = std::string_view(who) == "root";
			begun = true;
			continue;
		}
		Operation operation;
		if (!parse_operation(line, operation))
			return Error{EINVAL, std::format("line {}: not an operation: {}", n, line)};
		program.operations.push_back(std::move(operation));
	}
	if (!begun)
		return Error{EINVAL, "no program in it"};
	return program;
}

} // namespace auxpmu::fuzz
