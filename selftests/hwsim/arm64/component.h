/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Component: what has a page of registers in memory (IHI0029, B2, "CoreSight programmers' model"): what reads of it show, the software lock,
 * claim tags, identification. What registers do is its own business.
 *
 * Reads are answered from an image, which is changed where something changes: the memory that the guest reads is a copy of it
 * (take_changes()), for nobody can answer a read in QEMU's place.
 */
#ifndef HWSIM_ARM64_COMPONENT_H
#define HWSIM_ARM64_COMPONENT_H

#include <array>
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
/* The tag that a debugger from outside sets (IHI0029, B2.3.2: by convention). */
constexpr std::uint32_t external_debugger = 1;
} // namespace management

class Component
{
public:
	static constexpr std::uint32_t page = 0x1000;

	/* What it says of itself: its part (PIDR0 to 3), kind and features. */
	struct Identity {
		std::uint32_t part, devtype, devarch, devid, authstatus;
	};

	virtual ~Component() = default;

	std::uint32_t read(std::uint32_t offset) const { return image[offset / 4]; }
	/* False where there is no such register, or it can only be read. One that is locked, or ignored, is a write, too. */
	bool write(std::uint32_t offset, std::uint32_t value);
	/* The guest has read it. */
	virtual void was_read(std::uint32_t) {}
	/* Such a write makes trace go on that is still with its sources: they are to send it first. */
	virtual bool flushes(std::uint32_t, std::uint32_t) const { return false; }
	/* A debugger from outside has it, or not any more. */
	void set_claimed_outside(bool now);

	/* tell(offset, value): what reads otherwise since this was called last. */
	template <class Tell>
	void take_changes(Tell &&tell)
	{
		for (const std::uint32_t offset : changed)
			tell(offset, image[offset / 4]);
		changed.clear();
	}

protected:
	explicit Component(const Identity &which);

	/* A write to a register that is not of those that all have. */
	virtual bool put(std::uint32_t offset, std::uint32_t value) = 0;
	/* A write to CLAIMSET or CLAIMCLR. */
	virtual bool claim(std::uint32_t offset, std::uint32_t value);
	/* What reads show from here on. */
	void show(std::uint32_t offset, std::uint32_t value)
	{
		if (image[offset / 4] == value)
			return;
		image[offset / 4] = value;
		changed.push_back(offset);
	}
	bool shows(std::uint32_t offset, std::uint32_t mask) const { return read(offset) & mask; }

private:
	bool manage(std::uint32_t offset, std::uint32_t value);

	std::array<std::uint32_t, page / 4> image{};
	std::vector<std::uint32_t> changed;
};

} // namespace hwsim::arm64

#endif
