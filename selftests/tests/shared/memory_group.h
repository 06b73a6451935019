/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory that the kernel charges to a test. */
#ifndef AUXPMU_TESTS_MEMORY_GROUP_H
#define AUXPMU_TESTS_MEMORY_GROUP_H

#include <cstdint>
#include <cstdlib>
#include <string>

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/fixture.h"

namespace auxpmu::test
{

/*
 * A control group that holds this process during the lifetime of the object. Skips the test where memory is not accounted.
 * Requires root.
 */
class MemoryGroup
{
public:
	MemoryGroup()
	{
		REQUIRE(::mkdtemp(root.data()));
		path = root + "/auxpmu";
		if (::mount("none", root.c_str(), "cgroup2", 0, nullptr)) {
			::rmdir(root.c_str());
			SKIP("this kernel has no control groups");
		}
		if (!write_small_file(root + "/cgroup.subtree_control", "+memory")) {
			leave();
			SKIP("this kernel does not account memory, or does so elsewhere");
		}
		::mkdir(path.c_str(), 0700);
		write_small_file(path + "/cgroup.procs", "0").value();
	}
	~MemoryGroup()
	{
		static_cast<void>(write_small_file(root + "/cgroup.procs", "0"));
		::rmdir(path.c_str());
		leave();
	}
	MemoryGroup(const MemoryGroup &) = delete;

	/* The charged memory in bytes. */
	std::uint64_t charged() const { return std::stoull(read_small_file(path + "/memory.current").value()); }

private:
	void leave()
	{
		::umount(root.c_str());
		::rmdir(root.c_str());
	}

	std::string root = "/tmp/auxpmu-cgroup-XXXXXX", path;
};

} // namespace auxpmu::test

#endif /* AUXPMU_TESTS_MEMORY_GROUP_H */
