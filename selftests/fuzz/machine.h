/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The machine as the fuzzer finds it: numbers of PMUs, files of root's, and the state that a program may leave behind and the
 * next one must not meet.
 */
#ifndef AUXPMU_FUZZ_MACHINE_H
#define AUXPMU_FUZZ_MACHINE_H

#include <cstdint>
#include <string>

#include "program.h"

namespace auxpmu::fuzz
{

class Machine
{
public:
	/* control: without auxpmu; what would be an AUX PMU is a clock.  name: hardware, in the place of the synthetic unit. */
	Machine(bool control, std::string name);

	bool control() const noexcept { return without; }
	bool hardware() const noexcept { return !pmu.empty(); }
	/* attr.type; 0xffffffff when there is no such PMU now. */
	std::uint32_t type_of(Type type) const;
	/* Of one of ours; empty when it is none. */
	std::string name_of(Type type) const;
	/* attr.config of hardware, from what a synthetic unit would have; mostly one that can be. */
	std::uint64_t config_of(std::uint64_t config) const;
	static std::string model_folder(std::uint64_t model);
	static std::string group_folder(std::uint64_t group);
	/* Tracepoint of getppid(). */
	std::uint64_t syscall_id() const noexcept { return tracepoint; }
	/* Does this kernel count a mapping of what was redirected wrongly (docs/compatibility.md)? */
	bool miscounts_redirected() const noexcept { return newest; }
	/* Has a user pay each mapping of a ring, and gives back one? */
	bool charges_twice() const noexcept { return newest; }
	/* Loses what a file wants signals with, when the event was revoked? */
	bool loses_revoked() const noexcept { return newest; }

	/* Before a program, and behind it: the settings it wants; CPUs on, units gone, faults off, the module there. */
	void prepare(const Program &program) const;
	void restore() const;
	/* Unloads and loads the module, so that its counters are zero: after a failure. */
	void reload() const;

private:
	bool without;
	std::string pmu;
	bool newest = false;
	std::uint64_t tracepoint = 0;
};

/* Runs it as modprobe does; 0 or an errno. */
int load_module();
/* delete_module(2) without waiting; 0 or an errno. */
int unload_module();

} // namespace auxpmu::fuzz

#endif /* AUXPMU_FUZZ_MACHINE_H */
