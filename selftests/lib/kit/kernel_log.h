/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel says while something is done. */
#ifndef AUXPMU_KIT_KERNEL_LOG_H
#define AUXPMU_KIT_KERNEL_LOG_H

#include <string>
#include <string_view>
#include <vector>

#include "kit/handle.h"

namespace auxpmu
{

class KernelLog
{
public:
	/* From now on, or from the oldest record that there is. Without root there is nothing to read. */
	enum class From { now, oldest };
	explicit KernelLog(From from = From::now);

	/*
	 * The records since the last call, as /dev/kmsg has them: priority, number, microseconds, flags; text. Where some were
	 * overwritten before they were read, one says so.
	 */
	std::vector<std::string> records();
	/* Their texts. */
	std::vector<std::string> lines();
	/* Is there one with this text among these? */
	bool says(std::string_view text);

private:
	UniqueFd file;
};

} // namespace auxpmu

#endif /* AUXPMU_KIT_KERNEL_LOG_H */
