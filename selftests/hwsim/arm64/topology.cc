// SPDX-License-Identifier: GPL-2.0-or-later
#include "topology.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>

#include "../base/number.h"

namespace hwsim::arm64
{
namespace
{

using Kind = Topology::Kind;
using Node = Topology::Node;

constexpr std::array<std::pair<std::string_view, Kind>, 9> kinds{{{"ete", Kind::ete}, {"trbe", Kind::trbe},
	{"etm", Kind::etm}, {"funnel", Kind::funnel}, {"replicator", Kind::replicator}, {"etf", Kind::etf},
	{"etb", Kind::etb}, {"etr", Kind::etr}, {"catu", Kind::catu}}};

std::optional<Kind> kind_of(std::string_view word)
{
	const auto found = std::ranges::find(kinds, word, &decltype(kinds)::value_type::first);
	return found == kinds.end() ? std::nullopt : std::optional(found->second);
}

bool is_of_cpu(Kind kind)
{
	return kind == Kind::ete || kind == Kind::trbe || kind == Kind::etm;
}

constexpr unsigned most_interrupts = 32;

bool is_tmc(Kind kind)
{
	return kind == Kind::etr || kind == Kind::etf || kind == Kind::etb;
}

bool is_in_memory(const Node &node)
{
	return is_of_cpu(node.kind) ? node.kind == Kind::etm && node.memory : true;
}

unsigned outputs_of(Kind kind)
{
	switch (kind) {
	case Kind::replicator:
		return 2;
	case Kind::etm:
	case Kind::funnel:
	case Kind::etf:
	case Kind::etr: /* to its CATU */
		return 1;
	default:
		return 0;
	}
}

unsigned inputs_of(Kind kind)
{
	constexpr unsigned of_funnel = 8;
	switch (kind) {
	case Kind::funnel:
		return of_funnel;
	case Kind::replicator:
	case Kind::etf:
	case Kind::etb:
	case Kind::etr:
	case Kind::catu:
		return 1;
	default:
		return 0;
	}
}

/* An "out=NAME[:PORT]", to be resolved when all components are known. */
struct Wish {
	std::size_t from;
	std::string to;
};

class Reader
{
public:
	explicit Reader(unsigned count) : cpus(count) {}

