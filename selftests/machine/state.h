/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What this check may change of a machine, and has to leave as it was: modules, settings, mounts, processors.
 */
#ifndef AUXPMU_MACHINE_STATE_H
#define AUXPMU_MACHINE_STATE_H

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace auxpmu::machine
{

class State
{
public:
	/* As it is now. */
	static State read();

	/* Brings back what a test has left otherwise: settings, mounts, processors, modules. */
	void restore() const;
	/* A line for each difference between this one, from before, and that. */
	std::vector<std::string> differences(const State &after) const;

	const std::set<std::string> &modules() const noexcept { return loaded; }

private:
	std::map<std::string, std::string> settings; /* file -> contents */
	std::set<std::string> loaded, mounts, units;
};

/* The registers of a trace unit on each processor that is online: "CPU 0 0x570" -> value. Empty if they cannot be read. */
using Registers = std::map<std::string, std::uint64_t>;
Registers read_registers(const std::vector<std::uint32_t> &numbers);
/* Writes one MSR: 0, or errno (EIO: general protection fault). */
int write_register(unsigned cpu, std::uint32_t number, std::uint64_t value);
/* As it is on this processor; 0 if it cannot be read. */
std::uint64_t read_register(unsigned cpu, std::uint32_t number);

/* The numbers of the processors that are online. */
std::vector<unsigned> online_cpus();

} // namespace auxpmu::machine

#endif /* AUXPMU_MACHINE_STATE_H */
