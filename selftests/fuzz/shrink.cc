// SPDX-License-Identifier: GPL-2.0-only
#include "shrink.h"

#include <algorithm>

namespace auxpmu::fuzz
{

namespace
{

Program without(const Program &program, std::size_t from, std::size_t count)
{
	Program rest = program;
	const auto begin = rest.operations.begin() + static_cast<std::ptrdiff_t>(from);

	rest.operations.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
	return rest;
}

/* Leaves out each stretch of so many operations that can go; from the end, where what came after the failure is. */
bool pass(Shrunk &shrunk, std::size_t stretch, const std::function<bool(const Program &)> &fails, unsigned most_tries)
{
	bool helped = false;

	for (std::size_t end = shrunk.program.operations.size(); end > 0;) {
		const std::size_t count = std::min(stretch, end);

		if (shrunk.tries == most_tries)
			return false;
		shrunk.tries++;
		Program rest = without(shrunk.program, end - count, count);
		if (fails(rest)) {
			shrunk.program = std::move(rest);
			helped = true;
		}
		end -= count;
	}
	return helped;
}

} // namespace

Shrunk shrink(const Program &program, const std::function<bool(const Program &)> &fails, unsigned most_tries)
{
	Shrunk shrunk{program};
	std::size_t stretch = std::max<std::size_t>(program.operations.size() / 2, 1);

	/* One that went may let an earlier one go: single ones again and again until none does. */
	for (;;) {
		const bool helped = pass(shrunk, stretch, fails, most_tries);

		if (shrunk.tries == most_tries)
			return shrunk;
		if (stretch == 1 && !helped)
			break;
		stretch = std::max<std::size_t>(stretch / 2, 1);
	}
	shrunk.whole = true;
	return shrunk;
}

} // namespace auxpmu::fuzz
