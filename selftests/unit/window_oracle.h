// SPDX-License-Identifier: GPL-2.0-only
// Two oracles for module/window.h: byte by byte for small buffers, and by intervals for
// buffers of any size. Both try candidate positions one after the other, and share nothing with the code under test. They
// share with each other only the few rules below, before the first oracle.
#pragma once

#include "layout.h"

#include <algorithm>
#include <optional>

namespace unit
{

using Rules = auxpmu_window_rules;
using Request = auxpmu_window_request;
using Window = auxpmu_window;

inline std::string text(const Rules &rules)
{
	std::ostringstream out;
	out << "start_align " << rules.start_align << " end_align " << rules.end_align << " unit " << rules.atom
	    << " spare " << rules.spare << " granule " << rules.granule
	    << (rules.contiguous ? " contiguous" : " scattered") << (rules.grid ? " grid" : "")
	    << (rules.wraps ? " wraps" : "") << " early " << rules.early << " least " << rules.least
	    << (rules.guarded ? " guarded" : "");
	return out.str();
}

inline std::string text(const Request &request)
{
	std::ostringstream out;
	out << "head " << request.head << " space " << request.space << " wakeup " << request.wakeup
	    << (request.overwrite ? " overwrite" : "");
	return out.str();
}

inline std::string text(const Window &window)
{
	std::ostringstream out;
	if (window.full)
		return "full";
	auto limit = [](std::uint64_t at) {
		return at == AUXPMU_NO_LIMIT ? std::string("never") : std::to_string(at);
	};
	out << "from " << window.from << " to " << limit(window.to) << " irq " << limit(window.irq);
	return out.str();
}

inline bool same(const Window &a, const Window &b)
{
	return a.full == b.full && (a.full || (a.from == b.from && a.to == b.to && a.irq == b.irq));
}

// How many bytes a window may use from head on. The core reports one byte less than is free, and only region hardware may use
// that byte; but the core also reports 0 for a buffer that is completely full, where there is no such byte.
inline std::uint64_t writable(const Rules &rules, std::uint64_t space)
{
	return rules.granule && space ? space + 1 : space;
}

// Where hardware that has one region and overwrites it must interrupt: at the end of its first lap, when it has filled the
// buffer.
inline std::uint64_t first_lap_end(const Rules &rules, std::uint64_t from, std::uint64_t size)
{
	return rules.early && from / size == 0 ? size : AUXPMU_NO_LIMIT;
}

// Must hardware that stops at a region end interrupt before it reaches the last one, so that it can continue meanwhile?
inline bool warns(const Rules &rules)
{
	return rules.granule != 0;
}

// Does the hardware hold no more than the region that it is writing?
inline bool one_region(const Rules &rules)
{
	return rules.granule && rules.early;
}

// Does overwriting hardware continue from the end of the buffer at its beginning?
inline bool endless(const Rules &rules, std::size_t chunks)
{
	return !rules.contiguous || (rules.wraps && chunks == 1);
}

// May a window start here, according to a grid that begins with the buffer and has only whole units?
inline bool in_grid(const Rules &rules, std::uint64_t from, std::uint64_t size)
{
	return !rules.grid || (from % size % rules.atom == 0 && from % size + rules.atom <= size);
}

// Is this a head that a unit with these rules leaves behind if it starts with an empty buffer?
inline bool left_behind(const Rules &rules, std::uint64_t head)
{
	if (rules.atom % rules.start_align || rules.grid)
		return true;
	const auto step = rules.granule ? rules.atom : std::min(rules.atom, rules.end_align);
	return head % rules.start_align == 0 && head % step == 0;
}

// The buffer as an array of bytes, for buffers of at most `most` bytes.
class BytewiseOracle
{
public:
	static constexpr std::size_t most = 2048;

	BytewiseOracle(const Layout &layout, const Rules &rules) : rules_(rules), size_(layout.bytes())
	{
		std::uint64_t page = 0;
		unsigned chunk = 0;
		region_end_.assign(size_, false);
		for (auto order : layout.orders) {
			const auto first = page * layout.page();
			const auto length = layout.page() << order;
			chunk_.insert(chunk_.end(), length, chunk++);
			for (std::uint64_t byte = first; byte < first + length; ++byte)
				if ((byte - first) % std::min<std::uint64_t>(
							     length, rules.granule ? rules.granule : length) ==
					0)
					region_end_[byte] = true; // where a region begins, the one before it has ended
			page += std::uint64_t{1} << order;
		}
		chunks_ = chunk;
	}

