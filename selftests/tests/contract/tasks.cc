// SPDX-License-Identifier: GPL-2.0-only
/* What an event follows: threads, CPUs, children; over fork and exec. */
#include "contract/tasks.h"
#include "contract/yields.h"

#include <algorithm>
#include <cstdlib>
#include <format>
#include <memory>
#include <set>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/fixture.h"

using namespace auxpmu;
using namespace auxpmu::test;

int auxpmu::test::run_exec_role(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	int cpu = std::atoi(argv[2]);
	std::uint64_t bytes = std::strtoull(argv[3], nullptr, 10);
	auto emitter = Emitter::open(argc > 4 ? argv[4] : AUXPMU_SYNTH_NAME);

	if (!emitter)
		return 3;
	return emitter->emit(cpu, bytes).error ? 4 : 0;
}

TEST_CASE("A per-task event follows its thread from CPU to CPU without a gap", "[synth][tasks]")
{
	need_synthetic();
	if (cpus() < 2)
		SKIP("it takes two CPUs");
	for (unsigned output : every_output())
		for (auto mode : {AuxMode::full_trace, AuxMode::overwrite}) {
			Setup setup;

			setup.target = Target::task();
			setup.output = output;
			setup.mode = mode;
			pin(0);
			Tracer tracer(setup);
			tracer.enable();
			for (int round = 0; round < 10; round++) {
				int cpu = round % 2;

				pin(cpu);
				tracer.emit_all(5 * KiB, cpu);
				tracer.drain();
			}
			tracer.finish();
			CHECK(tracer.verifier.streams().size() == 1);
			/* A START is written each time the thread is scheduled in, at least when it was moved. */
			CHECK(tracer.verifier.totals().starts >= 10);
		}
	pin(0);
}

TEST_CASE("A per-task event traces its thread only", "[synth][tasks]")
{
	need_synthetic();
	Setup setup;
	Gate go, done;

	setup.target = Target::task();
	pin(0);
	Tracer tracer(setup);
	tracer.enable();
	tracer.emit_all(1024, 0);
	pid_t child = spawn([&] {
		pin(0);
		/* The parent sleeps, so its event is not on this CPU. */
		return emitter().emit(0, 1024).error == ENXIO;
	});
	CHECK(succeeded(child));
	tracer.emit_all(1024, 0);
	tracer.finish();
}

TEST_CASE("A per-CPU event sees its own CPU only, and two of them do not mix", "[synth][tasks]")
{
	need_synthetic();
	if (cpus() < 2)
		SKIP("it takes two CPUs");
	Setup zero, one;
	zero.seed = 1;
	one.target = Target::on_cpu(1);
	one.seed = 2;
	Tracer first(zero), second(one);
	first.enable();
	CHECK(first.emit(64, 1).error == ENXIO);
	second.enable();
	for (int round = 0; round < 20; round++) {
		first.emit_all(4096);
		second.emit_all(8192);
		first.drain();
		second.drain();
	}
	first.finish_without_statistics();
	second.finish_without_statistics();
	CHECK(first.verifier.totals().record_bytes == 20 * 4096 + 64);
	CHECK(second.verifier.totals().record_bytes == 20 * 8192 + 64);
}

TEST_CASE("Children's streams arrive complete in the rings of the parent's inherited events", "[synth][tasks]")
{
	need_synthetic();
	constexpr int children = 4;
	constexpr std::uint64_t bytes = 12 * KiB;
	auto before = statistics();
	std::vector<std::unique_ptr<Tracer>> tracers;

	for (int cpu = 0; cpu < std::min(cpus(), 2); cpu++) {
		Setup setup;

		setup.target = Target::task_on_cpu(0, cpu);
		setup.inherit = true;
		setup.aux_bytes = 256 * KiB;
		setup.output = static_cast<unsigned>(cpu) * AUXPMU_SYNTH_COPY;
		tracers.push_back(std::make_unique<Tracer>(setup));
	}
	for (auto &tracer : tracers)
		tracer->enable();
	std::vector<pid_t> pids;
	for (int i = 0; i < children; i++)
		pids.push_back(spawn([&] {
			bool good = true;

			for (int cpu = 0; cpu < static_cast<int>(tracers.size()); cpu++) {
				pin(cpu);
				good &= emitter().emit(cpu, bytes).error == 0;
			}
			return good;
		}));
	for (pid_t pid : pids)
		CHECK(succeeded(pid));
	std::uint64_t made = 0;
	for (auto &tracer : tracers) {
		std::uint64_t emitted = 0;
		std::set<std::uint64_t> parents;

		/*
		 * A child's trace need not be in its own event: at a switch between parent and child the core may swap their
		 * contexts, because they are alike.
		 */
		tracer->finish_without_statistics();
		for (const auto &stream : tracer->verifier.streams()) {
			made += stream.bytes;
			emitted += (stream.records - stream.starts) * stream.record_size;
			CHECK(stream.lost == 0);
			if (stream.parent)
				parents.insert(stream.parent);
		}
		CHECK(emitted == children * bytes);
		CHECK(parents.size() == 1);
		for (const auto &stream : tracer->verifier.streams())
			if (!stream.parent)
				CHECK(*parents.begin() == stream.stream);
	}
	auto delta = statistics().since(before);
	CHECK(delta["produced"] == made);
	CHECK(delta["begins"] == delta["ends"]);
}

