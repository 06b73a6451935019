// SPDX-License-Identifier: GPL-2.0-only
#include "tap.h"

#include <sstream>

namespace auxpmu::machine
{
namespace
{

/* More comments than that before a failure are left out, the oldest first. */
constexpr std::size_t most_comments = 15;

/* "12 - NAME # SKIP why": NAME */
std::string name_of(std::string rest)
{
	rest = rest.substr(0, rest.find(" # "));
	const std::size_t dash = rest.find_first_not_of("0123456789 ");

	rest.erase(0, dash == std::string::npos ? 0 : dash);
	return rest.starts_with("- ") ? rest.substr(2) : rest;
}

} // namespace

Tap Tap::parse(std::string_view text)
{
	std::istringstream lines{std::string(text)};
	std::vector<std::string> comments;
	Tap tap;

	for (std::string line; std::getline(lines, line);) {
		const std::size_t skip = line.find("# SKIP");

		if (line.starts_with("#")) {
			comments.push_back(line);
			if (comments.size() > most_comments)
				comments.erase(comments.begin());
			continue;
		}
		if (line.starts_with("not ok ")) {
			tap.failed.push_back(name_of(line.substr(7)));
			tap.said.insert(tap.said.end(), comments.begin(), comments.end());
			tap.said.push_back(line);
		} else if (line.starts_with("ok ") && skip != std::string::npos) {
			tap.skipped++;
			tap.reasons.insert(line.substr(std::min(skip + 7, line.size())));
		} else if (line.starts_with("ok ")) {
			tap.passed++;
		}
		comments.clear();
	}
	return tap;
}

} // namespace auxpmu::machine
