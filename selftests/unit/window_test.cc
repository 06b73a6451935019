// SPDX-License-Identifier: GPL-2.0-only
// The contract of module/window.h: what the hardware may write, and where it interrupts, checked against oracles that try every
// position.
#include "window_oracle.h"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <iostream>

using namespace unit;

namespace
{

// Rules that a trace unit might set for a buffer of `page` byte pages, consistent or not.
std::vector<Rules> rule_book(u32 page, u32 size, bool thorough)
{
	std::vector<u32> aligns, units = {1, 2, 3, 4, 6, 8, 12, 16, 24}, spares = {0, 1, 3, page, page + 1, 2 * page};
	std::vector<u32> granules;
	if (!thorough)
		spares = {0, 3, page};
	for (u32 align = 1; align <= page; align *= 2)
		aligns.push_back(align);
	for (u32 granule = page; granule <= 2 * size; granule *= 2)
		granules.push_back(granule);
	std::vector<Rules> book;
	for (auto start : aligns)
		for (auto end : aligns)
			for (auto unit : units)
				for (auto spare : spares) {
					book.push_back({start, end, unit, spare, 0, spare == 0, false, false, false, 0,
						false});
					book.push_back(
						{start, end, unit, spare, 0, 0, true, false, spare == 0, 0, false});
					book.push_back({start, end, unit, spare, 0, 0, true, false, false, 0, true});
					if (unit % start == 0 && unit % end == 0)
						book.push_back({start, end, unit, spare, 0, spare == 0, true, true,
							spare == 0, 0, false});
					if (end == 1 || end == page) // to be ignored
						for (auto granule : granules)
							book.push_back({start, end, unit, spare, granule, spare == 0,
								false, false, false, 0, false});
				}
	return book;
}

std::string wrong(
	const Layout &layout, const Rules &rules, const Request &request, const Window &want, const Window &got)
{
	return text(layout.orders.empty() ? Rules{} : rules) + "; " + layout.text() + "; " + text(request) + "; want " +
	       text(want) + "; got " + text(got);
}

struct Tally {
	std::uint64_t buffers = 0, rules = 0, refused = 0, answers = 0, full = 0;
};

// Compares all heads of one lap, all amounts of space, and all requested wakeups.
void compare_everywhere(const Layout &layout, const Rules &rules, std::uint64_t base, bool all_wakeups, Tally &tally)
{
	const Map map(layout);
	if (auxpmu_window_rules_valid(&rules, map.get())) {
		++tally.refused;
		return;
	}
	++tally.rules;
	BytewiseOracle oracle(layout, rules);
	auto compare = [&](const Request &request) {
		const auto want = oracle.answer(request.wakeup);
		const auto got = auxpmu_window_next(map.get(), &rules, &request);
		++tally.answers;
		tally.full += want.full;
		if (!same(want, got))
			FAIL(wrong(layout, rules, request, want, got));
	};
	const auto size = layout.bytes();
	for (auto head = base; head < base + size; ++head) {
		oracle.place(head, 0, true);
		compare({head, 0, 0, true});
		compare({head, size - 1, head + 1, true}); // space and wakeup must be ignored
		for (std::uint64_t space = 0; space < size; ++space) {
			oracle.place(head, space, false);
			if (all_wakeups) {
				for (auto wakeup = head ? head - 1 : 0; wakeup <= head + space + 2; ++wakeup)
					compare({head, space, wakeup, false});
				compare({head, space, 0, false});
			} else {
				const auto some = head + (head * 7 + space * 5) % (space + 2);
				compare({head, space, some, false});
				compare({head, space, some + 1, false});
				compare({head, space, head, false});
			}
			compare({head, space, head + 3 * size, false});
			compare({head, space, ~std::uint64_t{0} - (head + space) % 3, false}); // no wakeup requested
		}
	}
}

// Finds a head, among those that a unit with these rules leaves behind, at which an empty buffer has no window.
std::optional<std::uint64_t> stuck_at(const Layout &layout, const Map &map, const Rules &rules)
{
	const auto size = layout.bytes();
	for (auto head = size; head < 2 * size; ++head)
		for (bool overwrite : {false, true}) {
			const Request request{head, size - 1, head + size / 2, overwrite};
			if (left_behind(rules, head) && auxpmu_window_next(map.get(), &rules, &request).full)
				return head;
		}
	return {};
}

void report(const char *what, const Tally &tally)
{
	std::cout << "# " << what << ": " << tally.buffers << " layouts, " << tally.rules << " buffers with rules ("
		  << tally.refused << " refused), " << tally.answers << " windows compared (" << tally.full
		  << " of them full)\n";
}

Rules random_rules(Random &random, u32 page, std::uint64_t size)
{
	auto power = [&](std::uint64_t least, std::uint64_t most) {
		auto n = least;
		while (n < most && pick(random, 0, 3))
			n *= 2;
		return static_cast<u32>(n);
	};
	Rules rules{};
	rules.start_align = power(1, page);
	rules.end_align = power(1, page);
	const auto kind = pick(random, 0, 2);
	if (kind == 0) {
		rules.granule = power(page, std::min<std::uint64_t>(size, 1U << 30));
		rules.atom = power(1, page);
	} else {
		rules.contiguous = kind == 1;
		rules.atom =
			pick(random, 0, 1)
				? rules.end_align * static_cast<u32>(pick(random, 1, rules.end_align > 256 ? 2 : 40))
				: power(1, rules.end_align);
	}
	rules.grid = rules.contiguous && pick(random, 0, 1);
	if (rules.grid && rules.atom % rules.start_align)
		rules.start_align = 1;
	rules.wraps = rules.contiguous && pick(random, 0, 1);
	rules.guarded = rules.contiguous && pick(random, 0, 3) == 0;
	if (kind && pick(random, 0, 2) == 0)
		rules.least = pick(random, 1, size / 2 + 1);
	if (pick(random, 0, 1))
		rules.spare = static_cast<u32>(pick(random, 0, 2 * page));
	else if (pick(random, 0, 1))
		rules.early = static_cast<u32>(pick(random, 0, page));
	return rules;
}

} // namespace

