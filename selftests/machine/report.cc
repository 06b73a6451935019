// SPDX-License-Identifier: GPL-2.0-only
#include "report.h"

#include <algorithm>
#include <filesystem>
#include <format>
#include <fstream>
#include <regex>
#include <sstream>
#include <sys/utsname.h>
#include <unistd.h>

#include "kit/pmu.h"

namespace auxpmu::machine
{
namespace
{

/* Of the kernel's command line: the rest may name disks, networks and people. */
constexpr const char *parameters[] = {"pti", "nopti", "kpti", "mitigations", "clearcpuid", "nmi_watchdog", "nowatchdog",
	"maxcpus", "nr_cpus", "isolcpus", "nohz_full", "iommu", "intel_iommu", "iommu.passthrough", "lockdown",
	"module.sig_enforce", "nokaslr", "nosmt", "panic", "oops", "preempt", "crashkernel", "auxpmu"};

/* The value of the first line "NAME : VALUE" of a file. */
std::string value_in(const char *file, const std::string &name)
{
	std::ifstream in(file);

	for (std::string line; std::getline(in, line);)
		if (const std::size_t colon = line.find(':'); line.starts_with(name) && colon != std::string::npos)
			return line.substr(std::min(colon + 2, line.size()));
	return "";
}

std::string known_parameters()
{
	std::istringstream words(read_small_file("/proc/cmdline").value_or(""));
	std::string known;

	for (std::string word; words >> word;) {
		const std::string name = word.substr(0, word.find_first_of("=."));

		if (std::ranges::find(parameters, name) != std::end(parameters) ||
			std::ranges::find(parameters, word.substr(0, word.find('='))) != std::end(parameters))
			known += (known.empty() ? "" : " ") + word;
	}
	return known;
}

bool runs_under_hypervisor()
{
	const std::string flags = " " + value_in("/proc/cpuinfo", "flags") + " ";
	const std::string tree = read_small_file("/sys/firmware/devicetree/base/compatible").value_or("");
	const std::string vendor = read_small_file("/sys/class/dmi/id/sys_vendor").value_or("");

	return flags.find(" hypervisor ") != std::string::npos || tree.find("dummy-virt") != std::string::npos ||
	       vendor.find("QEMU") != std::string::npos;
}

bool is_printed(unsigned char byte)
{
	return (byte >= ' ' && byte != 0x7f) || byte == '\n' || byte == '\t';
}

/*
 * A line without the name of the host, of home folders, and what looks like an address of a network card or of the network; and of text
 * only: firmware's strings end with a NUL, programs print what they like.
 */
std::string clean(std::string line)
{
	static const std::regex hardware_address("([0-9a-f]{2}:){5}[0-9a-f]{2}", std::regex::icase);
	static const std::regex network_address("\\b[0-9]{1,3}(\\.[0-9]{1,3}){3}\\b");
	static const std::regex home("/home/[^/ ]+");
	utsname names{};

	std::erase_if(line, [](char byte) { return !is_printed(static_cast<unsigned char>(byte)); });
	line = std::regex_replace(line, hardware_address, "(address)");
	line = std::regex_replace(line, network_address, "(address)");
	line = std::regex_replace(line, home, "/home/(user)");
	if (uname(&names) || !names.nodename[0] || std::string_view(names.nodename) == "(none)")
		return line;
	const std::string host = names.nodename;

	for (std::size_t at = 0; (at = line.find(host, at)) != std::string::npos; at += 6)
		line.replace(at, host.size(), "(host)");
	return line;
}

std::string caps_of(const std::string &pmu)
{
	std::error_code error;
	std::vector<std::string> all;
	std::string text;

	for (const auto &file :
		std::filesystem::directory_iterator("/sys/bus/event_source/devices/" + pmu + "/caps", error))
		all.push_back(file.path().filename().string() + "=" + read_small_file(file.path()).value_or("?"));
	std::ranges::sort(all);
	for (const auto &one : all)
		text += (text.empty() ? "" : " ") + one;
	return text;
}

} // namespace

void Facts::merge(const Facts &more)
{
	is_virtual |= more.is_virtual;
	for (const auto &line : more.lines)
		if (std::ranges::none_of(lines, [&](const auto &one) { return one.first == line.first; }))
			lines.push_back(line);
}

Facts read_facts()
{
	Facts facts;
	utsname names{};
	const auto add = [&](const std::string &name, const std::string &value) {
		if (!value.empty())
			facts.lines.emplace_back(name, value);
	};

	uname(&names);
	facts.is_virtual = runs_under_hypervisor();
	add("kernel", std::format("{} {}", names.release, names.machine));
	add("built", names.version);
	for (const char *name : {"model name", "cpu family", "model\t", "stepping", "microcode", "CPU implementer",
		     "CPU part", "CPU variant", "CPU revision"})
		add(name == std::string("model\t") ? "model" : name, value_in("/proc/cpuinfo", name));
	add("CPUs", read_small_file("/sys/devices/system/cpu/online").value_or(""));
	add("firmware", read_small_file("/sys/class/dmi/id/bios_version").value_or(""));
	add("board", read_small_file("/sys/class/dmi/id/board_name").value_or(""));
	add("model of the board", read_small_file("/sys/firmware/devicetree/base/model").value_or(""));
	add("lockdown", read_small_file("/sys/kernel/security/lockdown").value_or(""));
	add("parameters", known_parameters());
	add("auxpmu", read_small_file("/sys/module/auxpmu/version").value_or(""));
	for (const auto &pmu : Pmu::names())
		if (pmu.starts_with("auxpmu_") || pmu.starts_with("intel_pt") || pmu.starts_with("intel_bts") ||
			pmu.starts_with("cs_etm"))
			add(pmu, caps_of(pmu).empty() ? "there" : caps_of(pmu));
	return facts;
}

std::vector<std::string> crash_lines()
{
	static const std::regex words(
		"BUG|Oops|panic|RIP|Call Trace|auxpmu|lockup|stall|WARNING|fault|pc :|lr :|^ ? [a-z_0-9.]+\\+0x");
	std::vector<std::string> lines;
	std::error_code error;

	for (const auto &file : std::filesystem::directory_iterator("/sys/fs/pstore", error)) {
		std::ifstream in(file.path());

		for (std::string line; std::getline(in, line) && lines.size() < 60;)
			if (std::regex_search(line, words))
				lines.push_back("crash: " + line);
	}
	return lines;
}

std::string report(const Facts &facts, const Conclusion &conclusion, const std::vector<StepResult> &results)
{
	std::string text = std::format("auxpmu-check: {}\n\n", conclusion.sentence);

	if (facts.is_virtual)
		text += "This is a virtual machine: whatever is found here says nothing about a processor.\n\n";
	text += "Machine\n";
	for (const auto &[name, value] : facts.lines)
		text += clean(std::format("  {}: {}\n", name, value));
	text += "\nFaults\n";
	for (const auto &result : results)
		for (const auto &finding : result.findings)
			text += clean(std::format("  {}: {} (step {})\n", finding.name, finding.says, result.name));
	if (std::ranges::all_of(results, [](const StepResult &one) { return one.findings.empty(); }))
		text += "  none\n";
	text += "\nSteps\n";
	for (const auto &result : results)
		text += clean(std::format("  {}: {}{}{}\n", result.name, text_of(result.verdict),
			result.reason.empty() ? "" : ": ", result.reason));
	for (const auto &result : results) {
		if (result.excerpt.empty())
			continue;
		text += std::format("\nStep {}\n", result.name);
		for (const auto &line : result.excerpt)
			text += clean("  | " + line) + "\n";
	}
	return text;
}

} // namespace auxpmu::machine
