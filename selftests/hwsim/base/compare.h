/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The comparer: are the branches that a decoder found those of the truth log? Where trace was lost it finds the place at which
 * both go on, so that one loss is one finding and what follows is still judged.
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
	std::size_t truth = 0;
	std::size_t decoded = 0;
	std::size_t equal = 0;
	std::vector<Difference> differences;
};

/*
 * Both in program order. How far apart the two may be and still be brought together is bounded by "window"; "run" equal steps
 * are taken for agreement.
 */
Comparison compare(
	std::span<const Step> truth, std::span<const Step> decoded, std::size_t window = 1 << 20, std::size_t run = 8);

/* For people: a difference with some of the steps around it. */
std::string describe(const Difference &difference, std::span<const Step> truth, std::span<const Step> decoded);

} // namespace hwsim

#endif
