// SPDX-License-Identifier: GPL-2.0-or-later
#include "etm_resources.h"

namespace hwsim::arm64::etm
{
namespace
{

/* TRCRSCTLR<n>.GROUP; the resources of a group are bits of SELECT. */
enum class Group : std::uint8_t { counters = 2, comparators = 4, ranges = 5 };

constexpr std::uint64_t inverted = 1 << 20, is_pair = 0x80, selector = 0x1f;
/* Selectors 0 and 1 are never and always. */
constexpr std::uint32_t always = 2;

} // namespace

void Resources::start()
{
	at_zero = {};
	selected = always;
	used = false;
	const auto varies = [](std::uint64_t event) {
		return (event & selector) > 1;
	};
	for (const std::uint32_t control : {reg::tsctlr, reg::victlr, reg::eventctl0r})
		used |= varies(registers[control]);
}

/* Does the comparator's address lie here? */
bool Resources::at_comparator(unsigned n, std::uint64_t pc) const
{
	return registers[reg::acvr + 8 * n] == pc;
}

bool Resources::in_range(unsigned n, std::uint64_t pc) const
{
	return pc >= registers[reg::acvr + 16 * n] && pc <= registers[reg::acvr + 16 * n + 8];
}

/* How often it got to zero and was reloaded. */
unsigned Resources::count(unsigned n, std::uint64_t cycles)
{
	const std::uint64_t control = registers[reg::cntctlr + 4 * n], reload = registers[reg::cntrldvr + 4 * n];
	std::uint64_t value = registers[reg::cntvr + 4 * n];
	unsigned reloads = 0;
	if (cycles <= value) {
		value -= cycles;
	} else if (control & bits::rldself) {
		const std::uint64_t left = cycles - value - 1;
		reloads = static_cast<unsigned>(1 + left / (reload + 1));
		value = reload - left % (reload + 1);
	} else {
		value = 0;
	}
	at_zero[n] = !value || reloads;
	if (happened(control >> 8 & 0xff)) {
		value = reload;
		reloads++;
	}
	registers.set(reg::cntvr + 4 * n, value);
	return reloads;
}

void Resources::advance(std::uint32_t cycles, std::uint64_t pc)
{
	unsigned reloads = 0;
	for (unsigned n = 0; n < registers.features.counters(); n++) {
		const std::uint64_t control = registers[reg::cntctlr + 4 * n];
		const bool chained = n % 2 && (control & bits::cntchain);
		reloads = count(n, chained ? reloads : happened(control & 0xff) ? cycles : 0);
	}
	selected = always;
	for (unsigned n = 2; n < registers.features.selector_pairs() * 2; n++) {
		const std::uint64_t control = registers[reg::rsctlr + 4 * n];
		bool found = false;
		for (unsigned i = 0; i < 16; i++) {
			if (!(control >> i & 1))
				continue;
			switch (static_cast<Group>(control >> 16 & 15)) {
			case Group::counters:
				found |= i < most_counters && at_zero[i];
				break;
			case Group::comparators:
				found |= i < registers.features.address_pairs() * 2 && at_comparator(i, pc);
				break;
			case Group::ranges:
				found |= i < registers.features.address_pairs() && in_range(i, pc);
				break;
			}
		}
		if (found != bool(control & inverted))
			selected |= std::uint32_t{1} << n;
	}
}

bool Resources::happened(std::uint64_t event) const
{
	return !(event & is_pair) && (selected >> (event & selector) & 1);
}

} // namespace hwsim::arm64::etm
