/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mappings: where a program has rings and AUX areas mapped, and what it does with them. Each has a place of its own, far from where the kernel puts
 * what it chooses a place for: nobody moves into holes.
 */
#ifndef AUXPMU_FUZZ_MAPPINGS_H
#define AUXPMU_FUZZ_MAPPINGS_H

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "events.h"

namespace auxpmu::fuzz
{

class Mappings
{
public:
	Mappings(const Events &of, const Machine &on, Tally &in) : events(of), machine(on), tally(in) {}

	/* An operation on mappings; an errno, or "avoided". */
	int act(const Operation &operation);

private:
	int map_data(std::uint64_t mapping, std::uint64_t from, std::uint64_t pages, std::uint64_t ring);
	int map_aux(std::uint64_t mapping, std::uint64_t from, std::uint64_t pages, std::uint64_t ring);
	void note_mapping(int fd, bool aux);
	int place_aux(std::uint64_t mapping, std::size_t bytes);
	int unmap(std::uint64_t mapping, bool aux);
	int move(std::uint64_t mapping, std::uint64_t to, bool aux, std::uint64_t pages);
	int protect(std::uint64_t mapping, bool aux, std::uint64_t access);
	int advise(std::uint64_t mapping, bool aux, std::uint64_t advice);
	int poke(std::uint64_t mapping, std::uint64_t member, std::uint64_t value);
	int drain(std::uint64_t mapping);
	/* body(address, bytes) of one that is there; else ENOENT. */
	template <class Body>
	int with_size(std::uint64_t mapping, bool aux, Body &&body);

	const Events &events;
	const Machine &machine;
	Tally &tally;
	std::array<std::array<std::atomic<std::size_t>, nr_mappings>, 2> sizes{};
};

} // namespace auxpmu::fuzz

#endif /* AUXPMU_FUZZ_MAPPINGS_H */
