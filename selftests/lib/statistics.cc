// SPDX-License-Identifier: GPL-2.0-only
#include "statistics.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <format>
#include <stdexcept>

#include <fcntl.h>
#include <unistd.h>

#include "../../uapi/linux/auxpmu.h"

#include "pmu.h"

namespace auxpmu
{

namespace
{

std::string file_of(std::string_view pmu, const char *name)
{
	return std::format(AUXPMU_DEBUGFS "/{}/{}", pmu, name);
}

Error cannot(const char *what, const std::string &path, int code)
{
	return {code,
		std::format(
			"cannot {} {}: {}; it takes root, debugfs mounted on /sys/kernel/debug, and a PMU of auxpmu",
			what, path, std::strerror(code))};
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators)
{
	std::vector<std::string_view> parts;

	for (;;) {
		auto begin = text.find_first_not_of(separators);

		if (begin == std::string_view::npos)
			return parts;
		text.remove_prefix(begin);
		auto end = std::min(text.find_first_of(separators), text.size());
		parts.push_back(text.substr(0, end));
		text.remove_prefix(end);
	}
}

template <class T>
bool to_number(std::string_view text, T &value)
{
	auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);

	return failure == std::errc{} && end == text.data() + text.size();
}

} // namespace

Result<Statistics> Statistics::parse(std::string_view text)
{
	Statistics statistics;
	std::vector<unsigned> cpus;
	bool first = true;

	for (auto line : split(text, "\n")) {
		auto parts = split(line, " \t");

		if (first) {
			if (parts.size() < 2 || parts[0] != "counter" || parts[1] != "total")
				return Error{EINVAL,
					std::format(
						"statistics begin with \"{}\", not with \"counter total ...\"", line)};
			for (std::size_t i = 2; i < parts.size(); i++) {
				unsigned cpu = 0;

				if (!parts[i].starts_with("cpu") || !to_number(parts[i].substr(3), cpu))
					return Error{EINVAL, std::format("statistics have a column \"{}\"", parts[i])};
				cpus.push_back(cpu);
			}
			first = false;
			continue;
		}
		Row row;
		if (parts.size() != cpus.size() + 2 || !to_number(parts[1], row.total))
			return Error{EINVAL, std::format("statistics have a line \"{}\"", line)};
		for (std::size_t i = 0; i < cpus.size(); i++)
			if (!to_number(parts[i + 2], row.cpus[cpus[i]]))
				return Error{EINVAL, std::format("statistics have a line \"{}\"", line)};
		statistics.order.emplace_back(parts[0]);
		statistics.rows.emplace(parts[0], row);
	}
	if (first)
		return Error{EINVAL, "statistics are empty"};
	return statistics;
}

Result<Statistics> Statistics::read(std::string_view pmu)
{
	auto path = file_of(pmu, "stats");
	auto text = read_small_file(path);

	if (!text)
		return cannot("read", path, errno);
	return parse(*text);
}

const Statistics::Row &Statistics::row(std::string_view counter) const
{
	auto found = rows.find(counter);

	if (found == rows.end())
		throw std::out_of_range(std::format("no counter \"{}\" in the statistics", counter));
	return found->second;
}

std::uint64_t Statistics::operator[](std::string_view counter) const
{
	return row(counter).total;
}

std::uint64_t Statistics::on_cpu(std::string_view counter, unsigned cpu) const
{
	auto &cpus = row(counter).cpus;
	auto found = cpus.find(cpu);

	return found == cpus.end() ? 0 : found->second;
}

Statistics Statistics::since(const Statistics &before) const
{
	Statistics difference = *this;

	for (auto &[name, row] : difference.rows) {
		auto old = before.rows.find(name);

		if (old == before.rows.end())
			continue;
		row.total -= old->second.total;
		for (auto &[cpu, value] : row.cpus) {
			auto column = old->second.cpus.find(cpu);

			if (column != old->second.cpus.end())
				value -= column->second;
		}
	}
	return difference;
}

std::string Statistics::text() const
{
	std::string all;

	for (const auto &name : order)
		if (auto total = row(name).total)
			all += std::format("{}{} {}", all.empty() ? "" : ", ", name, total);
	return all;
}

Result<std::vector<BufferLine>> BufferLine::parse(std::string_view text)
{
	std::vector<BufferLine> buffers;

	for (auto line : split(text, "\n")) {
		BufferLine buffer;
		bool good = true;

		for (auto part : split(line, " \t")) {
			auto equals = std::min(part.find('='), part.size());
			auto key = part.substr(0, equals);
			auto value = part.substr(std::min(equals + 1, part.size()));

			if (key == "bytes")
				good &= to_number(value, buffer.bytes);
			else if (key == "mode")
				buffer.overwrite = value == "overwrite";
			else if (key == "chunks")
				good &= to_number(value, buffer.chunks);
			else if (key == "orders")
				for (auto pair : split(value, ",")) {
					auto colon = std::min(pair.find(':'), pair.size());
					unsigned order = 0;
					std::uint64_t count = 0;

					good &= to_number(pair.substr(0, colon), order) &&
						to_number(pair.substr(std::min(colon + 1, pair.size())), count);
					buffer.orders[order] += count;
				}
		}
		if (!good || !buffer.bytes)
			return Error{EINVAL, std::format("buffers has a line \"{}\"", line)};
		buffers.push_back(buffer);
	}
	return buffers;
}

Result<std::vector<BufferLine>> BufferLine::read(std::string_view pmu)
{
	auto path = file_of(pmu, "buffers");
	auto text = read_small_file(path);

	if (!text)
		return cannot("read", path, errno);
	return parse(*text);
}

Result<Emitter> Emitter::open(std::string_view pmu)
{
	Emitter emitter;
	auto path = file_of(pmu, "emit");

	emitter.command = UniqueFd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
	if (!emitter.command)
		return cannot("write", path, errno);
	path = file_of(pmu, "emitted");
	emitter.result = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
	if (!emitter.result)
		return cannot("read", path, errno);
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
	/* Nobody is tracing any more: somebody was, and the buffer became full. */
	return {error == ENXIO && done ? ENOSPC : error, done};
}

Result<NmiSender> NmiSender::open(std::string_view pmu)
{
	NmiSender sender;
	auto path = file_of(pmu, "nmi");

	sender.file = UniqueFd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
	if (!sender.file)
		return cannot("write", path, errno);
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
	auto path = file_of(pmu, "bench");
	BenchResult result;

	if (auto asked = write_small_file(path, std::to_string(bytes)); !asked)
		return asked.error();
	auto answer = read_small_file(path);
	if (!answer)
		return cannot("read", path, errno);
	auto parts = split(*answer, " \n");
	if (parts.size() < 3 || !to_number(parts[0], result.bytes) || !to_number(parts[1], result.records_ns) ||
		!to_number(parts[2], result.memset_ns))
		return Error{EINVAL, std::format("{} says \"{}\"", path, *answer)};
	return result;
}

} // namespace auxpmu
