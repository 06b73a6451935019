// SPDX-License-Identifier: GPL-2.0-only
// drivers/bts/unit.c: a branch trace store as in SDM volume 3, "Branch Trace Store
// (BTS)", writes records into buffers of any shape: how the driver programs it, where records land, when it interrupts, and
// the position that the driver reports.
#include "driver.h"
#include "processor.h"

extern "C" {
#include "../../drivers/bts/unit.h"
}

#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace unit;

namespace
{

constexpr std::uint64_t page = 4096, record = 24, no_limit = ~std::uint64_t{0};
constexpr std::uint32_t debugctl = 0x1d9, ds_area = 0x600;
// IA32_DEBUGCTL
constexpr std::uint64_t tr = 1 << 6, bts = 1 << 7, btint = 1 << 8, off_os = 1 << 9, off_usr = 1 << 10;
constexpr std::uint64_t ours = tr | bts | btint | off_os | off_usr;

auto &area()
{
	return unit_entry_area.cpu_debug_store;
}

// What the BTS absolute maximum may mean to a processor: no record ends behind it, none reaches it, or none begins there.
enum class Reading { ends, reaches, begins };
constexpr Reading readings[] = {Reading::ends, Reading::reaches, Reading::begins};

// The branch trace store of the one CPU.
struct Store {
	Reading reading = Reading::ends;
	std::uint64_t number = 1; // number of the next record
	std::uint64_t dropped = 0;
	unsigned which = 0; // word of the record that is not 0
	bool eager = false; // wraps to the base at once, not with the next record

	bool has_room() const
	{
		const auto end = area().bts_index + record, maximum = area().bts_absolute_maximum;

		return reading == Reading::ends      ? end <= maximum
		       : reading == Reading::reaches ? end < maximum
						     : area().bts_index < maximum;
	}
	// Stores a branch. True if it raises an interrupt.
	bool branch()
	{
		const auto ctl = processor.registers[debugctl];

		if (!(ctl & tr) || !(ctl & bts))
			return false;
		if (!has_room()) {
			if (ctl & btint) {
				dropped++;
				return false;
			}
			area().bts_index = area().bts_buffer_base;
		}
		std::uint64_t words[3] = {};
		words[which] = number++;
		std::memcpy(reinterpret_cast<void *>(area().bts_index), words, sizeof(words));
		area().bts_index += record;
		if (eager && !(ctl & btint) && !has_room())
			area().bts_index = area().bts_buffer_base;
		return ctl & btint && area().bts_index >= area().bts_interrupt_threshold;
	}
};

// An event on the CPU, which has taken the unit.
struct Bts {
	perf_event event{};
	auxpmu_unit unit;
	Store store;

	Bts()
	{
		processor = {};
		std::memset(&unit_entry_area, 0, sizeof(unit_entry_area));
		std::memset(static_cast<void *>(&bts_units), 0, sizeof(bts_units));
		std::memset(static_cast<void *>(&unit), 0, sizeof(unit));
		unit.event = &event;
		take();
	}
	void take()
	{
		const char *why = nullptr;

		ENSURE(bts_unit_acquire(&why) == 0);
		bts_units.unit = &unit;
	}
	std::uint64_t ctl() const { return processor.registers[debugctl]; }
	std::uint64_t position()
	{
		auxpmu_position position{};

		bts_unit_position(&unit, &position);
		ENSURE(position.lost == 0);
		gap = position.gap;
		return position.bytes;
	}
	bool gap = false;
};

std::uint64_t word_at(const Buffer &buffer, std::uint64_t offset, unsigned which)
{
	std::uint64_t word;

	std::memcpy(&word, buffer.at(offset) + 8 * which, sizeof(word));
	return word;
}

std::vector<Layout> layouts(Random &random)
{
	std::vector<Layout> all;

	for (unsigned pages = 1; pages <= 8; pages *= 2)
		for (auto &orders : all_tilings(pages))
			if (pages < 8 || pick(random, 0, 3) == 0)
				all.push_back({12, orders});
	return all;
}

} // namespace

