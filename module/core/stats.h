/* SPDX-License-Identifier: GPL-2.0-only */
/* What the sessions of a unit count.  Shared by the framework's own files only. */
#ifndef AUXPMU_STATS_H
#define AUXPMU_STATS_H

#include <linux/types.h>

/**
 * struct core_stats - what one unit did since it was registered; the names are those in debugfs
 * @produced: bytes the unit made, what it lost included
 * @padded: bytes stepped over to suit alignment or chunks
 * @committed: bytes handed to the consumer
 * @overwritten: overwrite: bytes of those, gone under newer ones
 * @lost_unit: bytes lost inside the unit
 * @gaps: times the unit lost trace and does not know how much, or was taken away
 * @lost_space: bytes lost because the buffer was full (COPY), or went away
 * @wraps: times round the buffer
 * @truncations: times the buffer was full: TRUNCATED, event disabled
 * @partials: records with PARTIAL
 * @interrupts: from the unit
 * @spurious: of those, while it was not armed
 * @sessions: start .. stop
 * @begins: transactions begun
 * @ends: transactions ended
 * @begin_failures: the core gave none: buffer full or being unmapped
 * @unmapped: refused: no AUX buffer of ours there
 * @wrong_pmu: refused: another PMU's AUX buffer
 * @unsuited: refused: our buffer, wrong for the event
 * @arm_failures: the backend could not arm
 * @overruns: the unit wrote past its window, or its position cannot be: a bug
 * @busy: refused: the unit traces for another event
 * @samples: PERF_SAMPLE_AUX written
 * @sample_no_trace: of those, all zeros: nothing was being traced, or the session was at work
 * @contract_violations: times the backend did what this header rules out, each told in the log;
 *	with paranoid=1 more is seen
 *
 * Always: produced + padded == committed + lost_unit + lost_space + what is not committed yet.
 */
struct core_stats {
	u64 produced;
	u64 padded;
	u64 committed;
	u64 overwritten;
	u64 lost_unit;
	u64 gaps;
	u64 lost_space;
	u64 wraps;
	u64 truncations;
	u64 partials;
	u64 interrupts;
	u64 spurious;
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
	u64 samples;
	u64 sample_no_trace;
	u64 contract_violations;
};

#endif /* AUXPMU_STATS_H */