	// Finds the answer except for the interrupt, which depends on a wakeup.
	void place(std::uint64_t head, std::uint64_t space, bool overwrite)
	{
		head_ = head;
		overwrite_ = overwrite;
		from_.reset();
		// When overwriting, two laps hold every chunk from its beginning to its end.
		const auto horizon = overwrite ? 2 * size_ : writable(rules_, space);
		usable_.assign(horizon + rules_.spare + 2, false);
		std::fill_n(usable_.begin(), horizon, true);
		for (auto from = head; from < head + horizon && !from_; ++from) {
			if (from % rules_.start_align || !in_grid(rules_, from, size_))
				continue;
			if (overwrite && endless(rules_, chunks_)) {
				// The window has no end, but must start where it could end somewhere.
				auto to = from + 1;
				// One of unit and end_align divides the other.
				const auto far = to + (rules_.granule ? size_ : rules_.atom + rules_.end_align);
				while (to < far && !aligned_end(from, to))
					++to;
				if (to == far)
					continue;
				from_ = from;
				return;
			}
			ends_.clear();
			for (auto to = from + 1; to <= head + horizon && written(from, to - 1); ++to)
				if (may_end(from, to))
					ends_.push_back(to);
			if (one_region(rules_) && !ends_.empty())
				ends_.resize(1);
			if (!ends_.empty() && ends_.back() < from + rules_.least)
				ends_.clear();
			if (!ends_.empty())
				from_ = from;
		}
	}

	Window answer(std::uint64_t wakeup) const
	{
		if (!from_)
			return {0, 0, 0, true};
		if (overwrite_ && endless(rules_, chunks_))
			return {*from_, AUXPMU_NO_LIMIT, first_lap_end(rules_, *from_, size_), false};
		// The hardware may interrupt at each place where it could stop, except the one where it does stop, if there are
		// others.
		auto interrupts = ends_;
		if (warns(rules_) && interrupts.size() > 1)
			interrupts.pop_back();
		auto irq = interrupts.back();
		if (!overwrite_)
			for (auto end : interrupts)
				if (end >= wakeup) {
					irq = end;
					break;
				}
		return {*from_, ends_.back(), irq, false};
	}

	Window operator()(const Request &request)
	{
		place(request.head, request.space, request.overwrite);
		return answer(request.wakeup);
	}

private:
	// May this byte be written by a window that starts at `from`?
	bool written(std::uint64_t from, std::uint64_t byte) const
	{
		return byte - head_ < usable_.size() && usable_[byte - head_] &&
		       (!rules_.contiguous || (chunk_of(byte) == chunk_of(from) && byte / size_ == from / size_));
	}
	bool aligned_end(std::uint64_t from, std::uint64_t to) const
	{
		if ((to - from) % rules_.atom)
			return false;
		return rules_.granule ? region_end_[to % size_] : to % rules_.end_align == 0;
	}
	bool may_end(std::uint64_t from, std::uint64_t to) const
	{
		if (!aligned_end(from, to))
			return false;
		for (auto byte = to; byte < to + rules_.spare; ++byte) {
			if (rules_.guarded && byte % size_ == 0)
				return true; // what comes is not in the buffer
			if (!written(from, byte))
				return false;
		}
		return true;
	}
	unsigned chunk_of(std::uint64_t byte) const { return chunk_[byte % size_]; }

	Rules rules_;
	std::uint64_t size_;
	unsigned chunks_ = 0;
	std::vector<unsigned> chunk_;
	std::vector<bool> region_end_;
	std::vector<char> usable_;
	std::uint64_t head_ = 0;
	bool overwrite_ = false;
	std::optional<std::uint64_t> from_;
	std::vector<std::uint64_t> ends_;
};

// The same oracle by intervals, for buffers too large to list their bytes.
class IntervalOracle
{
public:
	IntervalOracle(const Layout &layout, const Rules &rules) : rules_(rules), size_(layout.bytes())
	{
		std::uint64_t at = 0;
		for (auto order : layout.orders) {
			starts_.push_back(at);
			at += layout.page() << order;
		}
		starts_.push_back(at);
	}

