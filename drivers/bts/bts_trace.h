/* SPDX-License-Identifier: GPL-2.0-only */
/* Trace events: what goes wrong with a branch trace store.  In any context, NMI included. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM auxpmu_bts

#if !defined(AUXPMU_BTS_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define AUXPMU_BTS_TRACE_H

#include <linux/tracepoint.h>

/* The index is at the absolute maximum, where the store drops records. */
TRACE_EVENT(auxpmu_bts_full,
	TP_PROTO(u64 index, u64 threshold),
	TP_ARGS(index, threshold),
	TP_STRUCT__entry(
		__field(u64, index)
		__field(u64, threshold)
	),
	TP_fast_assign(
		__entry->index = index;
		__entry->threshold = threshold;
	),
	TP_printk("index=%#llx threshold=%#llx", __entry->index, __entry->threshold)
);

/* Writing this MSR raised a general protection fault. */
TRACE_EVENT(auxpmu_bts_fault,
	TP_PROTO(u32 msr, u64 value),
	TP_ARGS(msr, value),
	TP_STRUCT__entry(
		__field(u32, msr)
		__field(u64, value)
	),
	TP_fast_assign(
		__entry->msr = msr;
		__entry->value = value;
	),
	TP_printk("msr=%#x value=%#llx", __entry->msr, __entry->value)
);

#endif /* AUXPMU_BTS_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH drivers/bts
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE bts_trace
#include <trace/define_trace.h>
