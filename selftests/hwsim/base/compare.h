/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The comparer: checks that the branches that a decoder found are those of the truth log. After a difference it finds the place
 * from which both agree again, so that one cause is one finding and what follows is still compared. Steps that are missing where
 * the log marks a loss are no difference.
 */
#ifndef HWSIM_BASE_COMPARE_H
#define HWSIM_BASE_COMPARE_H

#include <cstddef>
#include <functional>
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
	std::size_t missing = 0; /* steps of the truth that the trace may lack */
	std::size_t losses = 0;  /* marked in the truth */
	std::size_t excused = 0; /* differences that a convention of the decoder explains */
	std::vector<Difference> differences;
};

struct Rules {
	/* The trace has only parts of what happened, as snapshots do: each part has to be in the truth, in order and in one piece. */
	bool partial = false;
	/* After a difference: how many steps of each to search for the place from which both agree again. */
	std::size_t window = 1 << 20;
	/* So many equal steps count as agreement. */
	std::size_t run = 8;
	/* Explains a convention of the decoder this difference, which comes after so many equal steps? Empty: none does. */
	std::function<bool(std::span<const Step> missing, std::span<const Step> invented, std::size_t alike)> excuse =
		{};
};

/* Both in program order. */
Comparison compare(std::span<const Step> truth, std::span<const Step> decoded, const Rules &rules = {});

/* As text: a difference with some of the steps around it. */
std::string describe(const Difference &difference, std::span<const Step> truth, std::span<const Step> decoded);

} // namespace hwsim

#endif
