/* SPDX-License-Identifier: GPL-2.0-only */
/* An AUX PMU that is not auxpmu's: selftests/stranger. */
#ifndef AUXPMU_TEST_STRANGER_H
#define AUXPMU_TEST_STRANGER_H

#include <cerrno>
#include <format>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>

#include "../lib/handle.h"
#include "../lib/pmu.h"

namespace auxpmu::test
{

/* The stranger's module, loaded as long as this lives.  Takes root. */
class Stranger
{
public:
	/* Throws if it cannot be loaded. */
	Stranger()
	{
		UniqueFd file(::open(path().c_str(), O_RDONLY | O_CLOEXEC));

		if (!file || ::syscall(SYS_finit_module, file.get(), "", 0))
			throw std::runtime_error(std::format("{} cannot be loaded: errno {}", path(), errno));
	}
	~Stranger() { ::syscall(SYS_delete_module, "auxpmu_stranger", O_NONBLOCK); }
	Stranger(const Stranger &) = delete;

	/* Skips the test where it has not been built. */
	static void need()
	{
		if (::access(path().c_str(), R_OK))
			SKIP("no " << path() << ": selftests/vm/stranger builds it");
	}

private:
	static std::string path()
	{
		return std::format("/auxpmu/build/stranger/{}/auxpmu_stranger.ko",
			read_small_file("/proc/sys/kernel/osrelease").value_or(""));
	}
};

} // namespace auxpmu::test

#endif
