// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The formatter: frames by hand, as the architecture describes them (IHI0029, D4.2); random sources, read back by OpenCSD's
 * deformatter; and frames made by silicon (selftests/vm/opencsd-tests), which ours must equal.
 */
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <random>

#include "../arm64/formatter.h"
#include "../tools/deframer.h"

using hwsim::Deframer;
using hwsim::arm64::Formatter;

namespace
{

using Bytes = std::vector<std::uint8_t>;
constexpr std::size_t frame_size = Formatter::frame_size, payload = frame_size - 1;

Bytes taken(Formatter &formatter)
{
	const auto frames = formatter.frames();
	Bytes bytes(frames.begin(), frames.end());
	formatter.taken(bytes.size());
	return bytes;
}

/* Consecutive byte values. */
Bytes counting(std::uint8_t from, std::size_t size)
{
	Bytes bytes(size);
	std::iota(bytes.begin(), bytes.end(), from);
	return bytes;
}

} // namespace

TEST_CASE("A frame begins with an ID, and has the lowest bits of even places behind the rest", "[formatter]")
{
	Formatter formatter;
	formatter.put(0x10, counting(0x41, 13));
	CHECK(formatter.frames().empty());
	formatter.put(0x10, Bytes{0x4f});
	CHECK(taken(formatter) ==
		Bytes{0x21, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x80});
	CHECK(formatter.frames().empty());
}

TEST_CASE("A source that goes on has fifteen bytes in a frame", "[formatter]")
{
	Formatter formatter;
	formatter.put(0x10, counting(0, 14));
	taken(formatter);
	formatter.put(0x10, counting(0x81, 15));
	CHECK(taken(formatter) ==
		Bytes{0x80, 0x82, 0x82, 0x84, 0x84, 0x86, 0x86, 0x88, 0x88, 0x8a, 0x8a, 0x8c, 0x8c, 0x8e, 0x8e, 0xff});
}

TEST_CASE("An even place has the ID of what follows; a frame is filled up with bytes of no source", "[formatter]")
{
	Formatter formatter;
	formatter.put(0x10, Bytes{1});
	formatter.put(0x11, Bytes{2});
	formatter.put(0x12, Bytes{3, 5});
	formatter.flush();
	CHECK(taken(formatter) == Bytes{0x21, 1, 0x23, 2, 0x25, 3, 0x01, 5, 0, 0, 0, 0, 0, 0, 0, 0x08});
}

TEST_CASE("Where an odd place would have the ID it is in front of the last byte of the old source", "[formatter]")
{
	Formatter formatter;
	formatter.put(0x10, Bytes{1, 3});
	formatter.put(0x11, Bytes{5, 7, 9});
	formatter.put(0x12, Bytes{2});
	formatter.put(0x13, Bytes{4, 6, 8});
	formatter.flush();
	CHECK(taken(formatter) == Bytes{0x21, 1, 0x23, 3, 4, 7, 0x25, 9, 0x27, 2, 4, 6, 0x01, 8, 0, 0x5e});
}

TEST_CASE("The last place may have an ID, which is of the next frame", "[formatter]")
{
	Formatter formatter;
	formatter.put(0x10, counting(0, 13));
	formatter.put(0x11, Bytes{0xff});
	CHECK(taken(formatter) == Bytes{0x21, 0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 0x23, 0x7e});
	formatter.put(0x11, counting(0x20, 14));
	CHECK(taken(formatter) ==
		Bytes{0xfe, 0x20, 0x20, 0x22, 0x22, 0x24, 0x24, 0x26, 0x26, 0x28, 0x28, 0x2a, 0x2a, 0x2c, 0x2c, 0xff});
}

TEST_CASE("A trigger is one byte of a source of its own", "[formatter]")
{
	Formatter formatter;
	formatter.put(0x10, Bytes{2, 4});
	formatter.trigger();
	formatter.put(0x10, Bytes{6});
	formatter.flush();
	CHECK(taken(formatter) == Bytes{0x21, 2, 0xfb, 4, 0x21, 0, 0x01, 6, 0, 0, 0, 0, 0, 0, 0, 0x0e});
}

TEST_CASE("Behind a flush or a reset the frame begins with an ID", "[formatter]")
{
	Formatter formatter;
	formatter.flush();
	CHECK(formatter.frames().empty());
	SECTION("that had nothing to fill up")
	{
		formatter.put(0x10, counting(0, 14));
		formatter.flush();
		CHECK(taken(formatter).size() == frame_size);
	}
	SECTION("that had")
	{
		formatter.put(0x10, Bytes{1});
		formatter.flush();
		CHECK(taken(formatter).size() == frame_size);
	}
	SECTION("that drops what has not been taken")
	{
		formatter.put(0x10, counting(0, 40));
		formatter.reset();
		CHECK(formatter.frames().empty());
	}
	formatter.put(0x10, counting(0, 14));
	CHECK(taken(formatter) == Bytes{0x21, 0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 0xfe});
}

