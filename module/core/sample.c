// SPDX-License-Identifier: GPL-2.0-only
/*
 * AUX sampling: copies the newest trace into PERF_SAMPLE_AUX, for every backend.
 *
 * The core's copy function is not exported, so that in mainline only built-in drivers can do this.
 * It is found near a function of the same file that is, and a static call calls it. On x86 the
 * static call is patched to a direct call; an indirect one would trap with IBT, since the kernel
 * never takes the function's address. Where static calls are indirect (arm64), the function, being
 * global, has the landing pad and the type hash that BTI and CFI check. The core calls this file
 * with IRQs off and in NMI; it never sleeps or allocates.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/minmax.h>
#include <linux/perf_event.h>
#include <linux/static_call.h>
#include <linux/string.h>

#include "core/buffer.h"
#include "core/sample.h"
#include "core/session.h"
#include "core/sink.h"
#include "core/trace.h"
#include "inject/fault.h"
#include "internal.h"

/* Stands for perf_output_copy() until that is found: copies nothing, returns the rest. */
static unsigned int sample_copy_nothing(struct perf_output_handle *handle, const void *data,
					unsigned int length)
{
	return length;
}

DEFINE_STATIC_CALL(output_copy, sample_copy_nothing);
static bool available;

/* The symbol at an address: its name, its first byte, and the first behind it. */
struct symbol {
	char name[KSYM_SYMBOL_LEN];
	unsigned long begin;
	unsigned long end;
};

/* sprint_symbol() writes NAME+0xOFFSET/0xSIZE. */
static bool sample_symbol_at(unsigned long address, struct symbol *symbol)
{
	unsigned long offset, size;
	char *plus;

	sprint_symbol(symbol->name, address);
	plus = strchr(symbol->name, '+');
	if (!plus || sscanf(plus, "+%lx/%lx", &offset, &size) != 2 || !size)
		return false;
	*plus = '\0';
	symbol->begin = address - offset;
	symbol->end = symbol->begin + size;
	return true;
}

/* How many functions lie between the two, at most: they are of one file, which has some 50. */
#define SAMPLE_NEIGHBOURS	256

static void *sample_find_nearby(const char *name, unsigned long known)
{
	static struct symbol symbol;
	unsigned long address;
	unsigned int n;

	for (address = known, n = 0; n < SAMPLE_NEIGHBOURS; n++, address = symbol.end) {
		if (!sample_symbol_at(address, &symbol))
			break;
		if (!strcmp(symbol.name, name))
			return (void *)symbol.begin;
	}
	for (address = known, n = 0; n < SAMPLE_NEIGHBOURS; n++, address = symbol.begin - 1) {
		if (!sample_symbol_at(address, &symbol))
			break;
		if (!strcmp(symbol.name, name))
			return (void *)symbol.begin;
	}
	return NULL;
}

/*
 * Only where the linker has put it elsewhere: the kprobe is never armed, but leaves a page for its
 * instruction behind. On arm64 that page, which kallsyms lists among the modules, lies far from
 * them, and perf record --kcore then fails ("Failed to copy kcore", perf 7.2).
 */
static void *sample_find_by_kprobe(const char *name)
{
	struct kprobe probe = {
		.symbol_name = name,
		.flags = KPROBE_FLAG_DISABLED,
	};

	if (register_kprobe(&probe))
		return NULL;
	unregister_kprobe(&probe);
	return probe.addr;
}

void auxpmu_sample_init(void)
{
	static const char name[] = "perf_output_copy";
	void *copy = sample_find_nearby(name, (unsigned long)perf_aux_output_begin);

	if (!copy)
		copy = sample_find_by_kprobe(name);
	if (!copy) {
		pr_notice("no AUX sampling: perf_output_copy() not found\n");
		return;
	}
	static_call_update(output_copy, (typeof(sample_copy_nothing) *)copy);
	available = true;
}

bool auxpmu_sample_available(void)
{
	return available;
}

static long sample_put(struct perf_output_handle *handle, const void *data, u64 length)
{
	return static_call(output_copy)(handle, data, length) ? -EFAULT : 0;
}

static long sample_put_zeros(struct perf_output_handle *handle, u64 length)
{
	static const u8 zeros[1024];
	long ret = 0;

	while (length && !ret) {
		u64 some = min_t(u64, length, sizeof(zeros));

		ret = sample_put(handle, zeros, some);
		length -= some;
	}
	return ret;
}

/* The @length bytes of the buffer before the session's position. */
static long sample_put_trace(struct perf_output_handle *handle, const struct core_unit *unit,
			     u64 length)
{
	u64 from = unit->position - length;
	long ret = 0;

	while (length && !ret) {
		u64 run;
		const void *data = auxpmu_buffer_run(unit->pub.buffer, from, &run);

		run = min(run, length);
		ret = sample_put(handle, data, run);
		from += run;
		length -= run;
	}
	return ret;
}

/* Bytes of trace that the buffer holds. */
static u64 sample_available_bytes(const struct core_unit *unit)
{
	u64 size = unit->pub.buffer->size;

	return min(unit->position - core_buffer(unit->pub.buffer)->first, size);
}

long auxpmu_sample(struct perf_event *event, struct perf_output_handle *handle, unsigned long size)
{
	struct core_unit *unit = this_cpu_ptr(auxpmu_of(event)->units);
	bool owner = unit->pub.event == event && auxpmu_session_acquire(unit);
	u64 length = 0;
	long ret;

	/*
	 * Disarm it, so that its trace is in memory and its position known; release arms it again.
	 */
	if (owner && auxpmu_session_armed(unit))
		auxpmu_sink_sampled(unit);
	if (owner && auxpmu_session_quiesce(unit))
		length = min_t(u64, sample_available_bytes(unit), size);
	if (core_fault(unit->pub.pmu, CORE_FAULT_SHORT_SAMPLE))
		length = min_t(u64, length, size / 2);
	if (!length)
		local64_inc(&unit->stats.sample_no_trace);
	trace_auxpmu_sample(unit, size, length);
	ret = length < size ? sample_put_zeros(handle, size - length) : 0;
	if (!ret)
		ret = sample_put_trace(handle, unit, length);
	local64_inc(&unit->stats.samples);
	if (owner)
		auxpmu_session_release(unit);
	return ret ?: size;
}
