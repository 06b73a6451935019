/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Funnel: merges several inputs into one output (CoreSight SoC-400 TRM, DDI0480, "ATB funnel"). A disabled input accepts no bytes. */
#ifndef HWSIM_ARM64_FUNNEL_H
#define HWSIM_ARM64_FUNNEL_H

#include <algorithm>
#include <array>
#include <vector>

#include "atb.h"
#include "component.h"

namespace hwsim::arm64
{

class Funnel final : public Component, public AtbSender
{
public:
	static constexpr unsigned most_inputs = 8;

	Funnel() : Component({0x000b'b908, 0x12, 0, 0x30 | most_inputs, 0})
	{
		for (unsigned n = 0; n < most_inputs; n++)
			inputs[n].set(*this, n);
		show(control, minimum_hold_time);
		show(priorities, 0x00fa'c688);
	}
	void connect(AtbReceiver &to) { next = &to; }
	void connect_from(AtbSender &from) { above.push_back(&from); }
	AtbReceiver &input(unsigned n) { return inputs.at(n); }

	void drain() override
	{
		for (AtbSender *from : above)
			from->drain();
	}
	bool holds() const override
	{
		return std::ranges::any_of(above, [](const AtbSender *from) { return from->holds(); });
	}

private:
	static constexpr std::uint32_t control = 0x000, priorities = 0x004;
	static constexpr std::uint32_t minimum_hold_time = 0x300;

	class Input final : public AtbReceiver
	{
	public:
		void set(Funnel &to, unsigned with)
		{
			of = &to;
			number = with;
		}
		std::size_t receive(std::uint8_t id, std::span<const std::uint8_t> bytes) override
		{
			return enabled() ? of->next->receive(id, bytes) : 0;
		}
		std::size_t room(std::uint8_t id) const override { return enabled() ? of->next->room(id) : 0; }
		void trigger(std::uint8_t id) override
		{
			if (enabled())
				of->next->trigger(id);
		}

	private:
		bool enabled() const { return of->next && of->shows(control, 1u << number); }

		Funnel *of = nullptr;
		unsigned number = 0;
	};

	bool put(std::uint32_t offset, std::uint32_t value) override
	{
		if (offset != control && offset != priorities)
			return false;
		show(offset, value & (offset == control ? 0xfff : 0xff'ffff));
		return true;
	}

	std::array<Input, most_inputs> inputs;
	AtbReceiver *next = nullptr;
	std::vector<AtbSender *> above;
};

} // namespace hwsim::arm64

#endif
