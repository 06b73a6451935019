/* SPDX-License-Identifier: GPL-2.0-only */
/* The counters of a unit. Shared by the framework's own files only. */
#ifndef AUXPMU_STATS_H
#define AUXPMU_STATS_H

#include <linux/types.h>

#include <asm/local64.h>

/**
 * struct core_stats - counters of one unit since its PMU was registered; debugfs shows them by name
 * @produced: bytes the unit made, lost ones included
 * @padded: bytes stepped over for alignment, chunks or an early interrupt
 * @committed: bytes handed to the consumer
 * @copied: of those, bytes that the framework copied (COPY)
 * @overwritten: overwrite mode: bytes that newer ones have replaced
 * @lost_unit: bytes lost inside the unit
 * @gaps: times an unknown amount of trace was lost, or the unit was suspended
 * @lost_space: bytes lost because the buffer was full (COPY) or went away
 * @wraps: times round the buffer
 * @truncations: times the buffer was full: record with TRUNCATED, event disabled
 * @partials: records with PARTIAL
 * @interrupts: from the unit
 * @spurious: of those, while the unit was not armed
 * @polls: times that its event's sink was looked at by a timer
 * @late_polls: of those, more than a period late: a sink that cannot stop may have gone round
 * @sessions: times the unit began anew: starts, and changes of the buffer
 * @begins: transactions begun
 * @ends: transactions ended
 * @begin_failures: the core refused to begin one: buffer full or being unmapped
 * @unmapped: refused: no AUX buffer of ours there
 * @wrong_pmu: refused: another PMU's AUX buffer
 * @unsuited: refused: our buffer does not suit the event
 * @arm_failures: the backend could not arm
 * @overruns: the unit wrote beyond its window, or its position is impossible: a bug
 * @busy: refused: the unit traces for another event
 * @sink_busy: refused: the sink is used by events whose trace must not get into this one's area
 * @no_unit: refused: this CPU has no unit
 * @samples: PERF_SAMPLE_AUX written
 * @sample_no_trace: of those, all zeros: no trace, or the session's owner was interrupted
 * @contract_violations: times the backend broke the contract in auxpmu.h, see complaint.h; with
 *	paranoid=1 more of them are seen
 *
 * A local64_t is one that an NMI may increment while the session's owner does.
 *
 * Always: produced + padded == committed + lost_unit + lost_space + bytes not committed yet.
 */
struct core_stats {
	u64 produced;
	u64 padded;
	u64 committed;
	u64 copied;
	u64 overwritten;
	u64 lost_unit;
	u64 gaps;
	u64 lost_space;
	u64 wraps;
	u64 truncations;
	u64 partials;
	local64_t interrupts;
	local64_t spurious;
	u64 polls;
	u64 late_polls;
	u64 sessions;
	u64 begins;
	u64 ends;
	u64 begin_failures;
	u64 unmapped;
	u64 wrong_pmu;
	u64 unsuited;
	u64 arm_failures;
	u64 overruns;
	u64 busy;
	u64 sink_busy;
	u64 no_unit;
	local64_t samples;
	local64_t sample_no_trace;
	u64 contract_violations;
};

#endif /* AUXPMU_STATS_H */