TEST_CASE("inherit on any CPU is refused", "[contract][tasks]")
{
	Setup setup;

	setup.target = Target::task();
	setup.inherit = true;
	auto event = Event::open(make_attr(setup), setup.target);
	if (synthetic()) {
		REQUIRE_FALSE(event);
		CHECK(event.error().code == EINVAL);
		CHECK(event.error().text.find("one per CPU") != std::string::npos);
	} else if (event) {
		CHECK_FALSE(DataRing::map(*event, setup.data_bytes));
	} else {
		CHECK(event.error().code == EINVAL);
	}
}

TEST_CASE("A forked child may hold and close the descriptor; the trace goes on", "[synth][tasks]")
{
	need_synthetic();
	Setup setup;
	Gate go;
	Tracer tracer(setup);

	tracer.enable();
	tracer.emit_all(1024);
	pid_t child = spawn([&] {
		bool waited = go.wait();

		/* The AUX area is not inherited; the descriptor is, and may switch the event. */
		::ioctl(tracer.event.fd(), PERF_EVENT_IOC_DISABLE, 0);
		::ioctl(tracer.event.fd(), PERF_EVENT_IOC_ENABLE, 0);
		::close(tracer.event.fd());
		return waited;
	});
	tracer.emit_all(1024);
	go.open();
	CHECK(succeeded(child));
	tracer.emit_all(1024);
	tracer.finish();
	CHECK(tracer.verifier.totals().starts == 2);
}

TEST_CASE("A child that outlives the parent's descriptor and mappings keeps the event, harmlessly", "[synth][tasks]")
{
	need_synthetic();
	Setup setup;
	Gate go;
	auto before = statistics();
	pid_t child;
	{
		Tracer tracer(setup);
		tracer.enable();
		tracer.emit_all(1024);
		child = spawn([&] { return go.wait(); });
		CHECK(buffers().size() == 1);
	}
	/* There is no AUX area any more, so nothing can be written. */
	CHECK(buffers().empty());
	CHECK(emitter().emit(0, 64).error == ENXIO);
	go.open();
	CHECK(succeeded(child));
	auto delta = statistics().since(before);
	CHECK(delta["begins"] == delta["ends"]);
}

TEST_CASE("An event for a thread that executes a program follows it, from enable_on_exec on", "[synth][tasks]")
{
	need_synthetic();
	for (auto mode : {AuxMode::full_trace, AuxMode::overwrite}) {
		Gate go;
		pid_t child = spawn([&] {
			if (!go.wait())
				return false;
			pin(0);
			::execl("/proc/self/exe", "auxpmu_tests", exec_role, "0", "16384", options().pmu.c_str(),
				static_cast<char *>(nullptr));
			return false;
		});
		Setup setup;

		setup.target = Target::task(child);
		setup.enable_on_exec = true;
		setup.mode = mode;
		Tracer tracer(setup);
		go.open();
		CHECK(succeeded(child));
		tracer.finish();
		std::uint64_t data = 0;
		for (const auto &stream : tracer.verifier.streams())
			data += (stream.records - stream.starts) * stream.record_size;
		CHECK(data == 16384);
	}
}

TEST_CASE("A thread that exits while it is traced leaves its trace complete", "[synth][tasks]")
{
	need_synthetic();
	Gate go;
	pid_t child = spawn([&] {
		if (!go.wait())
			return false;
		pin(0);
		return emitter().emit(0, 8192).error == 0;
	});
	Setup setup;

	setup.target = Target::task(child);
	Tracer tracer(setup);
	tracer.enable();
	go.open();
	CHECK(succeeded(child));
	tracer.finish();
	std::uint64_t data = 0;
	for (const auto &stream : tracer.verifier.streams())
		data += (stream.records - stream.starts) * stream.record_size;
	CHECK(data == 8192);
}

TEST_CASE("A per-task event traces its thread, and nothing once that has ended", "[contract][tasks]")
{
	Gate go;
	Setup setup;
	pid_t child = spawn([&] {
		if (!go.wait())
			return false;
		pin(0);
		return synthetic() ? emitter().emit(0, 1024).error == 0 : keep_busy();
	});

	setup.target = Target::task(child);
	setup.exclude_kernel = !synthetic();
	auto tracer = open_or_skip(setup);
	tracer.enable();
	go.open();
	CHECK(succeeded(child));
	std::uint64_t head = tracer.aux.head();
	must_yield(head, "while its thread was busy");
	pin(0);
	if (synthetic())
		CHECK(emitter().emit(0, 1024).error == ENXIO);
	else
		keep_busy();
	CHECK(tracer.aux.head() == head);
	tracer.finish();
}