TEST_CASE("the two oracles agree, so that either may be trusted for the other")
{
	Random random(5);
	std::uint64_t compared = 0;
	while (compared < 60000) {
		const auto page_shift = static_cast<unsigned>(pick(random, 2, 5));
		const auto layout = random_layout(random, page_shift, std::uint64_t{1} << pick(random, 0, 4), 4);
		const auto size = layout.bytes();
		const auto rules = random_rules(random, static_cast<u32>(layout.page()), size);
		if (!rules_fit(rules, layout.page()))
			continue;
		BytewiseOracle bytes(layout, rules);
		const IntervalOracle intervals(layout, rules);
		for (int i = 0; i < 30; ++i, ++compared) {
			const Request request{pick(random, 0, 3 * size), pick(random, 0, size - 1),
				pick(random, 0, 4 * size), pick(random, 0, 4) == 0};
			const auto a = bytes(request);
			const auto b = intervals(request);
			if (!same(a, b))
				FAIL(wrong(layout, rules, request, a, b));
		}
	}
	SUCCEED();
}

namespace
{

// All buffers of one, two and four pages.
template <class Visit>
void in_small_buffers(unsigned page_shift, Tally &tally, const Visit &visit)
{
	for (unsigned pages : {1U, 2U, 4U})
		for (const auto &orders : all_tilings(pages)) {
			++tally.buffers;
			visit(Layout{page_shift, orders});
		}
}

} // namespace