	Topology read(std::string_view text)
	{
		std::istringstream all{std::string(text)};
		std::string line;
		while (std::getline(all, line)) {
			number++;
			const auto comment = line.find('#');
			std::istringstream words(line.substr(0, comment));
			std::vector<std::string> list{std::istream_iterator<std::string>(words), {}};
			if (!list.empty())
				take(list);
		}
		connect();
		place();
		return std::move(made);
	}

private:
	[[noreturn]] void refuse(const std::string &what) const
	{
		throw std::runtime_error("line " + std::to_string(number) + " of the topology: " + what);
	}
	static std::string with_number(std::string text, unsigned cpu)
	{
		for (auto at = text.find('@'); at != text.npos; at = text.find('@'))
			text.replace(at, 1, std::to_string(cpu));
		return text;
	}
	void take(const std::vector<std::string> &words)
	{
		if (std::ranges::find(words, "each") == words.end() || words[0] == "processors") {
			add(words);
			return;
		}
		for (unsigned cpu = 0; cpu < cpus; cpu++) {
			std::vector<std::string> one;
			for (const std::string &word : words)
				if (word != "each")
					one.push_back(with_number(word, cpu));
			if (const auto kind = kind_of(words[0]); kind && is_of_cpu(*kind))
				one.push_back("cpu=" + std::to_string(cpu));
			add(one);
		}
	}
	void add(const std::vector<std::string> &words)
	{
		if (words[0] == "processors") {
			describe_processors(words);
			return;
		}
		const auto kind = kind_of(words[0]);
		if (!kind)
			refuse("no component " + words[0]);
		if (words.size() < 2 || words[1].find('=') != std::string::npos)
			refuse(words[0] + " takes a name");
		if (!by_name.emplace(words[1], made.nodes.size()).second)
			refuse("there are two components " + words[1]);
		Node node{words[1], *kind, {}, false, false, false, false, {}, {}, {}};
		for (std::size_t i = 2; i < words.size(); i++)
			describe(node, words[i]);
		if (is_of_cpu(node.kind) != node.cpu.has_value())
			refuse(node.name + (node.cpu ? " belongs to no processor" : " takes cpu="));
		made.nodes.push_back(node);
	}
	void describe_processors(const std::vector<std::string> &words)
	{
		if (words.size() == 1)
			refuse("processors takes el2 or midr=");
		for (std::size_t i = 1; i < words.size(); i++) {
			const auto midr =
				words[i].starts_with("midr=") ? hwsim::number(words[i].substr(5)) : std::nullopt;
			if (words[i] == "el2")
				made.el2 = true;
			else if (midr && *midr <= UINT32_MAX)
				made.midr = static_cast<std::uint32_t>(*midr);
			else
				refuse("processors are not " + words[i]);
		}
	}
	void describe(Node &node, const std::string &word)
	{
		if (word.starts_with("cpu=")) {
			const auto cpu = hwsim::number(word.substr(4));
			if (!cpu || *cpu >= cpus)
				refuse("there are " + std::to_string(cpus) + " processors, none is " + word.substr(4));
			node.cpu = static_cast<unsigned>(*cpu);
		} else if (word.starts_with("out=")) {
			wishes.push_back({made.nodes.size(), word.substr(4)});
		} else if (word == "memory" && node.kind == Kind::etm) {
			node.memory = true;
		} else if (word == "skip-power-up" && node.memory) {
			node.skip_power_up = true;
		} else if (word == "loses-context" && (node.kind == Kind::ete || node.kind == Kind::etm)) {
			/* The device tree says so; it does when it is told to (Arm64Vcpu::lose_context()). */
		} else if (word == "scatter-gather" && node.kind == Kind::etr) {
			node.scatter_gather = true;
		} else if (word == "save-restore" && (node.kind == Kind::etr || node.kind == Kind::etf)) {
			node.save_restore = true;
		} else if (word == "interrupt" && is_tmc(node.kind)) {
			node.interrupt = interrupts++;
			if (interrupts > most_interrupts)
				refuse("there are " + std::to_string(most_interrupts) +
					" interrupts, and none left for " + node.name);
		} else {
			refuse(node.name + " is not " + word);
		}
	}
	void connect()
	{
		std::map<std::size_t, std::vector<bool>> taken;
		for (const Wish &wish : wishes) {
			const auto colon = wish.to.find(':');
			const auto found = by_name.find(wish.to.substr(0, colon));
			Node &from = made.nodes[wish.from];
			if (found == by_name.end())
				throw std::runtime_error(
					"the topology has no " + wish.to + ", where " + from.name + " leads");
			const Node &to = made.nodes[found->second];
			auto &inputs = taken[found->second];
			inputs.resize(inputs_of(to.kind));
			std::size_t port = static_cast<std::size_t>(std::ranges::find(inputs, false) - inputs.begin());
			if (colon != wish.to.npos)
				port = hwsim::number(wish.to.substr(colon + 1)).value_or(inputs.size());
			if (port >= inputs.size() || inputs[port])
				throw std::runtime_error(
					"the topology: " + to.name + " has no input left for " + from.name);
			if (from.outputs.size() >= outputs_of(from.kind) ||
				(to.kind == Kind::catu) != (from.kind == Kind::etr))
				throw std::runtime_error("the topology: " + from.name + " does not lead to " + to.name);
			inputs[port] = true;
			from.outputs.push_back({found->second, static_cast<unsigned>(port)});
		}
	}
	void place()
	{
		unsigned page = 0;
		for (Node &node : made.nodes)
			if (is_in_memory(node))
				node.page = page++;
	}

	const unsigned cpus;
	unsigned number = 0, interrupts = 0;
	Topology made;
	std::map<std::string, std::size_t> by_name;
	std::vector<Wish> wishes;
};

} // namespace

Topology Topology::read(std::string_view text, unsigned cpus)
{
	return Reader(cpus).read(text);
}

const Topology::Node *Topology::of_cpu(Kind kind, unsigned cpu) const
{
	const auto found =
		std::ranges::find_if(nodes, [&](const Node &node) { return node.kind == kind && node.cpu == cpu; });
	return found == nodes.end() ? nullptr : &*found;
}

unsigned Topology::pages() const
{
	return static_cast<unsigned>(
		std::ranges::count_if(nodes, [](const Node &node) { return node.page.has_value(); }));
}

} // namespace hwsim::arm64
