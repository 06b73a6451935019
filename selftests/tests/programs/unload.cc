// SPDX-License-Identifier: GPL-2.0-only
/*
 * rmmod: refused while anything of a PMU exists, possible right after. This test unloads the modules and loads them again, so
 * it is a program of its own, to be run last.
 */
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <format>
#include <fstream>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/fixture.h"
#include "shared/knob.h"
#include "shared/report.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

bool loaded(const char *module)
{
	return ::access(std::format("/sys/module/{}", module).c_str(), F_OK) == 0;
}

/* Calls delete_module(2); returns 0 or errno. */
int unload(const char *module)
{
	return ::syscall(SYS_delete_module, module, O_NONBLOCK) ? errno : 0;
}

/* The module of the synthetic PMU: loading auxpmu loads it through a softdep, and it keeps auxpmu in use. */
constexpr const char *synth_module = "auxpmu_synth";

void unload_all()
{
	if (loaded(synth_module))
		wait_until("rmmod to work", [] { return unload(synth_module) == 0; });
	wait_until("rmmod to work", [] { return unload("auxpmu") == 0; });
}

void load(const std::string &module)
{
	if (std::system(std::format("modprobe {}", module).c_str()))
		throw std::runtime_error(std::format("modprobe {} failed", module));
}

/* Skips the test unless the framework is a module; unloads other users of it. */
void need_module()
{
	need_synthetic();
	if (options().pmu != AUXPMU_SYNTH_NAME)
		SKIP("this is about the modules auxpmu and auxpmu_synth, not about " << options().pmu);
	if (!loaded("auxpmu"))
		SKIP("auxpmu is built into this kernel, or not loaded");
	if (::geteuid())
		SKIP("it takes root to unload modules");
	if (loaded("auxpmu_example"))
		CHECK(unload("auxpmu_example") == 0);
}

struct Parts {
	Event event;
	DataRing data;
	AuxRing aux;
};

/* The PMU gets a new type number each time it is loaded, so sysfs is read anew. */
Parts make(AuxMode mode, const char *pmu = AUXPMU_SYNTH_NAME)
{
	Parts parts;
	auto found = Pmu::find(pmu).value();
	auto attr = found.attr();

	parts.event = Event::open(attr, Target::on_cpu(0)).value();
	parts.data = DataRing::map(parts.event, 16 * KiB).value();
	parts.aux = AuxRing::map(parts.data, parts.event, 64 * KiB, mode).value();
	return parts;
}

} // namespace

TEST_CASE("rmmod is refused while a descriptor, a mapping, or only a mapping lives, and works right after",
	"[synth][unload]")
{
	enum Last { descriptor, data_ring, aux_area };

	need_module();
	struct Way {
		AuxMode mode;
		bool running;
		Last last;
	};
	/* These combinations cover every pair of values; loading and unloading a module takes long. */
	constexpr Way ways[] = {
		{AuxMode::full_trace, true, descriptor},
		{AuxMode::full_trace, false, data_ring},
		{AuxMode::full_trace, true, aux_area},
		{AuxMode::overwrite, false, descriptor},
		{AuxMode::overwrite, true, data_ring},
		{AuxMode::overwrite, false, aux_area},
	};
	for (const auto &[mode, running, last] : ways) {
		Parts parts = make(mode);

		CAPTURE(mode == AuxMode::overwrite, running, last);
		if (running)
			parts.event.enable().value();
		CHECK(unload(synth_module) == EAGAIN);
		if (last != descriptor) {
			parts.event.close();
			CHECK(unload(synth_module) == EAGAIN);
		}
		if (last != data_ring) {
			parts.data.unmap();
			CHECK(unload(synth_module) == EAGAIN);
		}
		if (last != aux_area) {
			parts.aux.unmap();
			/* The data ring alone, without descriptor and AUX area, belongs to the core. */
			if (last == descriptor)
				CHECK(unload(synth_module) == EAGAIN);
		}
		CHECK(unload("auxpmu") == EAGAIN);
		parts = Parts();
		unload_all();
		CHECK_FALSE(loaded("auxpmu"));
		CHECK_FALSE(Pmu::find(AUXPMU_SYNTH_NAME));
		load("auxpmu");
	}
}