TEST_CASE("in buffers of up to 16 bytes every window is the longest allowed, for all rules, heads, spaces and wakeups")
{
	Tally tally;
	in_small_buffers(2, tally, [&](const Layout &layout) {
		for (const auto &rules : rule_book(4, static_cast<u32>(layout.bytes()), true))
			if (rules_fit(rules, 4))
				for (std::uint64_t lap : {std::uint64_t{0}, std::uint64_t{3}})
					compare_everywhere(layout, rules, lap * layout.bytes(), true, tally);
	});
	report("every window of 4, 8, 16 bytes", tally);
	CHECK(tally.answers > 0);
}

TEST_CASE("in buffers of up to 16 bytes no window is shorter than the least, and every one the longest allowed")
{
	Tally tally;
	in_small_buffers(2, tally, [&](const Layout &layout) {
		for (auto rules : rule_book(4, static_cast<u32>(layout.bytes()), false))
			for (u32 least : {1U, 2U, 3U, 4U, 5U, 8U, 11U}) {
				rules.least = least;
				if (rules_fit(rules, 4))
					compare_everywhere(layout, rules, layout.bytes(), false, tally);
			}
	});
	report("least windows of 4, 8, 16 bytes", tally);
	CHECK(tally.answers > 0);
	CHECK(tally.full > 0);
}

TEST_CASE("in buffers of up to 32 bytes every window is the longest allowed, for all rules, heads and spaces",
	"[.thorough]")
{
	Tally tally;
	in_small_buffers(3, tally, [&](const Layout &layout) {
		for (const auto &rules : rule_book(8, static_cast<u32>(layout.bytes()), false))
			if (rules_fit(rules, 8))
				compare_everywhere(layout, rules, layout.bytes(), false, tally);
	});
	report("windows of 8, 16, 32 bytes", tally);
	CHECK(tally.answers > 0);
}

TEST_CASE("in buffers of eight pages, cut in all 56 ways, windows are the longest allowed")
{
	Tally tally;
	Random random(6);
	const auto book = rule_book(4, 32, true);
	for (const auto &orders : all_tilings(8)) {
		const Layout layout{2, orders};
		++tally.buffers;
		for (int i = 0; i < 60; ++i) {
			const auto &rules = book[pick(random, 0, book.size() - 1)];
			if (rules_fit(rules, 4))
				compare_everywhere(layout, rules, layout.bytes() * pick(random, 0, 4), false, tally);
		}
	}
	report("windows of eight pages", tally);
	SUCCEED();
}

TEST_CASE("small buffers far up the stream, near 2^32 and 2^63, have the same windows")
{
	Tally tally;
	Random random(7);
	for (const auto &orders : all_tilings(4)) {
		const Layout layout{3, orders};
		++tally.buffers;
		for (const auto &rules : rule_book(8, 32, true))
			if (rules_fit(rules, 8) && pick(random, 0, 15) == 0)
				for (unsigned power : {31U, 32U, 62U, 63U})
					compare_everywhere(layout, rules, (std::uint64_t{1} << power) - layout.bytes(),
						false, tally);
	}
	report("windows far up", tally);
	SUCCEED();
}

namespace
{

// Checks for every position inside a window that the reported rest of it is what a new request would return.
void compare_rests(const Layout &layout, const Rules &rules, std::uint64_t &left, std::uint64_t &refused)
{
	const Map map(layout);
	const auto size = layout.bytes();
	if (auxpmu_window_rules_valid(&rules, map.get()))
		return;
	auto walk = [&](const Request &request) {
		const auto whole = auxpmu_window_next(map.get(), &rules, &request);
		if (whole.full)
			return;
		const auto end = request.head + request.space;
		for (auto at = whole.from; at <= std::min(whole.to, whole.from + 2 * size); ++at) {
			auto rest = whole;
			if (!auxpmu_window_rest(&rules, &rest, at)) {
				++refused;
				continue;
			}
			++left;
			// The buffer is full except for the byte that the core does not count: a window continues to its end.
			if (rules.granule && !request.overwrite && at == end) {
				CHECK((rest.from == at && rest.to == whole.to && rest.irq == whole.irq &&
					at < rest.to));
				continue;
			}
			const Request anew{at, end - at, request.wakeup, request.overwrite};
			const auto want = auxpmu_window_next(map.get(), &rules, &anew);
			if (!same(want, rest))
				FAIL(wrong(layout, rules, anew, want, rest));
		}
	};
	for (auto head = size; head < 2 * size; ++head) {
		walk({head, 0, 0, true});
		walk({head - size, 0, 0, true});
		for (std::uint64_t space = 0; space < size; ++space)
			for (auto wakeup = head - 1; wakeup <= head + space + 2; ++wakeup)
				walk({head, space, wakeup, false});
	}
}

} // namespace