TEST_CASE("bts: a window is written where the buffer has it, asks for its interrupt in time, and ends behind its spare "
	  "bytes")
{
	Random random(Catch::getSeed());
	unsigned windows = 0, full = 0;

	for (const auto &layout : layouts(random)) {
		Buffer buffer(layout, false, page, true, random);
		const auto size = layout.bytes();
		std::uint64_t chunk = 0;

		INFO(layout.text());
		for (auto order : layout.orders) {
			const auto bytes = page << order;

			for (unsigned n = 0; n < 12; n++, windows++) {
				Bts one;
				auto &window = one.unit.window;
				const auto grid = (chunk + record - 1) / record * record;
				const auto records = (chunk + bytes - grid) / record;
				// Numbers of records: the spare ones, those of the window, and the one that interrupts.
				const auto spare = pick(random, 1, records / 2),
					   behind = pick(random, 0, records - spare - 1);
				const auto whole = pick(random, 1, records - spare - behind);
				const auto lap = pick(random, 0, 2) * size;

				window.from = lap + grid + behind * record;
				window.to = window.from + whole * record;
				window.irq = window.from + pick(random, 1, whole) * record;
				one.unit.rules.spare = static_cast<u32>(spare * record);
				one.unit.buffer = buffer.get();
				one.store.reading = readings[n % 3];
				// One slot is left over; only processors that check where records begin write to it.
				const auto told = whole + spare - 1,
					   room = told + (one.store.reading == Reading::begins);
				for (std::uint64_t at = 0; at < size; at += page)
					std::memset(buffer.at(at), 0xee, page);

				ENSURE(bts_unit_arm(&one.unit) == 0);
				ENSURE((one.ctl() & ours) == (tr | bts | btint));
				ENSURE(area().bts_buffer_base ==
					reinterpret_cast<std::uint64_t>(buffer.at(window.from % size)));
				ENSURE(!bts_unit_is_due(&bts_units));
				const auto branches =
					pick(random, 0, 1) ? whole + spare : pick(random, 0, whole + spare + 3);
				std::uint64_t interrupt = 0;
				for (std::uint64_t m = 1; m <= branches; m++)
					if (one.store.branch()) {
						ENSURE(bts_unit_is_due(&bts_units));
						interrupt = interrupt ? interrupt : m;
					} else {
						ENSURE((m > room || !bts_unit_is_due(&bts_units)));
					}
				bts_unit_disarm(&one.unit);
				ENSURE(!(one.ctl() & ours));
				ENSURE(!one.store.branch());

				const auto written = std::min(branches, room);
				const auto due = (window.irq - window.from) / record;
				ENSURE(interrupt == (due <= written ? due : 0));
				ENSURE(one.position() == written * record);
				// At its end the unit drops further records, and software cannot tell whether it has.
				ENSURE(one.gap == (written >= told));
				ENSURE(bts_units.errors.full == one.gap);
				ENSURE(one.store.dropped == branches - written);
				full += one.gap;
				for (std::uint64_t at = 0; at < size; at += 8) {
					const auto offset = at - window.from % size;
					const bool inside = at >= window.from % size && offset < written * record;
					const auto want = !inside           ? 0xeeeeeeeeeeeeeeee
							  : offset % record ? 0
									    : offset / record + 1;

					ENSURE(word_at(buffer, at, 0) == want);
				}
			}
			chunk += bytes;
		}
	}
	CHECK(windows > 500);
	CHECK(full > 50);
}

TEST_CASE("bts: chunk after chunk is overwritten as windows are")
{
	Random random(Catch::getSeed());
	const Layout layout{12, {1, 0, 0}};
	Buffer buffer(layout, true, page, true, random);
	Bts one;

	one.unit.buffer = buffer.get();
	one.unit.rules.spare = 240;
	one.unit.window = {8208, 8208 + 2400, 8208 + 2400, false};
	REQUIRE(bts_unit_arm(&one.unit) == 0);
	CHECK((one.ctl() & ours) == (tr | bts | btint));
	for (unsigned n = 0; n < 5; n++)
		one.store.branch();
	bts_unit_disarm(&one.unit);
	CHECK(one.position() == 5 * record);
	CHECK(word_at(buffer, 8208, 0) == 1);
}

