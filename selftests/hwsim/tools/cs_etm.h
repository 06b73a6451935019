/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How perf reports an ETM's trace of programs, where that is not what the program did (tools/perf/util/cs-etm.c, cs_etm__exception()
 * and cs_etm__last_executed_instr()): an exception to the kernel becomes a branch of the last instruction that was executed.
 */
#ifndef HWSIM_TOOLS_CS_ETM_H
#define HWSIM_TOOLS_CS_ETM_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../base/truth.h"

namespace hwsim::cs_etm
{

/* Does the trace begin or end with this step? */
inline bool is_edge(const Step &step)
{
	return !step.from || !step.to;
}

/*
 * To be applied to both sides of a comparison: leaves out stretches of trace without a branch, and a beginning that is the last step.
 * If an AUX record ends there, perf resets the decoder, which has kept the beginning until more comes.
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
 * Where the trace ends: if the last executed instruction was a branch to the instruction that did not run any more, two steps become
 * one; if none was executed since the trace began, there is no step. The very last end is not reported, because perf waits for another
 * packet.
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

/*
 * The end of an AUX record that perf loses. perf's queue holds 1023 ranges of instructions; when it is full, perf makes OpenCSD wait, and
 * takes the rest of the frame by a flush when the next data come. If that frame was the record's last, cs_etm_decoder__process_data_block()
 * has consumed all bytes, and the next record resets the decoder (perf 6.12 to 7.2). The trace then seems to end with a range that the
 * queue had room for: one step, which is none of the truth's. A frame has up to 15 bytes of trace, a byte up to 24 outcomes, and the queue
 * is full only after as many ranges, of which few are not of a taken branch.
 */
inline bool is_held_back(std::span<const Step> missing, std::span<const Step> invented, std::size_t alike)
{
	constexpr std::size_t queue = 1023, ranges_of_step = 8, frame = 15 * 24;
	return invented.size() == 1 && !invented.front().to && !missing.empty() && missing.size() <= frame &&
	       !missing.back().to && std::ranges::none_of(missing.first(missing.size() - 1), is_edge) &&
	       alike >= queue / ranges_of_step;
}

} // namespace hwsim::cs_etm

#endif