TEST_CASE("Frames may be taken in any pieces", "[formatter]")
{
	Formatter formatter;
	formatter.put(0x10, counting(0, 29));
	const Bytes all(formatter.frames().begin(), formatter.frames().end());
	CHECK(all.size() == 2 * frame_size);
	formatter.taken(20);
	CHECK(std::ranges::equal(formatter.frames(), std::span(all).subspan(20)));
	formatter.taken(12);
	CHECK(formatter.frames().empty());
}

TEST_CASE("A source that goes on has an ID in every eighth frame, in front", "[formatter]")
{
	Formatter formatter;
	formatter.put(0x10, Bytes(3 * 8 * payload - 3, 0x42));
	const Bytes frames = taken(formatter);
	CHECK(frames.size() == 3 * 8 * frame_size);
	for (std::size_t at = 0; at < frames.size(); at += frame_size) {
		CAPTURE(at);
		CHECK(frames[at] == (at % (8 * frame_size) ? 0x42 : 0x21));
	}
}

namespace
{

/* Puts random bytes of random sources; records what was put, and how many places in frames it takes. */
class Sources
{
public:
	explicit Sources(std::uint64_t seed) : random(seed) {}

	void put()
	{
		const auto id = static_cast<std::uint8_t>(below(few) ? 0x10 + below(few) : 1 + below(0x6f));
		Bytes bytes(below(4) ? below(4) : below(200));
		for (std::uint8_t &byte : bytes)
			byte = static_cast<std::uint8_t>(random());
		formatter.put(id, bytes);
		note(id, bytes);
	}
	void trigger()
	{
		formatter.trigger();
		note(Formatter::trigger_id, Bytes{0});
	}
	void flush()
	{
		formatter.flush();
		whole += (places + payload - 1) / payload;
		places = 0;
		last = 0;
		collect();
	}
	/* Takes some frames, or a part of one. */
	void collect()
	{
		const auto ready = formatter.frames();
		const std::size_t size = below(2) ? ready.size() : below(static_cast<unsigned>(ready.size() + 1));
		frames.insert(frames.end(), ready.begin(), ready.begin() + static_cast<std::ptrdiff_t>(size));
		formatter.taken(size);
	}
	void collect_all()
	{
		while (!formatter.frames().empty())
			collect();
	}
	unsigned below(unsigned limit) { return static_cast<unsigned>(random() % limit); }

	std::map<std::uint8_t, Bytes> expected;
	Bytes frames;
	std::size_t whole = 0; /* frames, not counting repeated IDs */

private:
	static constexpr unsigned few = 4;

	void note(std::uint8_t id, const Bytes &bytes)
	{
		if (bytes.empty())
			return;
		Bytes &all = expected[id];
		all.insert(all.end(), bytes.begin(), bytes.end());
		places += bytes.size() + (id != last);
		last = id;
	}

	std::mt19937_64 random;
	Formatter formatter;
	std::size_t places = 0;
	std::uint8_t last = 0;
};

} // namespace

TEST_CASE(
	"What OpenCSD takes out of the frames is what was put into them, and no ID is told without need", "[formatter]")
{
	for (std::uint64_t seed = 1; seed <= 40; seed++) {
		CAPTURE(seed);
		Sources sources(seed);
		for (unsigned n = 0; n < 500; n++) {
			sources.put();
			if (!sources.below(20))
				sources.trigger();
			if (!sources.below(50))
				sources.flush();
			if (!sources.below(10))
				sources.collect();
		}
		sources.flush();
		sources.collect_all();
		Deframer deframer;
		deframer.process(sources.frames);
		for (std::uint8_t id = 1; id < Deframer::most_ids; id++) {
			CAPTURE(id);
			CHECK(deframer.of(id) == sources.expected[id]);
		}
		/* Sources of up to 200 bytes take more than eight frames, in which the ID is repeated. */
		const std::size_t frames = sources.frames.size() / frame_size;
		CHECK(frames >= sources.whole);
		CHECK(frames <= sources.whole + sources.whole / 100);
	}
}