TEST_CASE("bts: one block is overwritten round and round, and what can be known of how often is")
{
	Random random(Catch::getSeed());
	unsigned filled = 0, again = 0;

	for (unsigned order : {0u, 1u, 2u})
		for (unsigned which : {0u, 1u, 2u})
			for (bool eager : {false, true})
				for (unsigned run = 0; run < 8; run++) {
					const Layout layout{12, {order}};
					Buffer buffer(layout, true, page, true, random);
					const auto reading = readings[run % 3];
					// Without the slot that is left over.
					const auto size = layout.bytes(), told = size / record * record - record,
						   lap = told + (reading == Reading::begins ? record : 0);
					std::uint64_t head = 0;
					bool ended = false; // the first lap: the slot that shows its end is written

					INFO("order " << order << " which " << which << " eager " << eager);
					Bts one;
					one.store.which = which;
					one.store.eager = eager;
					one.store.reading = reading;
					one.unit.buffer = buffer.get();
					for (unsigned n = 0; n < 12; n++) {
						// A whole record has to fit in front of the end of the buffer.
						auto from = (head % size + record - 1) / record * record;
						from = head - head % size + (from + record > size ? size : from);
						one.unit.window = {from, no_limit, no_limit, false};
						ENSURE(bts_unit_arm(&one.unit) == 0);
						ENSURE((one.ctl() & ours) == (tr | bts));

						const auto left = (lap - from % size) / record;
						const std::uint64_t amounts[] = {pick(random, 0, 5),
							pick(random, 0, left), left, pick(random, 0, 3 * lap / record)};
						const auto branches = amounts[pick(random, 0, 3)];
						// Counts bytes in laps of the whole buffer, whose last few bytes hold no
						// record.
						auto at = from % size;
						std::uint64_t laps = 0;
						const bool before = ended;
						const auto turn = [&] {
							if (at + record > lap) {
								at = 0;
								laps++;
							}
						};
						for (std::uint64_t m = 0; m < branches; m++) {
							ENSURE(!one.store.branch());
							ENSURE(!bts_unit_is_due(&bts_units));
							turn();
							ended |= at == told - record;
							at += record;
							if (eager)
								turn();
						}
						bts_unit_disarm(&one.unit);

						const auto truly = laps * size + at - from % size;
						// The driver knows more than the offset shows only once.
						const bool newly = !before && ended;
						auto known = (at + size - from % size) % size;
						if (newly && known < told - from % size)
							known += size;
						ENSURE(one.position() == known);
						ENSURE(known <= truly);
						ENSURE((truly - known) % size == 0);
						ENSURE(!one.gap);
						filled += newly;
						again += truly != known;
						head = from + known;
					}
				}
	CHECK(filled > 50);
	CHECK(again > 50);
}

TEST_CASE("bts: IA32_DEBUGCTL: the levels that are left out, and nothing of anybody else's")
{
	Random random(Catch::getSeed());
	const Layout layout{12, {0}};
	Buffer buffer(layout, false, page, true, random);

	for (unsigned bits = 0; bits < 16; bits++) {
		Bts one;
		const std::uint64_t others = bits & 4 ? 0x3803 : 0x4001;

		one.event.attr.exclude_kernel = bits & 1;
		one.event.attr.exclude_user = bits >> 1 & 1;
		processor.registers[debugctl] = others | (bits & 8 ? off_os | off_usr : 0);
		one.unit.buffer = buffer.get();
		one.unit.window = {0, 2400, 2400, false};
		REQUIRE(bts_unit_add(&one.unit) == 0);
		REQUIRE(bts_unit_arm(&one.unit) == 0);
		CHECK(one.ctl() == (others | tr | bts | btint | (bits & 1 ? off_os : 0) | (bits & 2 ? off_usr : 0)));
		bts_unit_disarm(&one.unit);
		CHECK(one.ctl() == others);
		bts_unit_del(&one.unit);
		CHECK(one.ctl() == others);
	}
}

TEST_CASE("bts: a unit that is not ours is not armed, and none that takes no value is on")
{
	Random random(Catch::getSeed());
	Buffer buffer({12, {0}}, false, page, true, random);
	Bts one;

	one.unit.buffer = buffer.get();
	one.unit.window = {0, 2400, 2400, false};
	SECTION("not claimed")
	{
		bts_units.claimed = false;
		CHECK(bts_unit_add(&one.unit) == -ENODEV);
		CHECK(bts_unit_arm(&one.unit) == -ENODEV);
		CHECK(one.ctl() == 0);
		area().bts_index = 5;
		bts_unit_del(&one.unit);
		CHECK(area().bts_index == 5);
	}
	SECTION("a fault")
	{
		processor.faults = [](std::uint32_t msr, std::uint64_t) {
			return msr == debugctl;
		};
		CHECK(bts_unit_arm(&one.unit) == -EIO);
		CHECK(bts_units.errors.fault == 1);
		CHECK_FALSE(bts_units.on);
	}
}

