/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which packets follow which in traces, against a table that says of each pair in whose traces it is, and why: ours; those that have nothing to do with us
 * (theirs), of silicon among them. A line of it:
 *
 *   packet | ours, theirs, both, or silicon | packets that may be next | those of them that silicon has, or - | why
 */
#ifndef HWSIM_TOOLS_TRANSITION_TABLE_H
#define HWSIM_TOOLS_TRANSITION_TABLE_H

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace hwsim
{

using Pair = std::pair<std::string, std::string>;
/* Each with the first place it is at. */
using Pairs = std::map<Pair, std::string>;

struct TransitionTable {
	std::set<Pair> pairs;
	std::set<std::string> absent; /* packets that only theirs have: their neighbours are not checked */

	bool silent_of(const Pair &pair) const { return absent.contains(pair.first) || absent.contains(pair.second); }
};

/* The next field, without blanks around it. */
inline std::string field(std::istringstream &line)
{
	std::string text;
	std::getline(line, text, '|');
	const auto from = text.find_first_not_of(" \t");
	return from == text.npos ? "" : text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

inline std::vector<std::string> words(const std::string &text)
{
	std::istringstream list(text);
	return {std::istream_iterator<std::string>(list), {}};
}

/* What the table says of these traces: "ours", "theirs" or "silicon". */
inline TransitionTable read_table(const std::string &path, const std::string &whose)
{
	std::ifstream file(path);
	TransitionTable table;
	if (!file)
		throw std::runtime_error("cannot read " + path);
	for (std::string text; std::getline(file, text);) {
		if (text.empty() || text.starts_with('#'))
			continue;
		std::istringstream line(text);
		const std::string from = field(line), where = field(line), others = field(line),
				  in_silicon = field(line);
		if (field(line).empty())
			throw std::runtime_error(path + ": no reason: " + text);
		const auto next = words(others), seen = in_silicon == "-" ? words("") : words(in_silicon);
		for (const std::string &to : seen)
			if (std::ranges::find(next, to) == next.end())
				throw std::runtime_error(path + ": silicon has what may not be next: " + text);
		if (where == "silicon" && seen != next)
			throw std::runtime_error(path + ": not in silicon either: " + text);
		const bool among = where == whose || (where == "both" && whose != "silicon");
		for (const std::string &to : whose == "silicon" ? seen : among ? next : words(""))
			if (from == "absent")
				table.absent.insert(to);
			else
				table.pairs.insert({from, to});
	}
	return table;
}

/* Prints the pairs that only one of the two has, of packets that silicon has. */
inline void compare_with_silicon(const TransitionTable &silicon, const TransitionTable &ours)
{
	std::set<std::string> packets;
	for (const auto &[from, to] : silicon.pairs)
		packets.insert({from, to});
	std::size_t common = 0;
	for (const Pair &pair : silicon.pairs)
		if (ours.pairs.contains(pair))
			common++;
		else
			std::printf("%s, then %s: silicon's alone\n", pair.first.c_str(), pair.second.c_str());
	for (const Pair &pair : ours.pairs)
		if (!silicon.pairs.contains(pair) && packets.contains(pair.first) && packets.contains(pair.second))
			std::printf("%s, then %s: ours alone\n", pair.first.c_str(), pair.second.c_str());
	std::printf("silicon has %zu pairs, %zu of them ours\n", silicon.pairs.size(), common);
}

/* Says what is wrong with the pairs of traces, "whose" they are; how many that are. */
inline std::size_t judge(const std::string &path, const std::string &whose, const Pairs &pairs)
{
	const TransitionTable table = read_table(path, whose);
	std::size_t wrong = 0;
	const auto say = [&](const Pair &pair, const std::string &what) {
		std::printf("%s, then %s: %s\n", pair.first.c_str(), pair.second.c_str(), what.c_str());
		wrong++;
	};
	for (const auto &[pair, where] : pairs)
		if (!table.pairs.contains(pair) && !table.silent_of(pair))
			say(pair, "not in the table of " + whose + ": " + where);
	for (const Pair &pair : table.pairs)
		if (whose == "theirs" && !pairs.contains(pair))
			say(pair, "in the table of theirs, and not there");
	if (whose == "silicon")
		compare_with_silicon(table, read_table(path, "ours"));
	std::printf("%zu pairs of packets, %zu wrong\n", pairs.size(), wrong);
	return wrong;
}

} // namespace hwsim

#endif
