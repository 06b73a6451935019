// SPDX-License-Identifier: GPL-2.0-only
#include "unit.h"

#include <chrono>
#include <filesystem>
#include <format>
#include <thread>

#include "kit/event.h"
#include "kit/kernel_log.h"
#include "kit/pmu.h"

namespace auxpmu::machine
{
namespace
{

constexpr const char *framework = "auxpmu";

/*
 * The kernel's drivers of Arm's trace units and ours each want all of the devices. Theirs go first, and State::restore() loads them
 * again; in this order nothing uses another one.
 */
constexpr const char *coresight_modules[] = {"coresight_trbe", "coresight_catu", "coresight_tmc",
	"coresight_replicator", "coresight_funnel", "coresight_etm4x"};

Outcome modprobe(std::vector<std::string> words)
{
	words.insert(words.begin(), "modprobe");
	return execute({.words = std::move(words), .limit = std::chrono::seconds(120)});
}

bool module_there(const std::string &name)
{
	return std::filesystem::exists("/sys/module/" + name + "/refcnt");
}

/* Ours that are loaded, those that use others first. */
std::vector<std::string> modules_of_ours()
{
	std::vector<std::string> names;

	for (const auto &unit : possible_units())
		names.push_back(unit.driver);
	names.insert(names.end(), {"auxpmu_synth", framework});
	return names;
}

} // namespace

const std::vector<Unit> &possible_units()
{
	static const std::vector<Unit> units = {
#ifdef __x86_64__
		{"auxpmu_pt", "intel_pt", "[pt]~[vmx]~[hardware]", {0x570, 0x571, 0x560, 0x561, 0x572, 0x580, 0x581},
			true, "no Intel PT here"},
		{"auxpmu_bts", "intel_bts", "[bts]~[vmx]~[hardware]", {0x1d9, 0x600}, false, "no BTS here"},
#elif defined(__aarch64__)
		{"auxpmu_etm", "cs_etm", "", {}, true, "the device tree has no CPU with a trace unit"},
#endif
	};
	return units;
}

StepResult Modules::load(const Unit &unit)
{
	KernelLog log;

	if (const std::string why = unload(); !why.empty())
		return StepResult::not_done(why);
	unload_theirs();
	if (const Outcome loaded = modprobe({framework, "paranoid=1"}); !loaded.ok())
		return StepResult::failed(std::format(
			"the framework does not load: {}", loaded.output.substr(0, loaded.output.find('\n'))));
	/* The units are the in-tree driver's again as soon as nobody traces. */
	static_cast<void>(write_small_file("/sys/module/auxpmu/parameters/release_delay", "20"));
	static_cast<void>(log.records());
	if (modprobe({unit.driver}).ok()) {
		name = unit.driver;
		return StepResult::passed(
			Pmu::find(unit.theirs) ? "beside " + unit.theirs : "there is no " + unit.theirs);
	}
	std::string why = "it does not load, and the kernel does not say why";

	for (const auto &line : log.lines())
		if (line.find(unit.driver + ":") != std::string::npos)
			why = line;
	/* That is somebody's decision, and can be changed: the machine has the unit. */
	if (why.find("pti=off") != std::string::npos || why.find("the devices have a driver") != std::string::npos)
		return StepResult::not_done(why);
	return why.find(unit.absence) != std::string::npos ? StepResult::not_applicable(why) : StepResult::failed(why);
}

std::string Modules::unload()
{
	for (const auto &one : modules_of_ours()) {
		if (!module_there(one))
			continue;
		if (Pmu::find(one))
			until_free(one);
		if (const Outcome removed = modprobe({"-r", one}); !removed.ok() && module_there(one))
			return std::format(
				"the module {} cannot be unloaded: somebody uses it; close what traces with it", one);
	}
	name.clear();
	return "";
}

std::string Modules::load_theirs(const Unit &unit)
{
	const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);

	if (const std::string why = unload(); !why.empty())
		return why;
	for (const char *one : coresight_modules)
		modprobe({one});
	/* a sink may be there only when all that lead to it are */
	for (;;) {
		if (auto pmu = Pmu::find(unit.theirs))
			if (auto event = Event::open(pmu->attr(), Target::task()); event)
				return "";
		if (std::chrono::steady_clock::now() > end)
			break;
		std::this_thread::sleep_for(std::chrono::milliseconds(5));
	}
	unload_theirs();
	return "the kernel has no driver of its own for these units, or that has found no sink";
}

void Modules::unload_theirs()
{
	for (const char *one : coresight_modules)
		if (module_there(one))
			modprobe({"-r", one});
}

bool until_free(const std::string &pmu)
{
	return wait_until_free(pmu, std::chrono::minutes(1));
}

} // namespace auxpmu::machine
