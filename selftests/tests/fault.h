/* SPDX-License-Identifier: GPL-2.0-only */
/* Faults on request, see docs/testing.md. */
#ifndef AUXPMU_TESTS_FAULT_H
#define AUXPMU_TESTS_FAULT_H

#include <format>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "fixture.h"

namespace auxpmu::test
{

/* A fault of the PMU under test, that stays asked for as long as this lives. */
class Fault
{
public:
	Fault(const char *name, unsigned times)
		: path(std::format("{}/{}/faults/{}", AUXPMU_DEBUGFS, options().pmu, name))
	{
		set(times);
	}
	~Fault() { write("0"); }

	void set(unsigned times)
	{
		if (!write(std::to_string(times)))
			throw std::runtime_error(std::format("cannot write {}", path));
	}
	unsigned left() const { return static_cast<unsigned>(std::stoul(read_small_file(path).value_or("999"))); }

private:
	/* Fails when the PMU is gone. */
	bool write(const std::string &text) const
	{
		UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));

		return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
	}

	std::string path;
};

} // namespace auxpmu::test

#endif /* AUXPMU_TESTS_FAULT_H */