TEST_CASE("rmmod is refused while another PMU's event still maps one of our buffers", "[synth][unload]")
{
	need_module();
	/* The buffer holds references on both the PMU's module and the framework. */
	struct Way {
		const char *module, *pmu;
	};
	for (const auto &[module, pmu] :
		{Way{synth_module, AUXPMU_SYNTH_NAME}, Way{"auxpmu_example", "auxpmu_example"}}) {
		CAPTURE(module);
		if (std::system(std::format("modprobe -qn {}", module).c_str()))
			SKIP(module << " is not installed: drivers/example");
		load(module);
		/* A software event that is redirected into our ring maps it, too; then everything of ours is closed. */
		auto attr = dummy_attr();
		attr.disabled = 1;
		auto software = Event::open(attr, Target::on_cpu(0)).value();
		Parts parts = make(AuxMode::full_trace, pmu);

		REQUIRE(software.set_output(parts.event));
		auto data = DataRing::map(software, 16 * KiB);
		if (!data)
			SKIP("this kernel does not let a redirected event map the ring: " << data.error().text);
		auto aux = AuxRing::map(*data, software, 64 * KiB, AuxMode::full_trace).value();
		parts.aux.unmap();
		parts.data.unmap();
		parts.event.close();
		CHECK(unload(module) == EAGAIN);
		CHECK(unload("auxpmu") == EAGAIN);
		aux.unmap();
		data->unmap();
		software.close();
		wait_until("rmmod to work", [module] { return unload(module) == 0; });
	}
	/* Loading a backend loads the framework, whose softdep makes modprobe load auxpmu_synth, too. */
	unload_all();
	load("auxpmu");
}

TEST_CASE("With synth=0 the framework comes alone, and nothing of the synthetic PMU is there", "[synth][unload]")
{
	need_module();
	unload_all();
	load("auxpmu synth=0");
	CHECK(loaded("auxpmu"));
	CHECK_FALSE(loaded(synth_module));
	CHECK_FALSE(Pmu::find(AUXPMU_SYNTH_NAME));
	CHECK(::access(AUXPMU_CONFIGFS, F_OK) != 0);
	CHECK(::access(AUXPMU_DEBUGFS "/" AUXPMU_SYNTH_NAME, F_OK) != 0);
	/* Loaded by name, the module logs why it refuses. */
	KernelLog log;
	CHECK(std::system("modprobe -q auxpmu_synth") != 0);
	CHECK(log.says("not loaded: auxpmu.synth=0"));
	{
		Knob wanted("/sys/module/auxpmu/parameters/synth", "1");

		load(synth_module);
		CHECK(Pmu::find(AUXPMU_SYNTH_NAME));
	}
	unload_all();
	/* Likewise with a line in modprobe.d, and for a backend that loads the framework. */
	constexpr const char *line = "/etc/modprobe.d/auxpmu-test.conf";
	std::ofstream(line) << "options auxpmu synth=0\n";
	const bool backend = !std::system("modprobe -qn auxpmu_example");
	load(backend ? "auxpmu_example" : "auxpmu");
	std::remove(line);
	CHECK(loaded("auxpmu"));
	CHECK_FALSE(loaded(synth_module));
	CHECK_FALSE(Pmu::find(AUXPMU_SYNTH_NAME));
	CHECK(::access(AUXPMU_CONFIGFS, F_OK) != 0);
	if (backend)
		wait_until("rmmod to work", [] { return unload("auxpmu_example") == 0; });
	CHECK(unload("auxpmu") == 0);
	load("auxpmu");
	CHECK(Pmu::find(AUXPMU_SYNTH_NAME));
}

TEST_CASE("Loading and unloading again and again leaves nothing behind", "[synth][unload]")
{
	need_module();
	for (int i = 0; i < 6; i++) {
		if (i % 3 == 0) {
			Parts parts = make(i % 2 ? AuxMode::overwrite : AuxMode::full_trace);

			parts.event.enable().value();
		}
		unload_all();
		CHECK_FALSE(Pmu::find(AUXPMU_SYNTH_NAME));
		load("auxpmu");
		CHECK(Pmu::find(AUXPMU_SYNTH_NAME));
	}
}

int main(int argc, char **argv)
{
	return run(argc, argv);
}
