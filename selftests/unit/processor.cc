// SPDX-License-Identifier: GPL-2.0-only
// The functions for processor and memory that the shim of the kernel calls.
#include "processor.h"

#include "driver.h"

#include <cstdlib>

extern "C" {
#include "../../drivers/pt/caps.h"
}

using unit::processor;

unit::Processor unit::processor;

extern "C" {

cpu_entry_area unit_entry_area;

void *unit_zeroed(std::size_t bytes, std::size_t align)
{
	if (processor.allocations_left == 0)
		return nullptr;
	if (processor.allocations_left > 0)
		processor.allocations_left--;
	processor.allocated++;
	const auto whole = (bytes + align - 1) / align * align;
	return std::memset(std::aligned_alloc(align, whole), 0, whole);
}

void unit_free(const void *at)
{
	processor.allocated--;
	std::free(const_cast<void *>(at));
}

bool unit_in_nmi()
{
	return processor.in_nmi;
}

u64 unit_rdmsr(u32 msr)
{
	return processor.registers[msr];
}

int unit_wrmsr(u32 msr, u64 value)
{
	if (processor.faults && processor.faults(msr, value))
		return -EIO;
	processor.registers[msr] = value;
	return 0;
}

u32 pt_cap(enum pt_cap cap)
{
	return processor.caps[cap];
}

const char *pt_cap_name(enum pt_cap cap)
{
	switch (cap) {
	case PT_PSB_CYC:
		return "psb_cyc";
	case PT_MTC:
		return "mtc";
	case PT_PTWRITE:
		return "ptwrite";
	case PT_MTC_PERIODS:
		return "mtc_periods";
	case PT_CYCLE_THRESHOLDS:
		return "cycle_thresholds";
	case PT_PSB_PERIODS:
		return "psb_periods";
	default:
		return "another";
	}
}

bool pt_needs_branches()
{
	return processor.needs_branches;
}

// A function of the framework: see module/auxpmu.h.
void *auxpmu_buffer_run(const auxpmu_buffer *buffer, u64 position, u64 *length)
{
	const auto offset = position % buffer->size;
	auto end = offset - offset % 4096 + 4096;

	while (end < buffer->size &&
		static_cast<char *>(buffer->pages[end / 4096 - 1]) + 4096 == buffer->pages[end / 4096])
		end += 4096;
	*length = end - offset;
	return static_cast<char *>(buffer->pages[offset / 4096]) + offset % 4096;
}

ssize_t auxpmu_counter_show(device *, device_attribute *, char *)
{
	return 0;
}
}
