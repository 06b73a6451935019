// SPDX-License-Identifier: GPL-2.0-or-later
#include "pt_registers.h"

namespace hwsim::x86::pt
{
namespace
{

/* Physical addresses of the processors that QEMU models by default. */
constexpr unsigned physical_bits = 40;

bool canonical(std::uint64_t address)
{
	const auto upper = static_cast<std::int64_t>(address) >> 47;
	return upper == 0 || upper == -1;
}

bool encodes(std::uint16_t supported, unsigned value)
{
	return supported >> value & 1;
}

} // namespace

/* KVM: update_intel_pt_cfg. */
std::uint64_t PtRegisters::valid_ctl_bits(const PtCapabilities &of)
{
	std::uint64_t bits = ctl::trace_en | ctl::os | ctl::user | ctl::tsc_en | ctl::dis_retc | ctl::branch_en;
	const auto allow = [&bits](bool capability, std::uint64_t more) {
		bits |= capability ? more : 0;
	};
	allow(of.cr3_filtering, ctl::cr3_filter);
	allow(of.psb_cyc, ctl::cyc_en | ctl::cyc_thresh.mask() | ctl::psb_freq.mask());
	allow(of.mtc, ctl::mtc_en | ctl::mtc_freq.mask());
	allow(of.ptwrite, ctl::ptw_en | ctl::fup_on_ptw);
	allow(of.topa, ctl::topa);
	allow(of.event_trace, ctl::event_en);
	allow(of.tnt_disable, ctl::dis_tnt);
	for (unsigned n = 0; n < of.address_ranges; n++)
		allow(of.ip_filtering, ctl::addr_cfg(n).mask());
	return bits;
}

void PtRegisters::reset()
{
	output = {};
	ctl = status = cr3_match = 0;
	byte_count = 0;
	address = {};
}

void PtRegisters::leave(std::uint64_t base)
{
	output = {base, std::uint64_t{0x40} << 32 | 1 << 7 | 0x7f};
	ctl = (ctl::topa | ctl::branch_en | ctl::user) & ctl_valid;
	status = status::stopped;
	byte_count = 0x123;
	cr3_match = capabilities.cr3_filtering ? 0x7000 : 0;
	for (unsigned n = 0; n < 2u * capabilities.address_ranges; n++)
		address[n] = 0x10'0000 + 0x1000 * n;
}

bool PtRegisters::exists(std::uint32_t msr) const
{
	switch (msr) {
	case msr::output_base:
	case msr::output_mask_ptrs:
		return capabilities.topa || capabilities.single_range;
	case msr::cr3_match:
		return capabilities.cr3_filtering;
	case msr::ctl:
	case msr::status:
		return true;
	default:
		return msr >= msr::addr0_a && msr < msr::addr0_a + 2u * capabilities.address_ranges;
	}
}

bool PtRegisters::read_faults(std::uint32_t msr) const
{
	return !exists(msr);
}

bool PtRegisters::write_faults(std::uint32_t msr, std::uint64_t value) const
{
	if (!exists(msr))
		return true;
	if (msr == msr::ctl)
		return ctl_faults(value);
	if (is_set(ctl::trace_en))
		return true;
	switch (msr) {
	case msr::output_base:
		return (value & 0x7f) || value >> physical_bits;
	case msr::status:
		/* KVM: MSR_IA32_RTIT_STATUS_MASK. The read-only bits may be written, to no effect. */
		return value & ~(status::filter_en | status::context_en | status::trigger_en | status::error |
				       status::stopped | status::byte_count.mask());
	case msr::output_mask_ptrs:
	case msr::cr3_match:
		return false;
	default:
		return !canonical(value);
	}
}

bool PtRegisters::ctl_faults(std::uint64_t value) const
{
	if (value & ~ctl_valid)
		return true;
	/* While tracing only a write that stops it may change anything. */
	if (is_set(ctl::trace_en) && (value & ctl::trace_en) && value != ctl)
		return true;
	if ((value & ctl::trace_en) && !(value & ctl::topa) && !capabilities.single_range)
		return true;
	if (capabilities.mtc && !encodes(capabilities.mtc_periods, ctl::mtc_freq.of(value)))
		return true;
	if (capabilities.psb_cyc && (!encodes(capabilities.cycle_thresholds, ctl::cyc_thresh.of(value)) ||
					    !encodes(capabilities.psb_periods, ctl::psb_freq.of(value))))
		return true;
	for (unsigned n = 0; n < capabilities.address_ranges; n++)
		if (ctl::addr_cfg(n).of(value) > range_stop)
			return true;
	return false;
}

std::uint64_t PtRegisters::read(std::uint32_t msr) const
{
	switch (msr) {
	case msr::output_base:
		return output.base;
	case msr::output_mask_ptrs:
		return output.mask_ptrs;
	case msr::ctl:
		return ctl;
	case msr::status:
		return status | (std::uint64_t{byte_count} << status::byte_count.shift & status::byte_count.mask());
	case msr::cr3_match:
		return cr3_match;
	default:
		return address[msr - msr::addr0_a];
	}
}

void PtRegisters::write(std::uint32_t msr, std::uint64_t value)
{
	switch (msr) {
	case msr::output_base:
		output.base = value;
		break;
	case msr::output_mask_ptrs:
		output.mask_ptrs = value | 0x7f;
		break;
	case msr::ctl:
		ctl = value;
		break;
	case msr::status:
		status = value & (status::error | status::stopped);
		byte_count = status::byte_count.of(value);
		break;
	case msr::cr3_match:
		cr3_match = value;
		break;
	default:
		address[msr - msr::addr0_a] = value;
		break;
	}
}

} // namespace hwsim::x86::pt
