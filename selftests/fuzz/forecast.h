/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Forecast: what a program's operations would come to if all went well, so that its generator can ask for more of what is there.
 */
#ifndef AUXPMU_FUZZ_FORECAST_H
#define AUXPMU_FUZZ_FORECAST_H

#include <array>
#include <cstdint>

#include "program.h"

namespace auxpmu::fuzz
{

struct Forecast {
	/* Goes well, for all that is known here. */
	void remember(const Operation &operation);

	struct Event {
		bool open = false, mapped = false, samples = false;
		std::uint64_t type = 0;

		bool is_aux() const { return open && fuzz::is_aux(type); }
		bool breaks() const { return open && type == static_cast<std::uint64_t>(Type::breakpoint); }
	};
	struct Mapping {
		bool data = false;
		unsigned event = 0;
	};
	std::array<Event, nr_events> events{};
	std::array<Mapping, nr_mappings> mappings{};
	std::array<bool, nr_actors> actors{true};
	std::array<bool, nr_models> made{}, live{};
	std::array<bool, nr_groups> groups{};
};

} // namespace auxpmu::fuzz

#endif /* AUXPMU_FUZZ_FORECAST_H */
