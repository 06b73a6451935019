/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace events: what the sessions do, for tracefs and perf. In any context, NMI included. An AUX
 * sample taken at one of them is all zeros, since it interrupts the session's owner.
 *
 * "pmu" is the PMU's type number, as in sysfs; positions and sizes are bytes.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM auxpmu

#if !defined(AUXPMU_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define AUXPMU_TRACE_H

#include <linux/tracepoint.h>

#include "internal.h"

TRACE_EVENT(auxpmu_begin,
	TP_PROTO(const struct core_unit *unit),
	TP_ARGS(unit),
	TP_STRUCT__entry(
		__field(u32, pmu)
		__field(u64, head)
		__field(u64, space)
		__field(bool, overwrite)
	),
	TP_fast_assign(
		__entry->pmu = unit->pub.pmu->pmu.type;
		__entry->head = unit->head;
		__entry->space = unit->handle.size;
		__entry->overwrite = unit->pub.buffer->overwrite;
	),
	TP_printk("pmu=%u head=%llu space=%llu overwrite=%d", __entry->pmu, __entry->head,
		  __entry->space, __entry->overwrite)
);

TRACE_EVENT(auxpmu_arm,
	TP_PROTO(const struct core_unit *unit, int ret),
	TP_ARGS(unit, ret),
	TP_STRUCT__entry(
		__field(u32, pmu)
		__field(u64, from)
		__field(u64, to)
		__field(u64, irq)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->pmu = unit->pub.pmu->pmu.type;
		__entry->from = unit->pub.window.from;
		__entry->to = unit->pub.window.to;
		__entry->irq = unit->pub.window.irq;
		__entry->ret = ret;
	),
	TP_printk("pmu=%u from=%llu to=%llu irq=%llu ret=%d", __entry->pmu, __entry->from,
		  __entry->to, __entry->irq, __entry->ret)
);

TRACE_EVENT(auxpmu_disarm,
	TP_PROTO(const struct core_unit *unit, const struct auxpmu_position *position),
	TP_ARGS(unit, position),
	TP_STRUCT__entry(
		__field(u32, pmu)
		__field(u64, bytes)
		__field(u64, lost)
	),
	TP_fast_assign(
		__entry->pmu = unit->pub.pmu->pmu.type;
		__entry->bytes = position->bytes;
		__entry->lost = position->lost;
	),
	TP_printk("pmu=%u bytes=%llu lost=%llu", __entry->pmu, __entry->bytes, __entry->lost)
);

TRACE_EVENT(auxpmu_end,
	TP_PROTO(const struct core_unit *unit, u64 size, u64 flags),
	TP_ARGS(unit, size, flags),
	TP_STRUCT__entry(
		__field(u32, pmu)
		__field(u64, head)
		__field(u64, size)
		__field(u64, flags)
	),
	TP_fast_assign(
		__entry->pmu = unit->pub.pmu->pmu.type;
		__entry->head = unit->head;
		__entry->size = size;
		__entry->flags = flags;
	),
	TP_printk("pmu=%u head=%llu size=%llu flags=%#llx", __entry->pmu, __entry->head,
		  __entry->size, __entry->flags)
);

TRACE_EVENT(auxpmu_full,
	TP_PROTO(const struct core_unit *unit),
	TP_ARGS(unit),
	TP_STRUCT__entry(
		__field(u32, pmu)
		__field(u64, head)
	),
	TP_fast_assign(
		__entry->pmu = unit->pub.pmu->pmu.type;
		__entry->head = unit->head;
	),
	TP_printk("pmu=%u head=%llu", __entry->pmu, __entry->head)
);

TRACE_EVENT(auxpmu_lost,
	TP_PROTO(const struct core_unit *unit, u64 in_unit, u64 for_space),
	TP_ARGS(unit, in_unit, for_space),
	TP_STRUCT__entry(
		__field(u32, pmu)
		__field(u64, in_unit)
		__field(u64, for_space)
	),
	TP_fast_assign(
		__entry->pmu = unit->pub.pmu->pmu.type;
		__entry->in_unit = in_unit;
		__entry->for_space = for_space;
	),
	TP_printk("pmu=%u in_unit=%llu for_space=%llu", __entry->pmu, __entry->in_unit,
		  __entry->for_space)
);

TRACE_EVENT(auxpmu_gap,
	TP_PROTO(const struct core_unit *unit),
	TP_ARGS(unit),
	TP_STRUCT__entry(
		__field(u32, pmu)
		__field(u64, position)
	),
	TP_fast_assign(
		__entry->pmu = unit->pub.pmu->pmu.type;
		__entry->position = unit->position;
	),
	TP_printk("pmu=%u position=%llu", __entry->pmu, __entry->position)
);

TRACE_EVENT(auxpmu_sample,
	TP_PROTO(const struct core_unit *unit, u64 size, u64 length),
	TP_ARGS(unit, size, length),
	TP_STRUCT__entry(
		__field(u32, pmu)
		__field(u64, size)
		__field(u64, length)
	),
	TP_fast_assign(
		__entry->pmu = unit->pub.pmu->pmu.type;
		__entry->size = size;
		__entry->length = length;
	),
	TP_printk("pmu=%u size=%llu trace=%llu", __entry->pmu, __entry->size, __entry->length)
);

/* For parsers of print fmt in user space, which do not know the kernel's enumerators. */
TRACE_DEFINE_ENUM(AUXPMU_REQ_START);
TRACE_DEFINE_ENUM(AUXPMU_REQ_PARK);
TRACE_DEFINE_ENUM(AUXPMU_REQ_CLOSE);
TRACE_DEFINE_ENUM(AUXPMU_REQ_HANDOVER);
TRACE_DEFINE_ENUM(AUXPMU_REQ_PAUSE);
TRACE_DEFINE_ENUM(AUXPMU_REQ_RESUME);

/* The word is that of state.h, before the request is noted. */
TRACE_EVENT(auxpmu_request,
	TP_PROTO(const struct core_unit *unit, int request, u32 word),
	TP_ARGS(unit, request, word),
	TP_STRUCT__entry(
		__field(u32, pmu)
		__field(int, request)
		__field(u32, word)
	),
	TP_fast_assign(
		__entry->pmu = unit->pub.pmu->pmu.type;
		__entry->request = request;
		__entry->word = word;
	),
	TP_printk("pmu=%u request=%s word=%#x", __entry->pmu,
		  __print_symbolic(__entry->request,
				   { AUXPMU_REQ_START, "start" },
				   { AUXPMU_REQ_PARK, "park" },
				   { AUXPMU_REQ_CLOSE, "close" },
				   { AUXPMU_REQ_HANDOVER, "handover" },
				   { AUXPMU_REQ_PAUSE, "pause" },
				   { AUXPMU_REQ_RESUME, "resume" }),
		  __entry->word)
);

#endif /* AUXPMU_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH core
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
