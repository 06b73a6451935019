// SPDX-License-Identifier: GPL-2.0-only
#include "synth/on_demand.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <format>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "kit/debugfs.h"
#include "kit/pmu.h"
#include "kit/words.h"

namespace auxpmu
{

Result<Emitter> Emitter::open(std::string_view pmu)
{
	Emitter emitter;
	auto path = debugfs_file(pmu, "emit");

	emitter.command = UniqueFd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
	if (!emitter.command)
		return debugfs_error("write", path, errno);
	path = debugfs_file(pmu, "emitted");
	emitter.result = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
	if (!emitter.result)
		return debugfs_error("read", path, errno);
	return emitter;
}

Emitter::Outcome Emitter::emit(int cpu, std::uint64_t bytes) noexcept
{
	char text[64];
	char *end = std::to_chars(text, text + 20, cpu).ptr;

	*end++ = ' ';
	end = std::to_chars(end, text + sizeof(text), bytes).ptr;
	ssize_t written = ::pwrite(command.get(), text, static_cast<std::size_t>(end - text), 0);
	if (written == end - text)
		return {0, bytes};
	int error = errno;
	ssize_t got = ::pread(result.get(), text, sizeof(text), 0);
	std::uint64_t done = 0;
	std::string_view answer(text, got > 0 ? static_cast<std::size_t>(got) : 0);
	answer = answer.substr(0, answer.find('\n'));
	if (auto space = answer.find(' ');
		space == std::string_view::npos || !to_number(answer.substr(space + 1), done))
		return {EPROTO, 0};
	/* No event traces any more, because the buffer became full in an earlier piece. */
	return {error == ENXIO && done ? ENOSPC : error, done};
}

Result<NmiSender> NmiSender::open(std::string_view pmu)
{
	NmiSender sender;
	auto path = debugfs_file(pmu, "nmi");

	sender.file = UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
	if (!sender.file)
		return debugfs_error("write", path, errno);
	char text[16];
	ssize_t got = ::pread(sender.file.get(), text, sizeof(text), 0);
	if (got <= 0)
		return debugfs_error("read", path, errno);
	sender.what.assign(text, static_cast<std::size_t>(got));
	sender.what.resize(sender.what.find_last_not_of('\n') + 1);
	return sender;
}

int NmiSender::send(int cpu, unsigned count) noexcept
{
	char text[64];
	char *end = std::to_chars(text, text + 20, cpu).ptr;

	*end++ = ' ';
	end = std::to_chars(end, text + sizeof(text), count).ptr;
	return ::pwrite(file.get(), text, static_cast<std::size_t>(end - text), 0) < 0 ? errno : 0;
}

Result<void> NmiSender::at(std::string_view step)
{
	return command(std::format("at {}", step));
}

Result<void> NmiSender::off()
{
	return command("off");
}

Result<void> NmiSender::command(std::string_view text)
{
	if (::pwrite(file.get(), text.data(), text.size(), 0) < 0)
		return Error{errno, std::format("nmi: \"{}\": {}", text, std::strerror(errno))};
	return {};
}

Result<BenchResult> run_bench(std::string_view pmu, std::uint64_t bytes)
{
	auto path = debugfs_file(pmu, "bench");
	BenchResult result;

	if (auto asked = write_small_file(path, std::to_string(bytes)); !asked)
		return asked.error();
	auto answer = read_small_file(path);
	if (!answer)
		return debugfs_error("read", path, errno);
	auto parts = split(*answer, " \n");
	if (parts.size() < 3 || !to_number(parts[0], result.bytes) || !to_number(parts[1], result.records_ns) ||
		!to_number(parts[2], result.memset_ns))
		return Error{EINVAL, std::format("{} says \"{}\"", path, *answer)};
	return result;
}

} // namespace auxpmu
