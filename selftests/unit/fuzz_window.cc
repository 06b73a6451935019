// SPDX-License-Identifier: GPL-2.0-only
// libFuzzer target for module/window.h and module/chunks.h: any buffer, any rules, any request. Small buffers are compared
// byte by byte, large ones by intervals.
#include "window_oracle.h"

#include <cstdio>
#include <cstdlib>

using namespace unit;

namespace
{

// The fuzzer's bytes, followed by zeros when they are used up.
class Bytes
{
public:
	Bytes(const std::uint8_t *data, std::size_t size) : data_(data), left_(size) {}
	bool done() const { return left_ == 0; }
	std::uint64_t next(unsigned bytes)
	{
		std::uint64_t value = 0;
		for (; bytes && left_; --bytes, --left_)
			value = value << 8 | *data_++;
		return value;
	}
	// Mostly powers of two up to twice the page size, because other rules are soon refused.
	std::uint32_t align(unsigned page_shift)
	{
		const auto shape = static_cast<unsigned>(next(1));
		return shape < 240 ? 1U << shape % (page_shift + 2) : static_cast<std::uint32_t>(next(4));
	}

private:
	const std::uint8_t *data_;
	std::size_t left_;
};

void differ(const Layout &layout, const Rules &rules, const Request &request, const Window &want, const Window &got)
{
	std::fprintf(stderr, "%s; %s; %s; want %s; got %s\n", text(rules).c_str(), layout.text().c_str(),
		text(request).c_str(), text(want).c_str(), text(got).c_str());
	std::abort();
}

Layout layout_from(Bytes &bytes)
{
	const auto kind = bytes.next(1);
	Layout layout{static_cast<unsigned>(kind & 1 ? 12 : 2 + kind / 2 % 5), {}};
	const auto pages = std::uint64_t{1} << (kind & 1 ? bytes.next(1) % 12 : bytes.next(1) % 5);
	for (std::uint64_t left = pages; left;) {
		auto order = static_cast<unsigned>(bytes.done() ? 63 : bytes.next(1) % 12);
		while (order > 20 || (std::uint64_t{1} << order) > left)
			--order;
		layout.orders.push_back(order);
		left -= std::uint64_t{1} << order;
	}
	return layout;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	Bytes bytes(data, size);
	const auto layout = layout_from(bytes);
	const auto shift = layout.page_shift;
	const auto flags = bytes.next(1);
	Rules rules{bytes.align(shift), bytes.align(shift), bytes.align(shift), 0, 0, 0, false, false, false, 0, false};
	switch (flags % 4) {
	case 0:
		rules.granule = bytes.align(shift) << bytes.next(1) % 16;
		break;
	case 1:
	case 2:
		rules.contiguous = true;
		[[fallthrough]];
	default:
		if (flags & 4)
			rules.atom = rules.end_align * static_cast<u32>(1 + bytes.next(1) % 64);
	}
	rules.grid = rules.contiguous && (flags & 8);
	rules.wraps = rules.contiguous && (flags & 2);
	rules.guarded = rules.contiguous && (flags & 4);
	if (!rules.granule && bytes.next(1) % 4 == 0)
		rules.least = bytes.next(2) % layout.bytes();
	const auto length = static_cast<u32>(bytes.next(2) % (2 * layout.page()));
	(flags & 8 ? rules.spare : rules.early) = length;
	Request request{};
	request.overwrite = (flags & 48) == 48;
	request.head = bytes.next(flags & 16 ? 8 : 2);
	request.space = bytes.next(flags & 64 ? 4 : 2);
	request.wakeup = flags & 128 ? bytes.next(8) : request.head + bytes.next(2);

	const Map map(layout);
	// Positions near the very end are the only ones that 64 bits cannot hold.
	request.head &= ~std::uint64_t{0} >> 1;
	request.space %= layout.bytes();
	const bool valid = !auxpmu_window_rules_valid(&rules, map.get());
	if (valid && !rules_fit(rules, layout.page())) {
		std::fprintf(stderr, "accepted: %s; %s\n", text(rules).c_str(), layout.text().c_str());
		std::abort();
	}
	// Larger units add no coverage and take the oracles a long time.
	if (!valid || rules.atom > 64 * layout.page())
		return -1;
	const auto got = auxpmu_window_next(map.get(), &rules, &request);
	const auto want = IntervalOracle(layout, rules)(request);
	if (!same(want, got))
		differ(layout, rules, request, want, got);
	if (layout.bytes() <= BytewiseOracle::most) {
		const auto bytewise = BytewiseOracle(layout, rules)(request);
		if (!same(bytewise, got))
			differ(layout, rules, request, bytewise, got);
	}
	return 0;
}
