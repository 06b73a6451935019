// SPDX-License-Identifier: GPL-2.0-only
#include "kit/kernel_log.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>

namespace auxpmu
{

KernelLog::KernelLog(From from) : file(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC))
{
	if (file && from == From::now)
		::lseek(file.get(), 0, SEEK_END);
}

/* Each read() is a record, and lines that begin with a blank and belong to it. */
std::vector<std::string> KernelLog::records()
{
	std::vector<std::string> found;
	char record[8192];

	while (file) {
		const ssize_t size = ::read(file.get(), record, sizeof record);

		/* the log has overwritten our position, and goes on with the oldest record */
		if (size < 0 && errno == EPIPE) {
			found.emplace_back(",,,;(lines of the kernel's log are missing here)");
			continue;
		}
		if (size <= 0)
			break;
		const std::string text(record, static_cast<std::size_t>(size));

		found.push_back(text.substr(0, text.find('\n')));
	}
	return found;
}

std::vector<std::string> KernelLog::lines()
{
	std::vector<std::string> found = records();

	for (auto &line : found)
		line.erase(0, line.find(';') + 1);
	return found;
}

bool KernelLog::says(std::string_view text)
{
	return std::ranges::any_of(
		lines(), [text](const std::string &line) { return line.find(text) != std::string::npos; });
}

} // namespace auxpmu