TEST_CASE("Barrier packets leave no source", "[formatter]")
{
	const Bytes barrier = {0xff, 0xff, 0xff, 0x7f};
	Formatter formatter;
	formatter.put(0x10, counting(0, 14 + 15));
	Bytes frames = taken(formatter);
	for (unsigned word = 0; word < 4; word++)
		frames.insert(frames.begin() + frame_size, barrier.begin(), barrier.end());
	Deframer deframer;
	deframer.process(frames);
	CHECK(deframer.of(0x10) == counting(0, 14));
	CHECK_THROWS(deframer.process(barrier));
}

// --- silicon --------------------------------------------------------------------------------

namespace
{

/* A place in a frame: an ID or a byte, in the order in which they take effect. */
struct Place {
	bool is_id = false;
	std::uint8_t value = 0;
};

std::vector<Place> places_of(std::span<const std::uint8_t> frame)
{
	std::vector<Place> places;
	for (std::size_t at = 0; at < payload; at += 2) {
		const bool id = frame[at] & 1, auxiliary = frame[payload] >> at / 2 & 1;
		const Place even = {id, static_cast<std::uint8_t>(id ? frame[at] >> 1 : frame[at] | auxiliary)};
		const bool late = id && auxiliary;
		if (!late)
			places.push_back(even);
		if (at + 1 < payload)
			places.push_back({false, frame[at + 1]});
		if (late)
			places.push_back(even);
	}
	return places;
}

/* Frames made by silicon, compared stretch by stretch with what we make of the same bytes. */
class Compared
{
public:
	explicit Compared(std::span<const std::uint8_t> silicon)
	{
		for (std::size_t at = 0; at < silicon.size(); at += frame_size)
			frame(silicon.subspan(at, frame_size));
	}
	std::size_t same = 0, other = 0;
	bool has_reserved = false;

private:
	static constexpr std::uint8_t nobody = 0x6f;

	/* Silicon repeats an ID where its bus delivers bytes, we where a frame begins: such a frame begins a stretch. */
	void frame(std::span<const std::uint8_t> frame)
	{
		const auto places = places_of(frame);
		const bool has_id = std::ranges::find(places, true, &Place::is_id) != places.end();
		if (has_id && (!begun || without_id >= Formatter::most_without_id)) {
			begin(places);
		} else if (begun) {
			expected.emplace_back(frame.begin(), frame.end());
			put(places);
			compare();
		}
		without_id = has_id ? 0 : without_id + 1;
	}
	/* "nobody" is the unknown source up to the first ID, and fills a frame in front; neither frame is compared. */
	void begin(std::span<const Place> places)
	{
		const auto first = std::ranges::find(places, true, &Place::is_id);
		const auto before = static_cast<std::size_t>(first - places.begin());
		formatter.reset();
		formatter.put(nobody, Bytes(payload - 1 + before));
		put(places.subspan(before));
		expected = {{}, {}};
		begun = true;
		compare();
	}
	/* We write an ID in the last place of a frame only when the next byte comes. */
	void compare()
	{
		for (; !formatter.frames().empty(); formatter.taken(frame_size)) {
			if (!expected.front().empty())
				std::ranges::equal(expected.front(), formatter.frames().first(frame_size)) ? same++
													   : other++;
			expected.pop_front();
		}
	}
	void put(std::span<const Place> places)
	{
		for (const Place &place : places) {
			if (place.is_id)
				id = place.value;
			else
				formatter.put(id, std::span(&place.value, 1));
			has_reserved |= id > nobody;
		}
	}

	Formatter formatter;
	std::deque<Bytes> expected;
	std::uint8_t id = 0;
	bool begun = false;
	unsigned without_id = 0;
};

std::filesystem::path tests()
{
	if (!std::filesystem::exists(OPENCSD_TESTS))
		SKIP("built without OpenCSD's sources");
	return OPENCSD_TESTS;
}

} // namespace

TEST_CASE("Frames are those that silicon makes of the same bytes", "[formatter]")
{
	std::size_t same = 0, other = 0;
	for (const auto &file : std::filesystem::directory_iterator(tests())) {
		if (file.path().extension() != ".frames")
			continue;
		CAPTURE(file.path());
		std::ifstream stream(file.path(), std::ios::binary);
		const Bytes silicon{std::istreambuf_iterator<char>(stream), {}};
		const Compared compared(silicon);
		/* What an ITM writes to its own port is not in frames, and looks like reserved IDs. */
		if (compared.has_reserved)
			continue;
		same += compared.same;
		other += compared.other;
	}
	/* One buffer of 65536 frames repeats an ID a few times, a frame earlier or later than all others do. */
	CAPTURE(same, other);
	CHECK(same > 80'000);
	CHECK(other < same / 1000);
}