TEST_CASE("what is left of a window when its first part is written is the window from there")
{
	std::uint64_t left = 0, refused = 0;
	for (unsigned pages : {1U, 2U, 4U})
		for (const auto &orders : all_tilings(pages)) {
			const Layout layout{2, orders};
			for (auto rules : rule_book(4, 4 * pages, true))
				for (u32 least : {0U, 3U, 5U}) {
					rules.least = least;
					if (rules_fit(rules, 4))
						compare_rests(layout, rules, left, refused);
				}
		}
	std::cout << "# rests of windows: " << left << " compared, " << refused << " to be computed anew\n";
	CHECK(left > 0);
	CHECK(refused > 0);
}

namespace
{

void in_random_buffers(int buffers)
{
	Tally tally;
	// A different stream of numbers for each given seed (--rng-seed); otherwise always the same.
	const auto seed = Catch::getSeed();
	Random random(seed);
	for (int i = 0; i < buffers; ++i) {
		// Pages of 4, 16 and 64 KiB.
		const unsigned page_shift = 12 + 2 * static_cast<unsigned>(pick(random, 0, 7) ? 0 : pick(random, 1, 2));
		// The shift makes small buffers as likely as large ones; very large ones are rare, because their layouts take
		// long to make.
		const auto pages = std::uint64_t{1} << pick(random, 0, i % 16 ? 12 : 31 - page_shift);
		const auto layout = random_layout(
			random, page_shift, pages, static_cast<unsigned>(pick(random, 0, 31 - page_shift)));
		const auto size = layout.bytes();
		const Map map(layout);
		++tally.buffers;
		for (int j = 0; j < 30; ++j) {
			const auto rules = random_rules(random, static_cast<u32>(layout.page()), size);
			if (auxpmu_window_rules_valid(&rules, map.get())) {
				++tally.refused;
				continue;
			}
			++tally.rules;
			const IntervalOracle oracle(layout, rules);
			for (int k = 0; k < 40; ++k) {
				const std::uint64_t bases[] = {0, std::uint64_t{1} << 31, std::uint64_t{1} << 32,
					std::uint64_t{1} << 63, pick(random, 0, std::uint64_t{1} << 62)};
				Request request{};
				request.head = bases[pick(random, 0, 4)];
				if (pick(random, 0, 1)) // a little before, or up to a lap behind
					request.head -= std::min(request.head, pick(random, 0, 3 * layout.page()));
				else
					request.head += pick(random, 0, size);
				const auto most = pick(random, 0, 1) ? size - 1 : std::min(size - 1, 4 * layout.page());
				request.space = pick(random, 0, 7) ? pick(random, 0, most) : size - 1;
				request.wakeup = request.head + pick(random, 0, size);
				if (pick(random, 0, 7) == 0)
					request.wakeup = pick(random, 0, request.head);
				request.overwrite = pick(random, 0, 7) == 0;
				const auto want = oracle(request);
				const auto got = auxpmu_window_next(map.get(), &rules, &request);
				++tally.answers;
				tally.full += want.full;
				if (!same(want, got))
					FAIL("seed " << seed << ": " << wrong(layout, rules, request, want, got));
			}
		}
	}
	std::cout << "# seed " << seed << '\n';
	report("random windows", tally);
	CHECK(tally.rules > tally.refused / 4);
}

} // namespace

