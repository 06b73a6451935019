/* SPDX-License-Identifier: GPL-2.0-only */
/* Trace events: what the unit reports besides trace.  In any context, NMI included. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM auxpmu_pt

#if !defined(AUXPMU_PT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define AUXPMU_PT_TRACE_H

#include <linux/tracepoint.h>

/* Error, Stopped at the end of the window, or BuffOvf: IA32_RTIT_STATUS and where output was. */
TRACE_EVENT(auxpmu_pt_error,
	TP_PROTO(u64 status, u64 output_base, u64 output_mask),
	TP_ARGS(status, output_base, output_mask),
	TP_STRUCT__entry(
		__field(u64, status)
		__field(u64, output_base)
		__field(u64, output_mask)
	),
	TP_fast_assign(
		__entry->status = status;
		__entry->output_base = output_base;
		__entry->output_mask = output_mask;
	),
	TP_printk("status=%#llx output_base=%#llx output_mask_ptrs=%#llx", __entry->status,
		  __entry->output_base, __entry->output_mask)
);

/* Writing this MSR raised a general protection fault. */
TRACE_EVENT(auxpmu_pt_fault,
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

#endif /* AUXPMU_PT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH drivers/pt
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE pt_trace
#include <trace/define_trace.h>
