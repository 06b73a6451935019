// SPDX-License-Identifier: GPL-2.0-only
// A trace unit that obeys its windows, a consumer that reads when it likes, and
// the buffer between them, cell by cell: the consumer reads what was written, and when it has read everything it can
// always get more.
#include "window_oracle.h"

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <iostream>

using namespace unit;

namespace
{

struct Cell {
	std::uint64_t position = ~std::uint64_t{0};
	std::uint64_t sequence = 0; // sequence number of the data byte; 0 is padding
	bool unread = false;
};

struct Tally {
	std::uint64_t windows = 0, written = 0, padded = 0, full = 0, laps = 0;
};

struct Broken : std::runtime_error {
	using std::runtime_error::runtime_error;
};

class Simulation
{
public:
	Simulation(const Layout &layout, const Rules &rules, Random &random, Tally &tally)
		: layout_(layout), rules_(rules), map_(layout), random_(random), tally_(tally), cells_(layout.bytes())
	{
	}
	bool valid() const { return !auxpmu_window_rules_valid(&rules_, map_.get()); }

	// Full trace: one perf transaction after the other, with a few windows in each.
	void trace(int transactions)
	{
		while (transactions--) {
			if (pick(random_, 0, 2))
				consume();
			// The result of perf_aux_output_begin().
			auto space = head_ - tail_ < size() ? (tail_ - head_ - 1) % size() : 0;
			const auto begin = head_;
			const auto wakeup = pick(random_, 0, 3) ? head_ + pick(random_, 0, size()) : 0;
			for (auto windows = pick(random_, 1, 3); windows-- && space;) {
				const auto before = head_;
				if (!one_window({head_, space, wakeup, false}))
					break;
				const auto used = head_ - before;
				must(used <= space + (rules_.granule != 0), "wrote more than there is space");
				space -= std::min(used, space);
			}
			for (auto position = begin; position < head_; ++position)
				cell(position).unread = true;
		}
		while (tail_ != head_)
			consume();
		must(read_ == sequence_, "not everything that was written was read");
		tally_.laps += head_ / size();
	}

	// Flight recorder: nobody reads until a snapshot is taken.
	void record(int windows)
	{
		while (windows--) {
			must(one_window({head_, pick(random_, 0, size() - 1), 0, true}), "a flight recorder is full");
			for (auto position = head_ - std::min(head_, size()); position < head_; ++position)
				must(cell(position).position == position, "the snapshot has a hole");
		}
		tally_.laps += head_ / size();
	}

private:
	std::uint64_t size() const { return cells_.size(); }
	Cell &cell(std::uint64_t position) { return cells_[position % size()]; }

	void must(bool truth, const char *what) const
	{
		if (!truth)
			throw Broken(std::string(what) + "; " + text(rules_) + "; " + layout_.text() + "; head " +
				     std::to_string(head_) + " tail " + std::to_string(tail_));
	}
	void write(std::uint64_t position, std::uint64_t sequence)
	{
		must(!cell(position).unread, "an unread byte is overwritten");
		cell(position).position = position;
		cell(position).sequence = sequence;
	}
	void consume()
	{
		const auto until = tail_ + (pick(random_, 0, 3) ? pick(random_, 0, head_ - tail_) : head_ - tail_);
		for (; tail_ < until; ++tail_) {
			if (!cell(tail_).unread)
				break; // written, but not yet handed over: aux_head does not include it
			must(cell(tail_).position == tail_, "another byte is read than was written");
			if (cell(tail_).sequence) {
				must(cell(tail_).sequence == read_ + 1, "a byte is lost or read twice");
				++read_;
			}
			cell(tail_).unread = false;
		}
	}

