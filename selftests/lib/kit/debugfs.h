/* SPDX-License-Identifier: GPL-2.0-only */
/* Paths of the debugfs files of an auxpmu PMU, and the error for a file that cannot be used. */
#ifndef AUXPMU_KIT_DEBUGFS_H
#define AUXPMU_KIT_DEBUGFS_H

#include <cstring>
#include <format>
#include <string>
#include <string_view>

#include <linux/auxpmu.h>

#include "kit/result.h"

namespace auxpmu
{

inline std::string debugfs_file(std::string_view pmu, const char *name)
{
	return std::format(AUXPMU_DEBUGFS "/{}/{}", pmu, name);
}

/* what: "read" or "write"; code: errno. */
inline Error debugfs_error(const char *what, const std::string &path, int code)
{
	return {code,
		std::format(
			"cannot {} {}: {}; it takes root, debugfs mounted on /sys/kernel/debug, and a PMU of auxpmu",
			what, path, std::strerror(code))};
}

} // namespace auxpmu

#endif /* AUXPMU_KIT_DEBUGFS_H */
