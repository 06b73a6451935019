/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What has to be as it was, or to add up, when a program has ended and all its processes are gone.
 */
#ifndef AUXPMU_FUZZ_BOOKS_H
#define AUXPMU_FUZZ_BOOKS_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "../lib/handle.h"

namespace auxpmu::fuzz
{

class Books
{
public:
	/* Notes what is there when nothing is at work; control: without auxpmu. */
	explicit Books(bool control);

	/*
	 * What is wrong, in words; empty if all is well.  Waits for what the kernel does behind a process's end, and fails if it
	 * does not come.
	 */
	std::vector<std::string> wrong();
	/* What the PMU's counters came to since it was last asked: how far a program got. */
	std::map<std::string, std::uint64_t> reached();

private:
	std::vector<std::string> complaints();

	bool without;
	std::string users; /* of the module */
	UniqueFd log;
	std::map<std::string, std::uint64_t> before;
};

} // namespace auxpmu::fuzz

#endif /* AUXPMU_FUZZ_BOOKS_H */