TEST_CASE("in random buffers of up to 2 GiB windows are the longest allowed")
{
	in_random_buffers(100);
}

TEST_CASE("in many random buffers of up to 2 GiB windows are the longest allowed", "[.thorough]")
{
	in_random_buffers(1000);
}

TEST_CASE("an empty buffer is never full, whatever valid rules it is used with, wherever such a unit left the head")
{
	// Otherwise the consumer, which has read everything, waits for the hardware, and the hardware for the consumer.
	std::uint64_t valid = 0, needlessly_refused = 0;
	for (auto [page_shift, pages] : {std::pair{2U, 1U}, {2U, 2U}, {2U, 4U}, {2U, 8U}, {3U, 1U}, {3U, 2U}, {3U, 4U}})
		for (const auto &orders : all_tilings(pages)) {
			const Layout layout{page_shift, orders};
			const Map map(layout);
			for (const auto &rules : rule_book(1U << page_shift, static_cast<u32>(layout.bytes()), true)) {
				if (!rules_fit(rules, layout.page()))
					continue;
				const auto stuck = stuck_at(layout, map, rules);
				if (auxpmu_window_rules_valid(&rules, map.get())) {
					needlessly_refused += !stuck;
				} else {
					++valid;
					if (stuck)
						FAIL(text(rules) << "; " << layout.text() << "; head " << *stuck);
				}
			}
		}
	std::cout << "# empty buffers: " << valid << " valid with rules, none ever full; " << needlessly_refused
		  << " refused although never full\n";
	SUCCEED();
}

TEST_CASE("rules are refused, with a sentence, exactly if they do not fit together or do not fit the page")
{
	const Layout layout{12, {4, 4, 4, 4}};
	const Map map(layout);
	const u32 aligns[] = {0, 1, 2, 3, 8, 24, 64, 4095, 4096, 8192, 1U << 31, ~0U};
	const u32 units[] = {0, 1, 3, 8, 24, 48, 64, 4096, 8192};
	const u32 granules[] = {0, 1, 64, 2048, 4096, 4097, 12288, 16384, 1U << 31, ~0U};
	for (auto start : aligns)
		for (auto end : aligns)
			for (auto unit : units)
				for (auto granule : granules)
					for (bool contiguous : {false, true}) {
						const Rules rules{start, end, unit, 0, granule, 0, contiguous, false,
							false, 0, false};
						CAPTURE(text(rules));
						const auto *alone = auxpmu_window_rules_alone(&rules, 4096);
						const auto *fitted = auxpmu_window_rules_valid(&rules, map.get());
						ENSURE((alone == nullptr) == rules_fit(rules, 4096));
						// The same holds for larger pages (arm64).
						for (std::uint64_t page : {16384, 65536})
							ENSURE((auxpmu_window_rules_alone(&rules, page) == nullptr) ==
								rules_fit(rules, page));
						if (!rules_fit(rules, 4096))
							ENSURE(fitted != nullptr);
						if (alone)
							ENSURE(fitted != nullptr);
						if (rules_fit(rules, 4096) && granule <= 16384 && unit <= 4096)
							ENSURE(fitted == nullptr);
						for (const auto *sentence : {alone, fitted})
							if (sentence)
								ENSURE(std::strchr(sentence, ' ') != nullptr);
					}
	SUCCEED();
}

TEST_CASE("a grid, spare bytes and an early interrupt are refused exactly if they fit neither each other nor the rest")
{
	Random random(8);
	const auto one_of = [&random](const std::vector<u32> &values) {
		return values[pick(random, 0, values.size() - 1)];
	};
	std::uint64_t fit = 0, refused = 0;
	while (fit + refused < 100000) {
		const u32 page = one_of({4096, 16384, 65536});
		const Rules rules{one_of({1, 8, 64}), one_of({1, 16, 64}), one_of({1, 8, 24, 48, 64, 192}),
			one_of({0, 0, 1, page, page + 1}), one_of({0, 65536}),
			one_of({0, 0, 1, page - 1, page, page + 1}), one_of({0, 1}) == 1, one_of({0, 1}) == 1, false,
			one_of({0, 0, 1, 65536}), one_of({0, 0, 1}) == 1};
		(rules_fit(rules, page) ? fit : refused)++;
		if ((auxpmu_window_rules_alone(&rules, page) == nullptr) != rules_fit(rules, page))
			FAIL(text(rules) << "; a page of " << page);
	}
	CHECK(fit > 1000);
}

