// SPDX-License-Identifier: GPL-2.0-only
// drivers/pt/config.c: which attr.config a processor accepts, and the resulting
// IA32_RTIT_CTL, against the rules of SDM volume 3 ("IA32_RTIT_CTL MSR" and the CPUID bits it depends on), bit by bit.
#include "driver.h"
#include "processor.h"

extern "C" {
#include "../../drivers/pt/caps.h"
#include "../../drivers/pt/config.h"
}

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace unit;

namespace
{

// Names in sysfs are those of the in-tree intel_pt, so that a user's command line works with both.
struct Bits {
	const char *name, *place;
	unsigned lowest, highest;
	int needs;     // the required capability, or none
	int encodings; // the capability whose bit n tells that n is a valid value
};
constexpr int none = -1;
constexpr Bits known[] = {
	{"pt", "config:0", 0, 0, none, none},
	{"cyc", "config:1", 1, 1, PT_PSB_CYC, none},
	{"pwr_evt", "config:4", 4, 4, PT_POWER_EVENT_TRACE, none},
	{"fup_on_ptw", "config:5", 5, 5, PT_PTWRITE, none},
	{"mtc", "config:9", 9, 9, PT_MTC, none},
	{"tsc", "config:10", 10, 10, none, none},
	{"noretcomp", "config:11", 11, 11, none, none},
	{"ptw", "config:12", 12, 12, PT_PTWRITE, none},
	{"branch", "config:13", 13, 13, none, none},
	{"mtc_period", "config:14-17", 14, 17, PT_MTC, PT_MTC_PERIODS},
	{"cyc_thresh", "config:19-22", 19, 22, PT_PSB_CYC, PT_CYCLE_THRESHOLDS},
	{"psb_period", "config:24-27", 24, 27, PT_PSB_CYC, PT_PSB_PERIODS},
	{"event", "config:31", 31, 31, PT_EVENT_TRACE, none},
	{"notnt", "config:55", 55, 55, PT_TNT_DISABLE, none},
};

std::uint64_t value_of(std::uint64_t config, const Bits &bits)
{
	return config >> bits.lowest & ((std::uint64_t{1} << (bits.highest - bits.lowest + 1)) - 1);
}

std::uint32_t &caps_of(int cap)
{
	return processor.caps[static_cast<std::size_t>(cap)];
}

bool taken(std::uint64_t config)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		bool known_bit = false;

		for (const auto &bits : known)
			known_bit |= bits.lowest <= bit && bit <= bits.highest;
		if (config >> bit & 1 && !known_bit)
			return false;
	}
	for (const auto &bits : known) {
		const auto value = value_of(config, bits);

		if (value && bits.needs != none && !caps_of(bits.needs))
			return false;
		if (value && bits.encodings != none && !(caps_of(bits.encodings) >> value & 1))
			return false;
	}
	const auto bit = [&](unsigned n) -> bool {
		return config >> n & 1;
	};
	// MTC without a period has period 0, which may be unsupported; FUP on PTW requires PTW.
	if (bit(9) && !(config >> 14 & 15) && !(caps_of(PT_MTC_PERIODS) & 1))
		return false;
	if (bit(5) && !bit(12))
		return false;
	// Bit 0 says that the branch bit is taken literally; without it, branches are always traced and the branch bit must be
	// clear.
	if (bit(0))
		return bit(13) || !processor.needs_branches;
	return !bit(13);
}

perf_event_attr attr_of(std::uint64_t config)
{
	perf_event_attr attr{};

	attr.config = config;
	return attr;
}

// The answer of the code under test, and the reason if it refuses.
int check(const perf_event_attr &attr, std::string *why = nullptr)
{
	char text[PT_CONFIG_WHY] = "";
	const int ret = pt_config_check(&attr, text);

	if (why)
		*why = text;
	if (!ret != !text[0] || std::strlen(text) + 1 == sizeof(text))
		FAIL("config " << std::hex << attr.config << ": " << std::dec << ret << " is said to be: " << text);
	return ret;
}

// Checks that the code under test agrees with the rules above.
void compare(std::uint64_t config)
{
	const int ret = check(attr_of(config));

	if (ret != (taken(config) ? 0 : -EINVAL))
		FAIL("config " << std::hex << config << ": " << std::dec << ret
			       << ", should be taken: " << taken(config));
}

void any_processor(Random &random)
{
	processor = {};
	for (int cap = 0; cap < PT_NR_CAPS; cap++)
		caps_of(cap) = pick(random, 0, 3) != 0;
	for (int cap : {PT_MTC_PERIODS, PT_CYCLE_THRESHOLDS, PT_PSB_PERIODS})
		caps_of(cap) = static_cast<std::uint32_t>(pick(random, 0, 0xffff));
	processor.needs_branches = pick(random, 0, 1);
}

} // namespace

TEST_CASE("config: every bit alone, with each capability there and not")
{
	unsigned right = 0;

	for (std::uint32_t caps = 0; caps < 256; caps++) {
		const int flags[] = {
			PT_PSB_CYC, PT_MTC, PT_PTWRITE, PT_POWER_EVENT_TRACE, PT_EVENT_TRACE, PT_TNT_DISABLE};

		processor = {};
		for (unsigned n = 0; n < std::size(flags); n++)
			caps_of(flags[n]) = caps >> n & 1;
		for (int cap : {PT_MTC_PERIODS, PT_CYCLE_THRESHOLDS, PT_PSB_PERIODS})
			caps_of(cap) = caps & 64 ? 0xffff : 0;
		processor.needs_branches = caps & 128;
		for (unsigned bit = 0; bit < 64; bit++)
			for (std::uint64_t with : {0x0ull, 0x1ull, 0x2001ull, 0x1000ull}) {
				const auto config = with | std::uint64_t{1} << bit;

				compare(config);
				right += taken(config);
			}
	}
	CHECK(right > 1000);
}

