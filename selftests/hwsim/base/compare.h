/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The comparer: are the branches that a decoder found those of the truth log? Where they differ it finds the place at which both go
 * on, so that one cause is one finding and what follows is still judged. Where the log says that trace was lost, what is missing is
 * no difference.
 */
#ifndef HWSIM_BASE_COMPARE_H
#define HWSIM_BASE_COMPARE_H

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "truth.h"

namespace hwsim
{

/* A place where the two disagree: truth[truth_at ..+truth_size) stands against decoded[decoded_at ..+decoded_size). */
struct Difference {
	std::size_t truth_at = 0, truth_size = 0;
	std::size_t decoded_at = 0, decoded_size = 0;
};

struct Comparison {
	std::size_t truth = 0; /* without the marks of losses */
	std::size_t decoded = 0;
	std::size_t equal = 0;
	std::size_t missing = 0; /* steps that the trace does not have to have */
	std::size_t losses = 0;  /* marked in the truth, which may say where they end, too */
	std::vector<Difference> differences;
};

struct Rules {
	/* The trace has parts of what happened only, as snapshots have: each has to be in the truth, in order. */
	bool partial = false;
	/* How far apart the two may be and still be brought together. */
	std::size_t window = 1 << 20;
	/* So many equal steps are agreement. */
	std::size_t run = 8;
};

/* Both in program order. */
Comparison compare(std::span<const Step> truth, std::span<const Step> decoded, const Rules &rules = {});

/* For people: a difference with some of the steps around it. */
std::string describe(const Difference &difference, std::span<const Step> truth, std::span<const Step> decoded);

} // namespace hwsim

#endif
