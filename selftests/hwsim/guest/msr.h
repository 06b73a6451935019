/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers: accesses the model-specific registers of a processor through the msr driver, which requires root.
 */
#ifndef HWSIM_GUEST_MSR_H
#define HWSIM_GUEST_MSR_H

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <string>
#include <unistd.h>

[[noreturn]] inline void give_up(const char *what)
{
	std::perror(what);
	std::exit(2);
}

class Registers
{
public:
	void open(int cpu)
	{
		file = ::open(("/dev/cpu/" + std::to_string(cpu) + "/msr").c_str(), O_RDWR);
		if (file < 0)
			give_up("/dev/cpu/N/msr");
	}
	/* Returns nothing if the processor refuses the read (#GP). */
	std::optional<std::uint64_t> read(std::uint32_t msr) const
	{
		std::uint64_t value = 0;
		if (pread(file, &value, sizeof value, msr) == sizeof value)
			return value;
		if (errno != EIO)
			give_up("read a register");
		return {};
	}
	bool write(std::uint32_t msr, std::uint64_t value) const
	{
		if (pwrite(file, &value, sizeof value, msr) == sizeof value)
			return true;
		if (errno != EIO)
			give_up("write a register");
		return false;
	}
	std::uint64_t operator[](std::uint32_t msr) const { return read(msr).value_or(0); }

	/* The file descriptor, for callers that issue their own system calls on it. */
	int descriptor() const { return file; }

private:
	int file = -1;
};

#endif
