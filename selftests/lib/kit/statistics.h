/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters and live buffers of an auxpmu PMU, read from debugfs. Requires root.
 */
#ifndef AUXPMU_KIT_STATISTICS_H
#define AUXPMU_KIT_STATISTICS_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kit/result.h"

namespace auxpmu
{

/* The counters at one moment: bytes or event counts since the PMU was registered. */
class Statistics
{
public:
	static Result<Statistics> read(std::string_view pmu);
	/* Parses the text of the file. */
	static Result<Statistics> parse(std::string_view text);

	/* The sum over all CPUs; for a counter that does not exist it throws std::out_of_range with the name. */
	std::uint64_t operator[](std::string_view counter) const;
	std::uint64_t on_cpu(std::string_view counter, unsigned cpu) const;
	/* The sums of all counters by their names. */
	std::map<std::string, std::uint64_t, std::less<>> totals() const;
	/* The difference between these counters and those of "before". */
	Statistics since(const Statistics &before) const;
	/* The counters that are not zero, as readable text. */
	std::string text() const;

private:
	struct Row {
		std::uint64_t total = 0;
		std::map<unsigned, std::uint64_t> cpus;
	};
	const Row &row(std::string_view counter) const;

	std::vector<std::string> order;
	std::map<std::string, Row, std::less<>> rows;
};

/* One line of the debugfs file "buffers". */
struct BufferLine {
	std::uint64_t bytes = 0;
	bool overwrite = false;
	std::uint64_t chunks = 0;
	std::map<unsigned, std::uint64_t> orders; /* order -> number of chunks */

	static Result<std::vector<BufferLine>> read(std::string_view pmu);
	static Result<std::vector<BufferLine>> parse(std::string_view text);
};

} // namespace auxpmu

#endif /* AUXPMU_KIT_STATISTICS_H */