TEST_CASE("BTS, which keeps room for what comes after its interrupt, has windows in buffers from one page on")
{
	for (unsigned pages = 1; pages <= 64; pages *= 2)
		for (unsigned order = 0; (1U << order) <= pages; ++order) {
			const Layout layout{12, std::vector<unsigned>(pages >> order, order)};
			const Map map(layout);
			// The spare room that drivers/bts keeps.
			const u32 spare = std::min(4080U, ((4096U << order) / 2 - 48) / 24 * 24);
			const Rules rules{1, 1, 24, spare, 0, 0, true, true, true, 0, false};
			CAPTURE(layout.text(), spare);
			ENSURE(auxpmu_window_rules_valid(&rules, map.get()) == nullptr);
			ENSURE(!stuck_at(layout, map, rules));
		}
	SUCCEED();
}

TEST_CASE("a guarded buffer is refused exactly if a head is left behind from which there is no window")
{
	std::uint64_t accepted = 0, refused = 0;
	for (unsigned order = 0; order <= 3; ++order)
		for (u32 end : {1U, 2U, 4U})
			for (u32 spare : {0U, 1U, 2U, 3U, 4U}) {
				const Layout layout{2, {order}};
				const Map map(layout);
				const Rules rules{1, end, 1, spare, 0, 0, true, false, false, 0, true};
				CAPTURE(text(rules), layout.text());
				const bool valid = !auxpmu_window_rules_valid(&rules, map.get());
				(valid ? accepted : refused)++;
				ENSURE(valid == !stuck_at(layout, map, rules));
			}
	CHECK(accepted > 0);
	CHECK(refused > 0);
}

TEST_CASE("the rules of trace units that exist are accepted for the buffers they are used with")
{
	const std::vector<std::pair<const char *, Rules>> known = {
		{"Intel PT, one region", {1, 1, 1, 0, 4096, 512, false, false, false, 0, false}},
		{"Intel PT", {1, 1, 1, 0, 65536, 0, false, false, false, 0, false}},
		{"BTS", {1, 1, 24, 4080, 0, 0, true, true, true, 0, false}},
		{"SPE", {64, 4096, 1, 0, 0, 0, true, false, false, 0, false}},
		{"TRBE", {64, 4096, 1, 0, 0, 0, true, false, false, 0, false}},
		{"TRBE that writes behind its limit", {64, 4096, 1, 64, 0, 0, true, false, false, 0, false}},
		{"ETR, flat", {4096, 4096, 16, 0, 0, 0, true, false, true, 2048, false}},
		{"ETR, scattered", {4096, 4096, 16, 0, 0, 0, false, false, false, 2048, false}},
		{"copy", {1, 1, 1, 0, 0, 0, false, false, false, 0, false}},
		{"copy of whole records", {1, 64, 64, 0, 0, 0, false, false, false, 0, false}},
	};
	for (unsigned pages = 8; pages <= 1024; pages *= 2)
		for (unsigned order = 2; (1U << order) <= pages && order <= 10; ++order) {
			const Layout layout{12, std::vector<unsigned>(pages >> order, order)};
			const Map map(layout);
			for (const auto &[name, rules] : known) {
				CAPTURE(name, layout.text());
				const auto *sentence = auxpmu_window_rules_valid(&rules, map.get());
				if (sentence)
					UNSCOPED_INFO(sentence);
				ENSURE(sentence == nullptr);
			}
		}
	SUCCEED();
}