	bool one_window(const Request &request)
	{
		const auto window = auxpmu_window_next(map_.get(), &rules_, &request);
		if (window.full) {
			++tally_.full;
			must(head_ != tail_ || request.space != size() - 1, "stuck with an empty buffer");
			return false;
		}
		++tally_.windows;
		must(window.from >= head_ && window.from < window.irq && window.irq <= window.to, "no window");
		for (; head_ < window.from; ++head_, ++tally_.padded)
			write(head_, 0);

		// The unit runs until it has interrupted and is stopped, or to the limit and a little beyond, or until it is
		// stopped anywhere in between.
		const bool endless = window.to == AUXPMU_NO_LIMIT;
		const auto limit = endless ? head_ + 3 * size() : window.to;
		std::uint64_t stop = limit, over = 0;
		switch (pick(random_, 0, 3)) {
		case 0:
			stop = head_ + pick(random_, 0, (limit - head_) / rules_.atom) * rules_.atom;
			break;
		case 1:
			if (!endless)
				stop = window.irq + pick(random_, 0, (limit - window.irq) / rules_.atom) * rules_.atom;
			break;
		default:
			over = pick(random_, 0, rules_.spare);
		}
		const auto from = head_;
		while (head_ < stop) {
			must(!rules_.contiguous || same_chunk(from, head_), "left the chunk");
			write(head_++, ++sequence_);
			++tally_.written;
			if (pick(random_, 0, 63) == 0)
				consume_some(request);
		}
		// What the unit writes behind the limit counts if it is whole, and is garbage otherwise.
		const auto whole = request.overwrite || pick(random_, 0, 1) ? over / rules_.atom * rules_.atom : 0;
		for (std::uint64_t byte = 0; byte < (request.overwrite ? whole : over); ++byte) {
			must(!rules_.contiguous || same_chunk(from, stop + byte), "left the chunk behind the limit");
			write(stop + byte, byte < whole ? ++sequence_ : 0);
		}
		head_ += whole;
		return true;
	}
	void consume_some(const Request &request)
	{
		if (!request.overwrite)
			consume();
	}
	bool same_chunk(std::uint64_t a, std::uint64_t b) const
	{
		return a / size() == b / size() && block_of(a % size()) == block_of(b % size());
	}

	std::size_t block_of(std::uint64_t offset) const
	{
		std::size_t n = 0;
		for (std::uint64_t end = 0; (end += layout_.page() << layout_.orders[n]) <= offset;)
			++n;
		return n;
	}

	Layout layout_;
	Rules rules_;
	Map map_;
	Random &random_;
	Tally &tally_;
	std::vector<Cell> cells_;
	std::uint64_t head_ = 0, tail_ = 0;
	std::uint64_t sequence_ = 0, read_ = 0;
};

// Hardware that stops at region ends, as seen by perf's core and by a consumer that reads whenever it is woken. The wakeup is
// late: it comes when the window behind the interrupt has been taken. The unit keeps writing while its interrupt is on its way.
class Follower
{
public:
	Follower(const Layout &layout, std::uint64_t granule, std::uint64_t watermark, std::uint64_t skid)
		: rules_{1, 1, 1, 0, static_cast<u32>(granule), 0, false, false, false, 0, false}, map_(layout),
		  size_(layout.bytes()), watermark_(watermark), skid_(skid)
	{
	}

	// In how many of the given number of windows the unit reached the end, where trace is lost.
	unsigned stops(unsigned windows, Random &random)
	{
		unsigned stopped = 0;
		while (windows--) {
			const auto space = head_ - tail_ < size_ ? (tail_ - head_ - 1) % size_ : 0;
			const Request request{head_, space, woken_ + watermark_, false};
			const auto window = auxpmu_window_next(map_.get(), &rules_, &request);
			if (window.full) // it has read all that it was woken for
				throw Broken("full; " + text(request) + " watermark " + std::to_string(watermark_));
			read();
			const auto reached = window.irq + pick(random, 0, skid_);
			stopped += reached >= window.to;
			hand_over(std::min(reached, window.to));
		}
		return stopped;
	}

private:
	// perf_aux_output_end()
	void hand_over(std::uint64_t head)
	{
		head_ = head;
		if (head_ - woken_ >= watermark_) {
			woken_ = head_ - head_ % watermark_;
			to_be_read_ = head_;
		}
	}
	void read() { tail_ = to_be_read_; }

