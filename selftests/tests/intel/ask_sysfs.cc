// SPDX-License-Identifier: GPL-2.0-only
/*
 * What sysfs shows of the PMU under test and of the in-tree one.
 * Run with --pmu auxpmu_pt or auxpmu_bts beside the in-tree driver; everywhere else all of it is skipped.
 */
#include <filesystem>
#include <format>
#include <map>
#include <set>
#include <string>

#include "intel/ask.h"
#include "shared/fixture.h"
#include "shared/hardware.h"

using namespace auxpmu;
using namespace auxpmu::test;
using namespace auxpmu::test::asking;

namespace
{

/* The files in a PMU's sysfs folder, or in a folder inside it, with their contents. */
std::map<std::string, std::string> files(const Pmu &whose, const std::string &folder = "")
{
	const std::filesystem::path path = "/sys/bus/event_source/devices/" + whose.name() + "/" + folder;
	std::map<std::string, std::string> all;

	if (std::filesystem::is_directory(path))
		for (const auto &entry : std::filesystem::directory_iterator(path))
			if (entry.is_regular_file())
				all[entry.path().filename()] = read_small_file(entry.path()).value_or("(unreadable)");
	return all;
}

/* Each file of the in-tree PMU must exist in ours with the same text. Returns the differences, or "". */
std::string other_text(const std::map<std::string, std::string> &ours, const std::map<std::string, std::string> &theirs)
{
	std::string all;

	for (const auto &[name, text] : theirs)
		if (auto found = ours.find(name); found == ours.end())
			all += std::format("{} is missing\n", name);
		else if (found->second != text)
			all += std::format("{}: \"{}\" instead of \"{}\"\n", name, found->second, text);
	return all;
}

/* Names that exist in ours and not in the in-tree PMU. */
std::set<std::string> more(
	const std::map<std::string, std::string> &ours, const std::map<std::string, std::string> &theirs)
{
	std::set<std::string> names;

	for (const auto &[name, text] : ours)
		if (!theirs.contains(name))
			names.insert(name);
	return names;
}

} // namespace

TEST_CASE("sysfs caps/ and the ratios say what the kernel's own driver says, and claim nothing else", "[hardware][ask]")
{
	need_in_tree();
	auto folder = files(pmu()), their_folder = files(theirs());
	for (const char *own : {"type", "uevent", "perf_event_mux_interval_ms"})
		for (auto *all : {&folder, &their_folder})
			all->erase(own);
	CHECK(other_text(folder, their_folder) == "");
	CHECK(more(folder, their_folder) == std::set<std::string>{"claim", "claims"});
	const auto caps = files(pmu(), "caps"), their_caps = files(theirs(), "caps");
	CHECK(other_text(caps, their_caps) == "");
	/* Every PMU of auxpmu has these: docs/consumers.md. */
	CHECK(more(caps, their_caps) == std::set<std::string>{"aux_head", "cpus", "granule", "max_order", "overwrite",
						"pause", "sampling", "yields"});
	if (intree() == "intel_pt") {
		CHECK(their_folder.contains("max_nonturbo_ratio"));
		CHECK(their_folder.contains("tsc_art_ratio"));
		CHECK(their_caps.contains("psb_periods"));
	}
}

TEST_CASE("A field is in format/ if the processor has it, at intel_pt's place", "[pt][ask]")
{
	need_in_tree();
	need("auxpmu_pt");
	wait_until_free();
	auto wanted = files(theirs(), "format");
	REQUIRE(wanted.contains("pt"));
	/* The in-tree driver shows all fields; a request finds out whether the processor has one. */
	for (const auto &[name, bits] : fields()) {
		const std::uint64_t lowest = bits & -bits;
		bool had = false;
		for (std::uint64_t value = 1; value <= bits / lowest; value++)
			for (std::uint64_t companion : companions())
				had |= answer(theirs(), ask_config(companion | value * lowest)) == 0;
		/* fup_on_ptw needs ptw, and a processor that lacks one of the switches refuses all of them together. */
		had |= answer(theirs(), ask_config(bits | field("ptw"))) == 0;
		if (!had)
			wanted.erase(name);
	}
	CHECK(files(pmu(), "format") == wanted);
}