TEST_CASE("bts: what an NMI switched off stays off, and is switched off once more when the event leaves")
{
	Random random(Catch::getSeed());
	Buffer buffer({12, {0}}, false, page, true, random);
	Bts one;

	one.unit.buffer = buffer.get();
	one.unit.window = {0, 2400, 2400, false};
	REQUIRE(bts_unit_arm(&one.unit) == 0);
	CHECK(bts_units.on);
	CHECK_FALSE(bts_units.latched);
	processor.in_nmi = true;
	bts_unit_latch(&bts_units);
	processor.in_nmi = false;
	CHECK(bts_units.latched);
	CHECK((one.ctl() & ours) == 0);
	// Code that had read the register before the NMI writes it back.
	processor.registers[debugctl] = 0x4000 | tr | bts | btint;
	bts_unit_disarm(&one.unit);
	CHECK_FALSE(bts_units.on);
	SECTION("the event leaves")
	{
		bts_unit_del(&one.unit);
		CHECK(one.ctl() == 0x4000);
		CHECK_FALSE(bts_units.off_in_nmi);
	}
	SECTION("its buffer does")
	{
		bts_unit_leave_buffer(buffer.get());
		CHECK(one.ctl() == 0x4000);
	}
	SECTION("a buffer goes while it is at work")
	{
		REQUIRE(bts_unit_arm(&one.unit) == 0);
		bts_unit_leave_buffer(buffer.get());
		CHECK((one.ctl() & ours) == (tr | bts | btint));
	}
}

TEST_CASE("bts: the claim leaves everything as it was found")
{
	const char *why = nullptr;

	Bts one;
	bts_unit_release();
	area() = {11, 12, 13, 14};
	SECTION("an area that is ours to set")
	{
		processor.registers[ds_area] = 0;
		one.take();
		CHECK(processor.registers[ds_area] == reinterpret_cast<std::uint64_t>(&area()));
		area() = {1, 2, 3, 4};
		processor.registers[ds_area] = 0; // cleared by a suspend
		bts_unit_invalidate(&one.unit);
		CHECK(processor.registers[ds_area] == reinterpret_cast<std::uint64_t>(&area()));
		bts_unit_release();
		CHECK(processor.registers[ds_area] == 0);
	}
	SECTION("the kernel's area")
	{
		processor.registers[ds_area] = reinterpret_cast<std::uint64_t>(&area());
		one.take();
		area() = {1, 2, 3, 4};
		bts_unit_invalidate(&one.unit);
		bts_unit_release();
		CHECK(processor.registers[ds_area] == reinterpret_cast<std::uint64_t>(&area()));
	}
	SECTION("an event that comes and goes")
	{
		processor.registers[ds_area] = 0;
		one.take();
		area() = {1, 2, 3, 4};
		bts_unit_del(&one.unit);
	}
	SECTION("somebody else's area")
	{
		processor.registers[ds_area] = 0x1000;
		CHECK(bts_unit_acquire(&why) == -EBUSY);
		REQUIRE(why);
		CHECK(std::string(why).find("IA32_DS_AREA") != std::string::npos);
		CHECK(processor.registers[ds_area] == 0x1000);
		CHECK_FALSE(bts_units.claimed);
	}
	for (auto bit : {tr, bts})
		DYNAMIC_SECTION("somebody records, bit " << bit)
		{
			processor.registers[debugctl] = bit;
			CHECK(bts_unit_acquire(&why) == -EBUSY);
			REQUIRE(why);
			CHECK(processor.registers[debugctl] == bit);
			CHECK_FALSE(bts_units.claimed);
		}
	CHECK(area().bts_buffer_base == 11);
	CHECK(area().bts_index == 12);
	CHECK(area().bts_absolute_maximum == 13);
	CHECK(area().bts_interrupt_threshold == 14);
}

TEST_CASE("bts: for a kernel that goes away it is switched off, if it is ours")
{
	Bts one;

	processor.registers[debugctl] = 0x4000 | tr | bts;
	bts_unit_shutdown();
	CHECK(one.ctl() == 0x4000);
	CHECK_FALSE(bts_units.claimed);
	processor.registers[debugctl] = tr | bts;
	bts_unit_shutdown();
	CHECK(one.ctl() == (tr | bts));
}
