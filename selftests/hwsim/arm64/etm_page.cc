// SPDX-License-Identifier: GPL-2.0-or-later
#include "etm_page.h"

namespace hwsim::arm64
{
namespace
{

using namespace etm;

/* Is this half of a 64-bit register? These are the comparator values of addresses, Context IDs and VMIDs, and TRCACATR<n>. */
bool is_wide(std::uint32_t offset)
{
	return (offset >= reg::acvr && offset < reg::cidcctlr0);
}

} // namespace

/* The part number is that of a Neoverse N1's trace unit. */
EtmPage::EtmPage(TraceUnit &with, bool skips_power_up)
	: Component({0x000b'bd0c, static_cast<std::uint32_t>(*with.read(reg::devtype)),
		  static_cast<std::uint32_t>(*with.read(reg::devarch)), 0,
		  static_cast<std::uint32_t>(*with.read(reg::authstatus))}),
	  unit(with), must_not_power_up(skips_power_up)
{
	show_unit();
}

/* Updates all registers, because some of them change without a write. */
void EtmPage::show_unit()
{
	for (std::uint32_t offset = 0; offset < management::first; offset += 4) {
		const bool upper = is_wide(offset) && offset % 8;
		if (const auto value = unit.read(upper ? offset - 4 : offset))
			show(offset, static_cast<std::uint32_t>(upper ? *value >> 32 : *value));
	}
	constexpr std::uint32_t powered = 1, os_locked = 1 << 5, oslk = 1 << 1;
	show(pdsr, powered | (shows(reg::oslsr, oslk) ? os_locked : 0));
	show(management::claimclr, static_cast<std::uint32_t>(*unit.read(reg::claimclr)));
}

bool EtmPage::put(std::uint32_t offset, std::uint32_t value)
{
	constexpr std::uint32_t power_up = 1 << 3;
	if (offset == pdcr) {
		if (must_not_power_up && (value & power_up))
			return false;
		show(pdcr, value & power_up);
		return true;
	}
	bool known = false;
	if (!is_wide(offset)) {
		known = unit.write(offset, value);
	} else if (const auto now = unit.read(offset & ~7u)) {
		const unsigned shift = offset % 8 * 8;
		known = unit.write(
			offset & ~7u, (*now & ~(std::uint64_t{0xffff'ffff} << shift)) | std::uint64_t{value} << shift);
	}
	show_unit();
	return known;
}

/* The claim tags are the same as those in the system registers. */
bool EtmPage::claim(std::uint32_t offset, std::uint32_t value)
{
	unit.write(offset, value);
	show_unit();
	return true;
}

} // namespace hwsim::arm64