TEST_CASE("config: every value of every field, whatever the processor lists")
{
	Random random(Catch::getSeed());

	for (unsigned n = 0; n < 300; n++) {
		any_processor(random);
		for (const auto &bits : known)
			for (std::uint64_t value = 0; value < 16; value++)
				for (std::uint64_t with : {0x0ull, 0x1ull, 0x200ull, 0x2001ull}) {
					const auto config = with | value << bits.lowest;

					compare(config);
				}
	}
}

TEST_CASE("config: fields together")
{
	Random random(Catch::getSeed());
	unsigned right = 0, wrong = 0;

	for (unsigned n = 0; n < 200; n++) {
		any_processor(random);
		for (unsigned m = 0; m < 500; m++) {
			std::uint64_t config = 0;

			for (const auto &bits : known)
				if (pick(random, 0, 2) == 0)
					config |= pick(random, 0, 15) % (1 << (bits.highest - bits.lowest + 1))
						  << bits.lowest;
			if (pick(random, 0, 15) == 0)
				config |= std::uint64_t{1} << pick(random, 0, 63);
			compare(config);
			(taken(config) ? right : wrong)++;
		}
	}
	CHECK(right > 1000);
	CHECK(wrong > 1000);
}

TEST_CASE("config: the other words are nobody's")
{
	auto attr = attr_of(0);

	processor = {};
	CHECK(check(attr) == 0);
	for (unsigned bit = 0; bit < 64; bit++) {
		attr.config1 = std::uint64_t{1} << bit;
		ENSURE(check(attr) == -EINVAL);
		attr.config1 = 0;
		attr.config2 = std::uint64_t{1} << bit;
		ENSURE(check(attr) == -EINVAL);
		attr.config2 = 0;
	}
}

TEST_CASE("config: a refusal says which field, and what it may be")
{
	const auto why = [](std::uint64_t config, std::uint64_t config1 = 0) {
		auto attr = attr_of(config);
		std::string text;

		attr.config1 = config1;
		CHECK(check(attr, &text) == -EINVAL);
		return text;
	};

	processor = {};
	CHECK(why(1 << 1) == "cyc has to be 0, because caps/psb_cyc is 0 here");
	CHECK(why(3 << 14) == "mtc_period has to be 0, because caps/mtc is 0 here");
	for (int cap : {PT_PSB_CYC, PT_MTC, PT_PTWRITE})
		caps_of(cap) = 1;
	caps_of(PT_MTC_PERIODS) = 0x248;
	caps_of(PT_PSB_PERIODS) = 0x3f;
	CHECK(why(4 << 14) == "mtc_period is 4; it is 0 or a bit that is set in caps/mtc_periods (248)");
	CHECK(why(15 << 24) == "psb_period is 15; it is 0 or a bit that is set in caps/psb_periods (3f)");
	CHECK(why(1 << 9) == "mtc takes an mtc_period of those set in caps/mtc_periods (248)");
	CHECK(why(0x100000404) == "config has bits outside the fields in sysfs format/: 0x100000004");
	CHECK(why(0, 1) == "config1, config2, config3 or config4 is not 0");
	CHECK(why(1 << 5) == "fup_on_ptw takes ptw");
	CHECK(why(1 << 13) == "branch takes pt; without both, branches are traced");
	processor.needs_branches = true;
	CHECK(why(1) == "pt takes branch on this processor (erratum BDM106)");
}

TEST_CASE("config: the register holds what was asked for, the levels that are not excluded, and branches")
{
	Random random(Catch::getSeed());

	for (unsigned n = 0; n < 5000; n++) {
		std::uint64_t config = 0;

		for (const auto &bits : known)
			if (pick(random, 0, 1))
				config |= std::uint64_t{1} << bits.lowest;
		auto attr = attr_of(config);
		attr.exclude_kernel = pick(random, 0, 1);
		attr.exclude_user = pick(random, 0, 1);
		const auto ctl = pt_config_ctl(&attr);
		for (unsigned bit = 0; bit < 64; bit++) {
			bool want = config >> bit & 1;

			switch (bit) {
			case 0: // TraceEn is set when the unit is switched on
				want = false;
				break;
			case 2: // OS
				want = !attr.exclude_kernel;
				break;
			case 3: // User
				want = !attr.exclude_user;
				break;
			case 13: // BranchEn
				want = want || !(config & 1);
				break;
			}
			if ((ctl >> bit & 1) != want)
				FAIL("config " << std::hex << config << ": bit " << std::dec << bit);
		}
	}
}

TEST_CASE("config: sysfs format/ has the fields under their names, and of those only what this processor can")
{
	char text[4096];

	pt_config_init();
	REQUIRE(pt_format_group.name == std::string("format"));
	for (bool can : {false, true}) {
		processor = {};
		for (int cap = 0; cap < PT_NR_CAPS; cap++)
			caps_of(cap) = can;
		int n = 0;
		for (const auto &bits : known) {
			auto *attr = pt_format_group.attrs[n];

			REQUIRE(attr);
			CHECK(attr->name == std::string(bits.name));
			CHECK(pt_format_group.is_visible(nullptr, attr, n) == (can || bits.needs == none ? 0444 : 0));
			auto *shown = reinterpret_cast<device_attribute *>(attr); // its first member
			CHECK(shown->show(nullptr, shown, text) > 0);
			CHECK(text == std::string(bits.place) + "\n");
			n++;
		}
		CHECK(pt_format_group.attrs[n] == nullptr);
	}
}
