/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Component: base of all components with a page of memory-mapped registers (IHI0029, B2, "CoreSight programmers' model"). It holds the
 * values that reads return, and implements the software lock, claim tags and identification; derived classes implement the other
 * registers.
 *
 * Reads are answered from an image of the page, which is updated whenever a register changes. The guest reads a copy of the image in its
 * memory (take_changes() tells what to copy), because a read of that memory cannot be intercepted.
 */
#ifndef HWSIM_ARM64_COMPONENT_H
#define HWSIM_ARM64_COMPONENT_H

#include <array>
#include <bitset>
#include <cstdint>
#include <vector>

namespace hwsim::arm64
{

namespace management
{
constexpr std::uint32_t first = 0xf00, claimset = 0xfa0, claimclr = 0xfa4, lar = 0xfb0, lsr = 0xfb4, authstatus = 0xfb8,
			devarch = 0xfbc, devid = 0xfc8, devtype = 0xfcc, pidr4 = 0xfd0, pidr0 = 0xfe0, cidr0 = 0xff0;
constexpr std::uint32_t unlock = 0xc5ac'ce55;
/* LSR */
constexpr std::uint32_t lockable = 1, locked = 2;
constexpr std::uint32_t claim_tags = 0xf;
/* The claim tag that an external debugger sets by convention (IHI0029, B2.3.2). */
constexpr std::uint32_t external_debugger = 1;
} // namespace management

class Component
{
public:
	static constexpr std::uint32_t page = 0x1000;

	/* The contents of the identification registers: part (PIDR0 to PIDR3), type and features. */
	struct Identity {
		std::uint32_t part, devtype, devarch, devid, authstatus;
	};

	virtual ~Component() = default;

	std::uint32_t read(std::uint32_t offset) const { return image[offset / 4]; }
	/* False if there is no such register or it is read-only. A write that is ignored, as under the software lock, returns true. */
	bool write(std::uint32_t offset, std::uint32_t value);
	/* The guest has read the register at this offset. */
	virtual void was_read(std::uint32_t) {}
	/* Does this write flush trace that the sources still hold? If so they must send it before the write is carried out. */
	virtual bool flushes(std::uint32_t, std::uint32_t) const { return false; }
	/* An external debugger has claimed the component, or has released it. */
	void set_claimed_outside(bool now);

	/* Calls tell(offset, value) for each register whose value has changed since the last call. */
	template <class Tell>
	void take_changes(Tell &&tell)
	{
		for (const std::uint32_t offset : changed) {
			tell(offset, image[offset / 4]);
			is_changed.reset(offset / 4);
		}
		changed.clear();
	}

protected:
	explicit Component(const Identity &which);

	/* A write to a register outside the management registers, which all components have. */
	virtual bool put(std::uint32_t offset, std::uint32_t value) = 0;
	/* A write to CLAIMSET or CLAIMCLR. */
	virtual bool claim(std::uint32_t offset, std::uint32_t value);
	/* Sets the value that reads return from now on. */
	void show(std::uint32_t offset, std::uint32_t value)
	{
		if (image[offset / 4] == value)
			return;
		image[offset / 4] = value;
		if (is_changed.test(offset / 4))
			return;
		is_changed.set(offset / 4);
		changed.push_back(offset);
	}
	bool shows(std::uint32_t offset, std::uint32_t mask) const { return read(offset) & mask; }

private:
	bool manage(std::uint32_t offset, std::uint32_t value);

	std::array<std::uint32_t, page / 4> image{};
	std::vector<std::uint32_t> changed; /* each offset once */
	std::bitset<page / 4> is_changed;
};

} // namespace hwsim::arm64

#endif
