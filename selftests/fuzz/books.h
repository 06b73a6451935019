/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What has to be as it was, or to add up, when a program has ended and all its processes are gone.
 */
#ifndef AUXPMU_FUZZ_BOOKS_H
#define AUXPMU_FUZZ_BOOKS_H

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "kit/handle.h"

namespace auxpmu::fuzz
{

class Books
{
public:
	/* Notes what is there when nothing is at work; control: without auxpmu; name: of the PMU that is asked. */
	Books(bool control, std::string name);

	/*
	 * What is wrong, in words; empty if all is well.  Waits for what the kernel does behind a process's end, and fails if it
	 * does not come.  user: who must have no memory on his account any more, if that is to be asked.  faulty:
	 * units were told to err, and may have.
	 */
	std::vector<std::string> wrong(std::optional<uid_t> user, bool faulty);
	/* What the PMU's counters came to since it was last asked: how far a program got. */
	std::map<std::string, std::uint64_t> reached();

	/* What has failed before is not waited for that long again. */
	void be_hasty() { patience = std::chrono::seconds(2); }

private:
	std::vector<std::string> complaints();

	bool without;
	std::string pmu;
	std::chrono::seconds patience{20};
	std::string users; /* of the module */
	UniqueFd log;
	std::map<std::string, std::uint64_t> before;
	std::uint64_t violations = 0;
	unsigned traces_forgiven = 0; /* that are still to come, of complaints that were */
};

} // namespace auxpmu::fuzz

#endif /* AUXPMU_FUZZ_BOOKS_H */
