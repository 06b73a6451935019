// SPDX-License-Identifier: GPL-2.0-only
#include "shared/hardware.h"

#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace
{

unsigned first(unsigned n)
{
	return n * 3 + 1;
}
unsigned second(unsigned n)
{
	return n ^ 0x55;
}
unsigned third(unsigned n)
{
	return n >> 1;
}

} // namespace

namespace auxpmu::test
{

void churn(unsigned calls)
{
	static unsigned (*volatile const table[])(unsigned) = {first, second, third};
	volatile unsigned value = 1;

	for (unsigned i = 0; i < calls; i++)
		value = table[(value + i) % 3](value);
}

std::uint64_t interrupts(const std::string &name)
{
	std::ifstream file("/proc/interrupts");
	std::string line, word;
	std::uint64_t count = 0;

	while (std::getline(file, line)) {
		std::istringstream words(line);
		if (words >> word >> count && word == name + ":")
			return count;
	}
	throw std::runtime_error("/proc/interrupts has no " + name);
}

Event sampler(std::uint64_t period, bool kernel)
{
	perf_event_attr attr{};

	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_INSTRUCTIONS;
	attr.sample_period = period;
	attr.exclude_kernel = !kernel;
	attr.disabled = 1;
	return Event::open(attr, Target::on_cpu(0)).value();
}

void take_nmis()
{
	const std::uint64_t before = interrupts("NMI");

	wait_until("NMIs", [&] {
		churn(10'000);
		return interrupts("NMI") - before > 20;
	});
}

std::uint64_t symbol(const std::string &wanted)
{
	std::ifstream symbols("/proc/kallsyms");
	std::string address, type, name;

	while (symbols >> address >> type >> name) {
		if (name == wanted)
			return std::stoull(address, nullptr, 16);
		symbols.ignore(1024, '\n');
	}
	SKIP("/proc/kallsyms has no " << wanted);
	return 0;
}

Result<Event> open_in_tree(Target target)
{
	auto pmu = Pmu::find(intree()).value();
	perf_event_attr attr = pmu.attr();

	attr.exclude_kernel = 1;
	return Event::open(attr, target);
}

std::uint64_t trace_in_tree(int cpu)
{
	pin(cpu);
	Event event = open_in_tree(Target::on_cpu(cpu)).value();
	DataRing data = DataRing::map(event, 16 * KiB).value();
	AuxRing aux = AuxRing::map(data, event, 256 * KiB, AuxMode::full_trace).value();
	event.enable().value();
	churn(2000);
	event.disable().value();
	return aux.head();
}

} // namespace auxpmu::test