	Rules rules_;
	Map map_;
	std::uint64_t size_, watermark_, skid_;
	std::uint64_t head_ = 0, tail_ = 0, woken_ = 0, to_be_read_ = 0;
};

// The pages of a buffer, in blocks as large as possible, in two halves, in single pages, or mixed.
std::vector<Layout> layouts_of(unsigned order, Random &random)
{
	std::vector<Layout> layouts = {
		{12, {order}}, {12, {order - 1, order - 1}}, {12, std::vector<unsigned>(std::size_t{1} << order, 0)}};
	for (int i = 0; i < 3; i++)
		layouts.push_back(random_layout(random, 12, std::uint64_t{1} << order, order));
	return layouts;
}

enum Kind { REGIONS, CONTIGUOUS, ANYWHERE };

Rules rules_of(Kind kind, Random &random, u32 page, u32 size)
{
	auto power = [&](u32 most) {
		return 1U << pick(random, 0, std::bit_width(most) - 1);
	};
	Rules rules{power(page), power(page), 1, 0, 0, 0, kind == CONTIGUOUS, false, false, 0, false};
	if (kind == REGIONS) {
		rules.granule = page * power(size / page);
		rules.atom = power(page);
	} else {
		rules.atom = pick(random, 0, 1) ? power(rules.end_align) : rules.end_align * (u32)pick(random, 1, 6);
	}
	rules.grid = kind == CONTIGUOUS && rules.atom % rules.start_align == 0 && rules.atom % rules.end_align == 0 &&
		     pick(random, 0, 1);
	if (pick(random, 0, 1))
		rules.spare = static_cast<u32>(pick(random, 0, page));
	return rules;
}

Tally simulate(Kind kind, bool overwrite, int simulations)
{
	Tally tally;
	Random random(8 + kind);
	while (simulations) {
		const auto layout = random_layout(
			random, static_cast<unsigned>(pick(random, 3, 6)), std::uint64_t{1} << pick(random, 0, 5), 5);
		const auto rules =
			rules_of(kind, random, static_cast<u32>(layout.page()), static_cast<u32>(layout.bytes()));
		Simulation simulation(layout, rules, random, tally);
		if (!simulation.valid())
			continue;
		--simulations;
		try {
			if (overwrite)
				simulation.record(60);
			else
				simulation.trace(150);
		} catch (const Broken &broken) {
			FAIL(broken.what());
		}
	}
	std::cout << "# simulated: " << tally.windows << " windows, " << tally.written << " bytes in " << tally.laps
		  << " laps, " << tally.padded << " padded, " << tally.full << " times full\n";
	return tally;
}

} // namespace

TEST_CASE("hardware that stops at region ends loses nothing and never waits for a consumer who has read everything")
{
	const auto tally = simulate(REGIONS, false, 400);
	CHECK(tally.laps > 400);
}

TEST_CASE("hardware that needs one contiguous window at a time loses nothing and never waits for nothing")
{
	const auto tally = simulate(CONTIGUOUS, false, 400);
	CHECK(tally.laps > 400);
}

TEST_CASE("hardware that writes anywhere loses nothing and never waits for nothing")
{
	const auto tally = simulate(ANYWHERE, false, 400);
	CHECK(tally.laps > 400);
}

TEST_CASE("a flight recorder holds the newest bytes, all of them, whenever one looks")
{
	for (auto kind : {REGIONS, CONTIGUOUS, ANYWHERE}) {
		const auto tally = simulate(kind, true, 100);
		CHECK(tally.laps > 100);
	}
}

TEST_CASE("who reads when woken loses nothing at any watermark that leaves three regions behind it, in 10 000 windows "
	  "each")
{
	constexpr std::uint64_t page = 4096;
	Random random(9);
	unsigned runs = 0;
	for (unsigned order = 2; order <= 12; ++order) {
		const auto size = page << order, granule = std::max(page, size / 16);
		for (const auto &layout : layouts_of(order, random))
			for (auto most = granule; most + 3 * granule <= size; most += 4 * granule)
				for (const auto watermark :
					{most, most - pick(random, 1, granule - 1), size - 3 * granule}) {
					INFO(layout.text() << " watermark " << watermark);
					REQUIRE(Follower(layout, granule, watermark, page - 1).stops(10000, random) ==
						0);
					++runs;
				}
	}
	std::cout << "# followed: " << runs << " buffers with watermarks\n";
	CHECK(runs > 500);
}

TEST_CASE("who reads when woken loses nothing at a whole number of regions that leaves two behind it, half a buffer "
	  "among them")
{
	Random random(11);
	for (unsigned order = 2; order <= 12; ++order) {
		const auto size = std::uint64_t{4096} << order, granule = std::max<std::uint64_t>(4096, size / 16);
		for (auto watermark = granule; watermark + 2 * granule <= size; watermark += granule) {
			INFO("order " << order << " watermark " << watermark);
			const Layout halves{12, {order - 1, order - 1}};
			REQUIRE(Follower(halves, granule, watermark, granule - 1).stops(10000, random) == 0);
		}
	}
}

TEST_CASE("a watermark that leaves less than two regions is too late: the unit stops before room is seen")
{
	// There the unit has been given the end of its last region before the consumer has been woken at all.
	Random random(10);
	for (unsigned order : {1U, 4U, 8U}) {
		const std::uint64_t size = std::uint64_t{4096} << order,
				    granule = std::max<std::uint64_t>(4096, size / 16);
		Follower follower({12, {order}}, granule, size - granule, 0);
		CHECK(follower.stops(1000, random) > 0);
	}
}
