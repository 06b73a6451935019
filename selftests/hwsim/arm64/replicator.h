/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replicator: sends one input to two outputs, each of which can filter out trace IDs in groups of 16 (CoreSight SoC-400 TRM, DDI0480, "ATB
 * replicator"). A byte for both outputs is accepted only when both take it.
 */
#ifndef HWSIM_ARM64_REPLICATOR_H
#define HWSIM_ARM64_REPLICATOR_H

#include <algorithm>
#include <array>

#include "atb.h"
#include "component.h"

namespace hwsim::arm64
{

class Replicator final : public Component, public AtbReceiver, public AtbSender
{
public:
	static constexpr unsigned outputs = 2;

	Replicator() : Component({0x000b'b909, 0x22, 0, outputs, 0}) {}
	void connect(unsigned output, AtbReceiver &to) { next.at(output) = &to; }
	void connect_from(AtbSender &from) { above = &from; }

	std::size_t receive(std::uint8_t id, std::span<const std::uint8_t> bytes) override
	{
		const std::size_t taken = std::min(bytes.size(), room(id));
		for (unsigned n = 0; n < outputs; n++)
			if (leads(n, id))
				next[n]->receive(id, bytes.first(taken));
		return taken;
	}
	std::size_t room(std::uint8_t id) const override
	{
		std::size_t least = SIZE_MAX;
		for (unsigned n = 0; n < outputs; n++)
			if (leads(n, id))
				least = std::min(least, next[n]->room(id));
		return least;
	}
	void trigger(std::uint8_t id) override
	{
		for (unsigned n = 0; n < outputs; n++)
			if (leads(n, id))
				next[n]->trigger(id);
	}
	void drain() override
	{
		if (above)
			above->drain();
	}
	bool holds() const override { return above && above->holds(); }

private:
	bool leads(unsigned output, std::uint8_t id) const { return next[output] && !shows(4 * output, 1u << id / 16); }
	bool put(std::uint32_t offset, std::uint32_t value) override
	{
		if (offset >= 4 * outputs)
			return false;
		show(offset, value & 0xff);
		return true;
	}

	std::array<AtbReceiver *, outputs> next{};
	AtbSender *above = nullptr;
};

} // namespace hwsim::arm64

#endif
