/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How perf tells a trace of programs by an ETM, where it is not what the program did (tools/perf/util/cs-etm.c, cs_etm__exception() and
 * cs_etm__last_executed_instr()): what leaves for the kernel is a branch of the last instruction that was executed.
 */
#ifndef HWSIM_TOOLS_CS_ETM_H
#define HWSIM_TOOLS_CS_ETM_H

#include <cstdint>
#include <span>
#include <vector>

#include "../base/truth.h"

namespace hwsim::cs_etm
{

/* Of what is traced */
inline bool is_edge(const Step &step)
{
	return !step.from || !step.to;
}

/*
 * What began and ended without a branch is left out of both, or at the end began: where an AUX record ends behind it perf resets the
 * decoder, which has kept it until more comes.
 */
inline std::vector<Step> with_branches(std::span<const Step> steps)
{
	std::vector<Step> kept;
	for (const Step &step : steps)
		if (!step.to && !kept.empty() && !kept.back().from)
			kept.pop_back();
		else
			kept.push_back(step);
	if (!kept.empty() && !kept.back().from)
		kept.pop_back();
	return kept;
}

/*
 * Where the last instruction was a branch, to one that was not executed any more, one step is left of two; where none was executed
 * since the trace began none is. The last one waits for another packet, and is not told.
 */
inline std::vector<Step> as_perf_tells(std::span<const Step> truth)
{
	constexpr std::uint64_t instruction = 4;
	std::vector<Step> told;
	for (const Step &step : truth) {
		if (step.to || told.empty() || told.back().to != step.from) {
			told.push_back(step.to ? step : Step{step.from - instruction, 0});
			continue;
		}
		told.back().to = 0;
		if (!told.back().from)
			told.pop_back();
	}
	if (!told.empty() && !told.back().to)
		told.pop_back();
	return told;
}

} // namespace hwsim::cs_etm

#endif