	Window operator()(const Request &request) const
	{
		if (rules_.grid && rules_.atom > size_) // nowhere in the grid
			return {0, 0, 0, true};
		if (request.overwrite && endless(rules_, starts_.size() - 1))
			return from_anywhere(request.head);
		const auto spread = request.overwrite ? 2 * size_ : writable(rules_, request.space);
		const auto least = rules_.guarded ? 0 : rules_.spare;
		for (auto from = request.head; from + least < request.head + spread; ++from) {
			while (from % rules_.start_align || !in_grid(rules_, from, size_))
				++from;
			const auto end = request.head + spread;
			const auto limit =
				rules_.guarded && chunk_end(from) % size_ == 0 && chunk_end(from) <= end
					? chunk_end(from)
					: (rules_.contiguous ? std::min(end, chunk_end(from)) : end) - rules_.spare;
			if (limit > end || limit < from + rules_.atom || stop(from + 1) > limit) {
				// No unit, or no place to stop, fits up to here: a later start finds none either, except in
				// another chunk.
				if (!rules_.contiguous || chunk_end(from) >= end)
					break;
				from = chunk_end(from) - 1;
				continue;
			}
			const auto to = one_region(rules_) ? first(from, from + 1, limit) : last(from, limit);
			if (!to)
				continue;
			if (*to < from + rules_.least) {
				// Later starts make windows no longer, except in another chunk.
				if (!rules_.contiguous || chunk_end(from) >= end)
					break;
				from = chunk_end(from) - 1;
				continue;
			}
			auto latest = *to;
			if (warns(rules_) && first(from, from + 1, latest - 1))
				latest = *last(from, latest - 1);
			const auto irq = request.overwrite ? std::nullopt
							   : first(from, std::max(from + 1, request.wakeup), latest);
			return {from, *to, irq ? *irq : latest, false};
		}
		return {0, 0, 0, true};
	}

private:
	Window from_anywhere(std::uint64_t from) const
	{
		while (from % rules_.start_align || !in_grid(rules_, from, size_) ||
			!first(from, from + 1, AUXPMU_NO_LIMIT))
			++from;
		return {from, AUXPMU_NO_LIMIT, first_lap_end(rules_, from, size_), false};
	}
	std::uint64_t chunk_end(std::uint64_t byte) const
	{
		return byte - byte % size_ + *std::upper_bound(starts_.begin(), starts_.end(), byte % size_);
	}
	// The first place at or above `at` where this hardware could stop, regardless of units.
	std::uint64_t stop(std::uint64_t at) const
	{
		if (!rules_.granule)
			return at + (rules_.end_align - at % rules_.end_align) % rules_.end_align;
		const auto lap = at - at % size_;
		const auto above = std::upper_bound(starts_.begin(), starts_.end(), at % size_);
		const auto region = std::min<std::uint64_t>(above[0] - above[-1], rules_.granule);
		auto end = lap + above[-1];
		end += (at - end) / region * region;
		return end < at ? end + region : end;
	}

	std::optional<std::uint64_t> first(std::uint64_t from, std::uint64_t least, std::uint64_t limit) const
	{
		// Units and alignment repeat: a place not found within one period does not exist. (Regions hold whole units:
		// the first region decides for all.)
		unsigned tries = 2 + (rules_.granule ? 0 : rules_.atom / rules_.end_align);
		if (least > limit)
			return {};
		for (auto to = stop(least); to <= limit && tries--; to = stop(to + 1))
			if (to > from && (to - from) % rules_.atom == 0)
				return to;
		return {};
	}
	std::optional<std::uint64_t> last(std::uint64_t from, std::uint64_t limit) const
	{
		// Searches the last bytes, then more and more of them; in the first stretch that holds an end, takes the last
		// end.
		for (std::uint64_t back = 1;; back *= 2) {
			const auto least = limit - from > back ? limit - back : from + 1;
			std::optional<std::uint64_t> found;
			for (auto to = first(from, least, limit); to; to = first(from, *to + 1, limit))
				found = to;
			if (found || least == from + 1)
				return found;
		}
	}

	Rules rules_;
	std::uint64_t size_;
	std::vector<std::uint64_t> starts_; // starts of the chunks, and the end of the buffer
};

// Are the rules consistent, according to the text of window.h? Without a buffer the page size is unknown.
inline bool rules_fit(const Rules &rules, std::optional<std::uint64_t> page)
{
	auto power_of_two = [](std::uint64_t n) {
		for (std::uint64_t power = 1; power <= (std::uint64_t{1} << 32); power *= 2)
			if (n == power)
				return true;
		return false;
	};
	if ((rules.early && rules.spare) || (page && rules.early >= *page) ||
		(rules.guarded && (!rules.contiguous || (page && rules.spare > *page))))
		return false;
	if (!power_of_two(rules.start_align) || rules.atom == 0 || (page && rules.start_align > *page))
		return false;
	if (rules.granule) {
		if (!power_of_two(rules.granule) || rules.contiguous || rules.least || !power_of_two(rules.atom))
			return false;
		return !page || (rules.granule >= *page && rules.atom <= *page);
	}
	if (!power_of_two(rules.end_align) || (page && rules.end_align > *page))
		return false;
	if (rules.grid && (!rules.contiguous || rules.atom % rules.start_align || rules.atom % rules.end_align))
		return false;
	return rules.atom % rules.end_align == 0 || rules.end_align % rules.atom == 0;
}

} // namespace unit
