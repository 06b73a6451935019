// SPDX-License-Identifier: GPL-2.0-only
#include "kit/pmu.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <format>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include "kit/handle.h"

namespace auxpmu
{

namespace
{

constexpr const char *devices = "/sys/bus/event_source/devices/";

std::optional<std::uint64_t> parse_number(std::string_view text)
{
	std::uint64_t value = 0;
	auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);

	if (failure != std::errc{} || end != text.data() + text.size())
		return std::nullopt;
	return value;
}

std::string join(const std::map<std::string, FormatField, std::less<>> &fields)
{
	std::string text;

	for (const auto &[name, field] : fields)
		text += (text.empty() ? "" : ", ") + name;
	return text.empty() ? "none" : text;
}

} // namespace

std::optional<std::string> read_small_file(const std::string &path)
{
	UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
	std::string text;
	char part[4096];

	if (!file)
		return std::nullopt;
	for (;;) {
		ssize_t n = ::read(file.get(), part, sizeof(part));

		if (n < 0)
			return std::nullopt;
		if (n == 0)
			break;
		text.append(part, static_cast<std::size_t>(n));
	}
	while (text.ends_with('\n'))
		text.pop_back();
	return text;
}

Result<void> write_small_file(const std::string &path, std::string_view text)
{
	UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));

	if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
		int code = errno;

		return Error{code, std::format("\"{}\" cannot be written to {}: {}", text, path, std::strerror(code))};
	}
	return {};
}

bool units_held(const std::string &pmu)
{
	return read_small_file(devices + pmu + "/claim").value_or("").starts_with("held");
}

bool wait_until_free(const std::string &pmu, std::chrono::seconds limit)
{
	const auto end = std::chrono::steady_clock::now() + limit;

	while (units_held(pmu)) {
		if (std::chrono::steady_clock::now() > end)
			return false;
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	}
	return true;
}

unsigned FormatField::width() const noexcept
{
	unsigned bits = 0;

	for (const auto &range : ranges)
		bits += range.highest - range.lowest + 1;
	return bits;
}

std::uint64_t FormatField::limit() const noexcept
{
	return width() >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width()) - 1;
}

std::uint64_t FormatField::place(std::uint64_t value) const noexcept
{
	std::uint64_t config = 0;

	for (const auto &range : ranges) {
		unsigned bits = range.highest - range.lowest + 1;
		std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;

		config |= (value & mask) << range.lowest;
		value = bits == 64 ? 0 : value >> bits;
	}
	return config;
}

std::optional<FormatField> FormatField::parse(std::string_view text)
{
	FormatField field;
	auto colon = text.find(':');

	if (colon == std::string_view::npos)
		return std::nullopt;
	std::string_view word = text.substr(0, colon);
	if (!word.starts_with("config"))
		return std::nullopt;
	word.remove_prefix(6);
	if (!word.empty()) {
		auto number = parse_number(word);

		if (!number || *number > 3)
			return std::nullopt;
		field.word = static_cast<unsigned>(*number);
	}
	for (text.remove_prefix(colon + 1); !text.empty();) {
		auto comma = text.find(',');
		std::string_view part = text.substr(0, comma);
		auto dash = part.find('-');
		auto low = parse_number(part.substr(0, dash));
		auto high = dash == std::string_view::npos ? low : parse_number(part.substr(dash + 1));

		if (!low || !high || *low > *high || *high > 63)
			return std::nullopt;
		field.ranges.push_back({static_cast<unsigned>(*low), static_cast<unsigned>(*high)});
		text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
	}
	if (field.ranges.empty())
		return std::nullopt;
	return field;
}

std::vector<std::string> Pmu::names()
{
	std::vector<std::string> found;
	std::error_code failure;

	for (const auto &entry : std::filesystem::directory_iterator(devices, failure))
		found.push_back(entry.path().filename());
	std::sort(found.begin(), found.end());
	return found;
}

Result<Pmu> Pmu::find(std::string_view name)
{
	Pmu pmu;
	std::error_code failure;

	pmu.label = name;
	pmu.folder = devices + pmu.label;
	auto type = read_small_file(pmu.folder + "/type");
	auto number = type ? parse_number(*type) : std::nullopt;
	if (!number || name.empty() || name.find('/') != std::string_view::npos) {
		std::string known;

		for (const auto &other : names())
			known += " " + other;
		return Error{ENOENT,
			std::format("no PMU \"{}\" here (is its module loaded?); the PMUs of this machine are:{}", name,
				known)};
	}
	pmu.number = static_cast<std::uint32_t>(*number);
	pmu.monotonic = pmu.cap("aux_head") == "monotonic";
	for (const auto &entry : std::filesystem::directory_iterator(pmu.folder + "/format", failure)) {
		auto text = read_small_file(entry.path());
		auto field = text ? FormatField::parse(*text) : std::nullopt;

		if (field)
			pmu.fields.emplace(entry.path().filename(), *field);
	}
	return pmu;
}

std::optional<std::string> Pmu::cap(std::string_view name) const
{
	return read_small_file(std::format("{}/caps/{}", folder, name));
}

std::optional<std::string> Pmu::cpumask() const
{
	return read_small_file(folder + "/cpumask");
}

perf_event_attr Pmu::attr() const noexcept
{
	perf_event_attr attr{};

	attr.size = sizeof(attr);
	attr.type = number;
	attr.disabled = 1;
	return attr;
}

Result<void> Pmu::set(perf_event_attr &attr, std::string_view field, std::uint64_t value) const
{
	auto found = fields.find(field);

	if (found == fields.end())
		return Error{EINVAL,
			std::format("PMU {} has no config field \"{}\"; it has: {}", label, field, join(fields))};
	if (value > found->second.limit())
		return Error{
			EINVAL, std::format("{} does not fit into config field \"{}\" of PMU {}: the largest is {}",
					value, field, label, found->second.limit())};
	std::uint64_t mask = found->second.place(found->second.limit());
	std::uint64_t bits = found->second.place(value);
	switch (found->second.word) {
	case 0:
		attr.config = (attr.config & ~mask) | bits;
		return {};
	case 1:
		attr.config1 = (attr.config1 & ~mask) | bits;
		return {};
	case 2:
		attr.config2 = (attr.config2 & ~mask) | bits;
		return {};
#ifdef PERF_ATTR_SIZE_VER8
	case 3:
		attr.config3 = (attr.config3 & ~mask) | bits;
		return {};
#endif
	}
	return Error{
		EINVAL, std::format("config field \"{}\" of PMU {} lies in config{}, which this build does not know",
				field, label, found->second.word)};
}

} // namespace auxpmu
