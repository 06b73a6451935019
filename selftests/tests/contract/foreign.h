/* SPDX-License-Identifier: GPL-2.0-only */
/* An AUX PMU that is not auxpmu's: selftests/foreign. */
#ifndef AUXPMU_TEST_FOREIGN_H
#define AUXPMU_TEST_FOREIGN_H

#include <cerrno>
#include <format>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>

#include "kit/handle.h"
#include "kit/pmu.h"

namespace auxpmu::test
{

/* The module of a foreign AUX PMU, loaded during the lifetime of this object. Requires root. */
class Foreign
{
public:
	/* Throws if it cannot be loaded. */
	Foreign()
	{
		UniqueFd file(::open(path().c_str(), O_RDONLY | O_CLOEXEC));

		if (!file || ::syscall(SYS_finit_module, file.get(), "", 0))
			throw std::runtime_error(std::format("{} cannot be loaded: errno {}", path(), errno));
	}
	~Foreign() { ::syscall(SYS_delete_module, "auxpmu_foreign", O_NONBLOCK); }
	Foreign(const Foreign &) = delete;

	/* Skips the test where it has not been built. */
	static void need()
	{
		if (::access(path().c_str(), R_OK))
			SKIP("no " << path() << ": selftests/vm/foreign builds it");
	}

private:
	static std::string path()
	{
		return std::format("/auxpmu/build/foreign/{}/auxpmu_foreign.ko",
			read_small_file("/proc/sys/kernel/osrelease").value_or(""));
	}
};

} // namespace auxpmu::test

#endif
