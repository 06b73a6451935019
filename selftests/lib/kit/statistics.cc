// SPDX-License-Identifier: GPL-2.0-only
#include "kit/statistics.h"

#include <cerrno>
#include <format>
#include <stdexcept>

#include "kit/debugfs.h"
#include "kit/pmu.h"
#include "kit/words.h"

namespace auxpmu
{

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
	auto path = debugfs_file(pmu, "stats");
	auto text = read_small_file(path);

	if (!text)
		return debugfs_error("read", path, errno);
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

std::map<std::string, std::uint64_t, std::less<>> Statistics::totals() const
{
	std::map<std::string, std::uint64_t, std::less<>> all;

	for (const auto &[name, row] : rows)
		all[name] = row.total;
	return all;
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
	auto path = debugfs_file(pmu, "buffers");
	auto text = read_small_file(path);

	if (!text)
		return debugfs_error("read", path, errno);
	return parse(*text);
}

} // namespace auxpmu
