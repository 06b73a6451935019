// SPDX-License-Identifier: GPL-2.0-only
// drivers/pt/leaf.c: what processors with different leaves 14H have in common, compared with sets: a flag or a value is common
// if every processor has it; the number of address ranges is that of the processor with the fewest.
#include "layout.h"

extern "C" {
#include "../../drivers/pt/leaf.h"
}

#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <utility>
#include <vector>

using namespace unit;

namespace
{

// Some bits of a register, or a number in it.
struct Field {
	unsigned subleaf, reg, lowest, width;
	bool number;
};

// SDM volume 3, "CPUID Leaf 14H"; reserved bits are treated as flags.
constexpr Field fields[] = {
	{0, PT_EAX, 0, 32, true},
	{0, PT_EBX, 0, 32, false},
	{0, PT_ECX, 0, 32, false},
	{0, PT_EDX, 0, 32, false},
	{1, PT_EAX, 0, 3, true},
	{1, PT_EAX, 3, 29, false},
	{1, PT_EBX, 0, 32, false},
	{1, PT_ECX, 0, 32, false},
	{1, PT_EDX, 0, 32, false},
};

std::uint32_t value_of(const pt_leaf &leaf, const Field &field)
{
	return static_cast<std::uint32_t>(
		leaf.reg[field.subleaf][field.reg] >> field.lowest & ((std::uint64_t{1} << field.width) - 1));
}

// Most bits are set, so that several processors have some in common.
pt_leaf any_leaf(Random &random)
{
	pt_leaf leaf{};

	for (auto &subleaf : leaf.reg)
		for (auto &reg : subleaf)
			for (unsigned bit = 0; bit < 32; bit++)
				reg |= static_cast<std::uint32_t>(pick(random, 0, 3) != 0) << bit;
	return leaf;
}

bool can(const pt_leaf &leaf, const pt_leaf &needed)
{
	return std::ranges::all_of(fields, [&](const Field &field) {
		const auto has = value_of(leaf, field), wants = value_of(needed, field);
		return field.number ? has >= wants : (has & wants) == wants;
	});
}

} // namespace

TEST_CASE("leaf: processors have in common what each of them can do, and nothing else")
{
	Random random(Catch::getSeed());

	for (unsigned n = 0; n < 2000; n++) {
		std::vector<pt_leaf> all(pick(random, 1, 4));
		std::ranges::generate(all, [&] { return any_leaf(random); });
		pt_leaf common;
		std::memset(&common, 0xff, sizeof common);
		for (const auto &leaf : all)
			pt_leaf_meet(&common, &leaf);
		for (const auto &field : fields) {
			std::uint32_t expected = value_of(all[0], field);
			for (const auto &leaf : all)
				expected = field.number ? std::min(expected, value_of(leaf, field))
							: expected & value_of(leaf, field);
			ENSURE(value_of(common, field) == expected);
		}
		for (const auto &leaf : all)
			ENSURE(pt_leaf_covers(&leaf, &common));
	}
}

TEST_CASE("leaf: one covers what it can do, and lacks a single flag, or one of what is counted")
{
	Random random(Catch::getSeed());
	unsigned both[2] = {};

	for (unsigned n = 0; n < 2000; n++) {
		const auto leaf = any_leaf(random);
		auto less = leaf;
		ENSURE(pt_leaf_covers(&leaf, &leaf));
		for (const auto &field : fields) {
			const auto value = value_of(leaf, field);
			if (!value)
				continue;
			less = leaf;
			less.reg[field.subleaf][field.reg] -= (field.number ? 1u : value & -value) << field.lowest;
			ENSURE(pt_leaf_covers(&leaf, &less));
			ENSURE(!pt_leaf_covers(&less, &leaf));
		}
		const auto other = any_leaf(random);
		for (const pt_leaf *needed : {&other, &std::as_const(less)}) {
			const bool covers = can(leaf, *needed);
			ENSURE(pt_leaf_covers(&leaf, needed) == covers);
			both[covers]++;
		}
	}
	CHECK(both[0] > 100);
	CHECK(both[1] > 100);
}
