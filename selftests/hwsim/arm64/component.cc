// SPDX-License-Identifier: GPL-2.0-or-later
#include "component.h"

namespace hwsim::arm64
{

using namespace management;

Component::Component(const Identity &which)
{
	/* IHI0029, B2.2: the class of CoreSight components. */
	static constexpr std::uint32_t component_class[] = {0x0d, 0x90, 0x05, 0xb1};
	for (unsigned n = 0; n < 4; n++) {
		show(cidr0 + 4 * n, component_class[n]);
		show(pidr0 + 4 * n, which.part >> 8 * n & 0xff);
	}
	show(pidr4, 4);
	show(devtype, which.devtype);
	show(devarch, which.devarch);
	show(devid, which.devid);
	show(authstatus, which.authstatus);
	show(claimset, claim_tags);
	show(lsr, lockable | locked);
}

bool Component::write(std::uint32_t offset, std::uint32_t value)
{
	if (offset == lar) {
		show(lsr, lockable | (value == unlock ? 0 : locked));
		return true;
	}
	if (shows(lsr, locked))
		return true;
	return offset >= first ? manage(offset, value) : put(offset, value);
}

bool Component::manage(std::uint32_t offset, std::uint32_t value)
{
	if (offset == claimset || offset == claimclr)
		return claim(offset, value);
	return offset == first; /* ITCTRL: no integration mode */
}

bool Component::claim(std::uint32_t offset, std::uint32_t value)
{
	const std::uint32_t now = read(claimclr);
	show(claimclr, offset == claimset ? now | (value & claim_tags) : now & ~value);
	return true;
}

void Component::set_claimed_outside(bool now)
{
	show(claimclr, (read(claimclr) & ~external_debugger) | (now ? external_debugger : 0));
}

} // namespace hwsim::arm64
