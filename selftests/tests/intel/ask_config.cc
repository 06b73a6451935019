// SPDX-License-Identifier: GPL-2.0-only
/*
 * The words of an attr that hold the PMU's own fields: each bit of them, and each encoding, is requested of ours and of the
 * in-tree PMU. Run with --pmu auxpmu_pt or auxpmu_bts beside the in-tree PMU; everywhere else all of it is skipped.
 */
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <format>
#include <set>
#include <string>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

#include "intel/ask.h"
#include "shared/fixture.h"
#include "shared/hardware.h"
#include "shared/knob.h"

using namespace auxpmu;
using namespace auxpmu::test;
using namespace auxpmu::test::asking;

namespace
{

std::vector<Ask> of_configs(const std::set<std::uint64_t> &configs)
{
	std::vector<Ask> asks;

	for (std::uint64_t config : configs)
		asks.push_back(ask_config(config));
	return asks;
}

/* Each of the 64 bits, alone and with others; and each pair of switches. */
std::vector<Ask> every_bit()
{
	std::set<std::uint64_t> configs;

	for (std::uint64_t companion : companions()) {
		configs.insert(companion);
		for (unsigned n = 0; n < 64; n++)
			configs.insert(companion ^ bit(n));
	}
	for (std::uint64_t one : switches())
		for (std::uint64_t other : switches())
			configs.insert(one | other);
	return of_configs(configs);
}

/* Each value of the fields that have several bits: without a switch, with the timing switches, and with all. */
std::vector<Ask> every_encoding()
{
	std::set<std::uint64_t> configs;
	auto beside = companions();

	beside.push_back(field("cyc"));
	beside.push_back(field("mtc"));
	for (const auto &[name, bits] : fields()) {
		const std::uint64_t lowest = bits & -bits;
		for (std::uint64_t companion : beside)
			for (std::uint64_t value = 0; value <= bits / lowest; value++)
				configs.insert(companion | value * lowest);
	}
	return of_configs(configs);
}

/* All that changes the register: each switch, and each encoding with the switch that it belongs to. */
std::vector<Ask> every_control()
{
	const std::uint64_t branches = field("pt") | field("branch"), timing = branches | field("cyc") | field("mtc");
	std::set<std::uint64_t> configs{0, branches, timing};

	for (const auto &[name, bits] : fields()) {
		const std::uint64_t lowest = bits & -bits;
		configs.insert(branches | bits);
		/* Also without branch tracing, which is then not requested. */
		configs.insert(field("pt") | bits);
		for (std::uint64_t value = 0; value <= bits / lowest; value++)
			configs.insert(timing | value * lowest);
	}
	return of_configs(configs);
}

} // namespace

TEST_CASE("Each bit of config is taken or refused as by intel_pt, alone and beside each field", "[pt][ask]")
{
	need_in_tree();
	need("auxpmu_pt");
	need_root();
	const auto asks = every_bit();
	compare_answers(asks);
	Paranoid two(2);
	compare_answers_to_nobody(of_own_thread(asks, true));
}

TEST_CASE("Each encoding of a field is taken or refused as by intel_pt", "[pt][ask]")
{
	need_in_tree();
	need("auxpmu_pt");
	const auto asks = every_encoding();
	compare_answers(asks);
}

TEST_CASE("IA32_RTIT_CTL is what intel_pt writes, for each field and each of its encodings", "[pt][ask]")
{
	need_in_tree();
	need("auxpmu_pt");
	compare_controls(every_control());
}

TEST_CASE("Words behind config have to be 0, each bit of them", "[hardware][ask]")
{
	need_hardware();
	/* The in-tree PMUs ignore these words; ours reserves them for future use. BTS has no fields in config, either. */
	static const struct {
		const char *name;
		std::size_t offset;
	} words[] = {
		{"config", offsetof(perf_event_attr, config)},
		{"config1", offsetof(perf_event_attr, config1)},
		{"config2", offsetof(perf_event_attr, config2)},
		/* These lie beyond older headers; a kernel that does not know them returns E2BIG. */
		{"config3", 128},
		{"config4", 136},
	};
	struct {
		perf_event_attr attr;
		std::array<std::uint64_t, 8> more;
	} asked;
	const auto opens = [&] {
		long fd = ::syscall(SYS_perf_event_open, &asked, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd >= 0)
			::close(static_cast<int>(fd));
		return fd < 0 ? errno : 0;
	};
	std::string wrong;
	for (const auto &word : words)
		for (unsigned n = 0; n < 64; n++) {
			if (options().pmu == "auxpmu_pt" && word.name == std::string("config"))
				continue;
			asked = {};
			asked.attr = plain();
			asked.attr.type = pmu().type();
			asked.attr.size = 144;
			const std::uint64_t value = bit(n);
			std::memcpy(reinterpret_cast<char *>(&asked) + word.offset, &value, sizeof(value));
			const int error = opens();
			if (error != EINVAL && (error != E2BIG || word.offset < 128))
				wrong += std::format(" {}:{}", word.name, n);
		}
	CHECK(wrong == "");
	CHECK(answer(pmu(), ask_config(0)) == 0);
}
