/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters and live buffers of a PMU of auxpmu, from debugfs. Needs root.
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

/* The counters at one moment: bytes or counts since the PMU was registered. */
class Statistics
{
public:
	static Result<Statistics> read(std::string_view pmu);
	/* From the text of the file. */
	static Result<Statistics> parse(std::string_view text);

	/* Summed over all CPUs; a counter that does not exist throws std::out_of_range with its name. */
	std::uint64_t operator[](std::string_view counter) const;
	std::uint64_t on_cpu(std::string_view counter, unsigned cpu) const;
	/* What was counted since "before". */
	Statistics since(const Statistics &before) const;
	/* Counters that are not zero, for people. */
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

/* One line of "buffers". */
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
