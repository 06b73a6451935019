// SPDX-License-Identifier: GPL-2.0-or-later
#include "etm_resources.h"

#include <algorithm>

namespace hwsim::arm64::etm
{
namespace
{

/* TRCRSCTLR<n>.GROUP. Each bit of SELECT is a resource of the group; group 2 has counters in bits 0 to 3, then sequencer states. */
enum class Group : std::uint8_t { counters_and_sequencer = 2, comparators = 4, ranges = 5 };

constexpr std::uint64_t inverted = 1 << 20, pair_inverted = 1 << 21;
constexpr std::uint64_t is_pair = 0x80, selector = 0x1f, pair = 0xf;
constexpr unsigned first_state = 4;
/* Selector 0 is never active, selector 1 always is. */
constexpr unsigned always = 1;

} // namespace

void Resources::start()
{
	passed = 0;
	at_zero = {};
	active = {};
	used = false;
	const auto varies = [](std::uint64_t event) {
		return (event & is_pair) || (event & selector) > always;
	};
	for (const std::uint32_t control : {reg::tsctlr, reg::victlr, reg::eventctl0r})
		used |= varies(registers[control]);
}

/* Does the address of comparator "n" equal "pc"? */
bool Resources::at_comparator(unsigned n, std::uint64_t pc) const
{
	return registers[reg::acvr + 8 * n] == pc;
}

bool Resources::in_range(unsigned n, std::uint64_t pc) const
{
	return pc >= registers[reg::acvr + 16 * n] && pc <= registers[reg::acvr + 16 * n + 8];
}

/* Counter "n" is decremented in "decrements" of the cycles. Returns how often it was reloaded. */
std::uint32_t Resources::count(unsigned n, std::uint32_t decrements, std::uint32_t cycles)
{
	const std::uint64_t control = registers[reg::cntctlr + 4 * n], reload = registers[reg::cntrldvr + 4 * n];
	std::uint64_t value = registers[reg::cntvr + 4 * n];
	std::uint32_t reloads = 0;
	std::uint32_t zero = value || decrements == cycles ? 0 : cycles;
	if (decrements <= value) {
		value -= decrements;
	} else if (control & bits::rldself) {
		const std::uint64_t left = decrements - value - 1;
		reloads = static_cast<std::uint32_t>(1 + left / (reload + 1));
		zero = std::max(zero, reloads);
		value = reload - left % (reload + 1);
	} else {
		zero = std::max(zero, static_cast<std::uint32_t>(decrements - value));
		value = 0;
	}
	/* The decrement events are of the previous block, which may have had more cycles than this one. */
	at_zero[n] = std::min(zero, cycles);
	if (happened(control >> 8 & 0xff)) {
		value = reload;
		reloads++;
	}
	registers.set(reg::cntvr + 4 * n, value);
	return reloads;
}

/* IHI0064, "Sequencer": moves to the next or to the previous state, but not if both events occur; a reset takes precedence. */
void Resources::sequence()
{
	const std::uint64_t state = registers[reg::seqstr];
	if (!registers.features.sequencer_states())
		return;
	const auto transition = [this](std::uint64_t from) {
		return registers[reg::seqevr + static_cast<std::uint32_t>(4 * from)];
	};
	const bool forward = state + 1 < registers.features.sequencer_states() && happened(transition(state) & 0xff);
	const bool back = state && happened(transition(state - 1) >> 8 & 0xff);
	if (happened(registers[reg::seqrstevr] & 0xff))
		registers.set(reg::seqstr, 0);
	else if (forward != back)
		registers.set(reg::seqstr, forward ? state + 1 : state - 1);
}

/* The number of cycles in which a selector with this TRCRSCTLR<n> value is active. */
std::uint32_t Resources::select(std::uint64_t control, std::uint64_t pc) const
{
	std::uint32_t most = 0;
	for (unsigned i = 0; i < 16; i++) {
		if (!(control >> i & 1))
			continue;
		std::uint32_t now = 0;
		switch (static_cast<Group>(control >> 16 & 7)) {
		case Group::counters_and_sequencer:
			if (i < most_counters)
				now = at_zero[i];
			else if (i - first_state < registers.features.sequencer_states() &&
				 registers[reg::seqstr] == i - first_state)
				now = passed;
			break;
		case Group::comparators:
			now = i < registers.features.address_pairs() * 2 && at_comparator(i, pc) ? passed : 0;
			break;
		case Group::ranges:
			now = i < registers.features.address_pairs() && in_range(i, pc) ? passed : 0;
			break;
		}
		most = std::max(most, now);
	}
	return control & inverted ? passed - most : most;
}

void Resources::advance(std::uint32_t cycles, std::uint64_t pc)
{
	if (!cycles)
		return;
	/* Counters and sequencer react to the events of the previous block; only selector 1 counts the cycles of this one. */
	active[always] = cycles;
	for (unsigned n = 0, reloads = 0; n < registers.features.counters(); n++) {
		const std::uint64_t control = registers[reg::cntctlr + 4 * n];
		const bool chained = n % 2 && (control & bits::cntchain);
		reloads = count(n, chained ? reloads : times(control & 0xff), cycles);
	}
	sequence();
	passed = cycles;
	for (unsigned n = always + 1; n < registers.features.selector_pairs() * 2; n++)
		active[n] = select(registers[reg::rsctlr + 4 * n], pc);
}

/*
 * The number of cycles of the last block in which the event occurred. The two selectors of a pair are ANDed, and assumed to overlap as much
 * as possible. PAIRINV, and INV of each selector, give the other functions (Arm ARM, TRCRSCTLR<n>).
 */
std::uint32_t Resources::times(std::uint64_t event) const
{
	if (!(event & is_pair))
		return active[event & selector];
	const std::uint32_t first = static_cast<std::uint32_t>(2 * (event & pair));
	if (!first)
		return 0;
	const std::uint32_t both = std::min(active[first], active[first + 1]);
	return registers[reg::rsctlr + 4 * first] & pair_inverted ? passed - both : both;
}

bool Resources::happened(std::uint64_t event) const
{
	return event == always || times(event);
}

} // namespace hwsim::arm64::etm
