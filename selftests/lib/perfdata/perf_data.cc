// SPDX-License-Identifier: GPL-2.0-only
#include "perfdata/perf_data.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <format>
#include <fstream>
#include <limits>
#include <utility>

namespace auxpmu
{

namespace
{

constexpr char magic[8] = {'P', 'E', 'R', 'F', 'I', 'L', 'E', '2'};
constexpr std::uint64_t feature_words = 4;
constexpr unsigned feature_auxtrace = 18;

struct Section {
	std::uint64_t offset, size;
};

struct FileHeader {
	char magic[8];
	std::uint64_t size;
	std::uint64_t attr_size;
	Section attrs, data, event_types;
	std::uint64_t features[feature_words];
};

struct PipeHeader {
	char magic[8];
	std::uint64_t size;
};

struct AuxtraceBody {
	std::uint64_t size, offset, reference;
	std::uint32_t ring, tid, cpu, reserved;
};

struct IdIndexEntry {
	std::uint64_t id, ring, cpu, tid;
};

/* The value at the front of bytes; the caller has made sure that there are enough bytes. */
template <class T>
T at_front(std::span<const std::byte> bytes) noexcept
{
	T value;

	std::memcpy(&value, bytes.data(), sizeof(value));
	return value;
}

std::vector<std::uint64_t> words_of(std::span<const std::byte> bytes)
{
	std::vector<std::uint64_t> words(bytes.size() / 8);

	if (!words.empty())
		std::memcpy(words.data(), bytes.data(), words.size() * 8);
	return words;
}

} // namespace

Error PerfData::wrong(std::uint64_t at, std::string what) const
{
	return Error{EINVAL, std::format("{}: at offset {:#x}: {}", called, at, what)};
}

Result<PerfData> PerfData::open(const std::string &path)
{
	std::ifstream file(path, std::ios::binary);
	std::vector<std::byte> bytes;

	if (!file)
		return Error{errno, std::format("{}: {}", path, std::strerror(errno))};
	file.seekg(0, std::ios::end);
	std::streamoff size = file.tellg();
	if (size < 0 || size == std::numeric_limits<std::streamoff>::max())
		return Error{EISDIR, std::format("{}: no regular file", path)};
	bytes.resize(static_cast<std::size_t>(size));
	file.seekg(0);
	file.read(reinterpret_cast<char *>(bytes.data()), size);
	if (file.gcount() != size)
		return Error{EIO, std::format("{}: {} bytes of {} could be read", path, file.gcount(), size)};
	return parse(std::move(bytes), path);
}

Result<PerfData> PerfData::parse(std::vector<std::byte> bytes, std::string name)
{
	PerfData data(std::move(bytes), std::move(name));

	if (auto done = data.read(); !done)
		return done.error();
	return data;
}

Result<void> PerfData::read()
{
	if (bytes.size() < sizeof(PipeHeader))
		return wrong(0, std::format("{} bytes are no perf.data", bytes.size()));
	auto pipe = at_front<PipeHeader>(bytes);
	if (std::memcmp(pipe.magic, magic, sizeof(magic)) != 0)
		return wrong(0, "it does not begin with PERFILE2 in this machine's byte order");
	if (pipe.size == sizeof(PipeHeader))
		return read_records(sizeof(PipeHeader), bytes.size());
	if (pipe.size != sizeof(FileHeader) || bytes.size() < sizeof(FileHeader))
		return wrong(8, std::format("the header's size is {}, expected {}", pipe.size, sizeof(FileHeader)));

	auto header = at_front<FileHeader>(bytes);
	if (!header.data.size)
		return wrong(40, "the data section is empty: perf did not finish this file");
	for (auto [section, what] : {std::pair{header.attrs, "attributes"}, std::pair{header.data, "data"}})
		if (section.offset > bytes.size() || section.size > bytes.size() - section.offset)
			return wrong(section.offset, std::format("the section of {} has {} bytes, the file ends before",
							     what, section.size));
	if (auto done = read_events(header.attrs.offset, header.attrs.size, header.attr_size); !done)
		return done;
	std::uint64_t end = header.data.offset + header.data.size;
	if (auto done = read_records(header.data.offset, end); !done)
		return done;
	return read_index(end, header.features);
}

/* Reads the attributes: each is a perf_event_attr and the section that holds its ids. */
Result<void> PerfData::read_events(std::uint64_t offset, std::uint64_t size, std::uint64_t each)
{
	if (each < PERF_ATTR_SIZE_VER0 + sizeof(Section) || !size || size % each)
		return wrong(offset, std::format("attributes of {} bytes in a section of {}", each, size));
	for (std::uint64_t at = offset; at < offset + size; at += each) {
		const std::uint64_t attr_size = each - sizeof(Section);
		PerfDataEvent event{};

		std::memcpy(&event.attr, &bytes[at], std::min<std::uint64_t>(attr_size, sizeof(event.attr)));
		auto ids = at_front<Section>(std::span(bytes).subspan(at + attr_size));
		if (ids.offset > bytes.size() || ids.size > bytes.size() - ids.offset || ids.size % 8)
			return wrong(at, std::format("an event's {} bytes of ids are not in the file", ids.size));
		event.ids = words_of(std::span(bytes).subspan(ids.offset, ids.size));
		opened.push_back(std::move(event));
	}
	return {};
}

Result<void> PerfData::read_records(std::uint64_t offset, std::uint64_t end)
{
	/* In a pipe, attributes come among the records, so "opened" must not be reallocated while records point into it. */
	opened.reserve(1024);
	for (std::uint64_t next; offset < end; offset = next) {
		PerfDataRecord record{};

		if (end - offset < sizeof(perf_event_header))
			return wrong(offset, "the file ends inside of a record's header");
		record.at = offset;
		record.view.header = at_front<perf_event_header>(std::span(bytes).subspan(offset));
		std::size_t size = record.view.header.size;
		if (size < sizeof(perf_event_header) || size > end - offset)
			return wrong(offset, std::format("a record of type {} has {} bytes, {} are left",
						     record.view.header.type + 0, size, end - offset));
		record.view.body =
			std::span(bytes).subspan(offset + sizeof(perf_event_header), size - sizeof(perf_event_header));
		next = offset + size;
		if (auto done = take(record, next, end); !done)
			return done;
		record.event = event_of(record.view);
		all.push_back(record);
	}
	return {};
}

/* Takes what a record says about the file or about data that follows it; sets next behind these data. */
Result<void> PerfData::take(PerfDataRecord &record, std::uint64_t &next, std::uint64_t end)
{
	auto body = record.view.body;

	switch (record.view.header.type) {
	case PERF_DATA_HEADER_ATTR: {
		if (body.size() < PERF_ATTR_SIZE_VER0)
			return wrong(record.at, "an attribute that is too short");
		PerfDataEvent event{};
		std::size_t size = at_front<std::uint32_t>(body.subspan(offsetof(perf_event_attr, size)));
		if (size < PERF_ATTR_SIZE_VER0 || size > body.size() || opened.size() == opened.capacity())
			return wrong(record.at, std::format("an attribute of {} bytes, or too many", size));
		std::memcpy(&event.attr, body.data(), std::min(size, sizeof(event.attr)));
		event.ids = words_of(body.subspan(size));
		opened.push_back(std::move(event));
		break;
	}
	case PERF_DATA_ID_INDEX: {
		std::uint64_t count = body.size() < 8 ? 0 : at_front<std::uint64_t>(body);
		if (body.size() < 8 || count > (body.size() - 8) / sizeof(IdIndexEntry))
			return wrong(record.at, std::format("an index of {} ids in {} bytes", count, body.size()));
		for (std::uint64_t n = 0; n < count; n++) {
			auto entry = at_front<IdIndexEntry>(body.subspan(8 + n * sizeof(IdIndexEntry)));
			instances.push_back({entry.id, static_cast<std::uint32_t>(entry.ring)});
		}
		break;
	}
	case PERF_DATA_AUXTRACE_INFO:
		if (body.size() < 8)
			return wrong(record.at, "an AUXTRACE_INFO that is too short");
		kind = at_front<std::uint32_t>(body);
		break;
	case PERF_DATA_AUXTRACE: {
		if (body.size() < sizeof(AuxtraceBody))
			return wrong(record.at, "an AUXTRACE that is too short");
		auto from = at_front<AuxtraceBody>(body);
		if (from.size > end - next)
			return wrong(
				record.at, std::format("an AUXTRACE says that {} bytes of trace follow, {} are left",
						   from.size, end - next));
		record.auxtrace = Auxtrace{from.offset, from.reference, from.ring, static_cast<std::int32_t>(from.tid),
			static_cast<std::int32_t>(from.cpu), std::span(bytes).subspan(next, from.size)};
		next += from.size;
		break;
	}
	case PERF_DATA_TRACING_DATA:
		return wrong(record.at, "tracepoint formats in a pipe are not understood");
	case PERF_DATA_COMPRESSED:
	case PERF_DATA_COMPRESSED2:
		return wrong(record.at, "compressed: record without -z");
	}
	return {};
}

/* The index of the AUXTRACE records behind the data, if there is one, has to name all of them. */
Result<void> PerfData::read_index(std::uint64_t sections, std::span<const std::uint64_t> features)
{
	std::uint64_t at = sections;

	if (!(features[0] >> feature_auxtrace & 1))
		return {};
	for (unsigned bit = 0; bit < feature_auxtrace; bit++)
		at += (features[0] >> bit & 1) * sizeof(Section);
	if (at > bytes.size() || bytes.size() - at < sizeof(Section))
		return wrong(at, "the file ends before its table of features");
	auto section = at_front<Section>(std::span(bytes).subspan(at));
	if (section.offset > bytes.size() || section.size > bytes.size() - section.offset || section.size < 8)
		return wrong(at, std::format("an AUXTRACE index of {} bytes is not in the file", section.size));
	auto words = words_of(std::span(bytes).subspan(section.offset, section.size));
	if (words[0] > (words.size() - 1) / 2)
		return wrong(section.offset,
			std::format("an AUXTRACE index of {} entries in {} bytes", words[0], section.size));

	std::vector<std::uint64_t> indexed;
	for (std::uint64_t n = 0; n < words[0]; n++)
		indexed.push_back(words[1 + 2 * n]);
	std::ranges::sort(indexed);
	std::vector<std::uint64_t> present;
	for (const auto &record : all)
		if (record.auxtrace)
			present.push_back(record.at);
	if (!std::ranges::includes(indexed, present))
		return wrong(section.offset, "the AUXTRACE index leaves out a record that the data has");
	stale = indexed.size() - present.size();
	return {};
}

/*
 * Finds the event by the id, which is first in a sample and last in every other record; without ids there is only one layout.
 * Records that perf makes itself belong to no event and have the layout of the first one; perf makes no samples itself.
 */
const PerfDataEvent *PerfData::event_of(const RecordView &view) const noexcept
{
	if (opened.empty())
		return nullptr;
	if (view.body.size() >= 8 && opened[0].attr.sample_type & PERF_SAMPLE_IDENTIFIER) {
		bool sample = view.header.type == PERF_RECORD_SAMPLE;
		auto id = at_front<std::uint64_t>(sample ? view.body : view.body.last(8));

		for (const auto &event : opened)
			if (std::ranges::find(event.ids, id) != event.ids.end())
				return &event;
		if (sample)
			return nullptr;
	}
	return &opened[0];
}

std::optional<std::uint32_t> PerfData::ring_of(std::uint64_t id) const noexcept
{
	for (const auto &one : instances)
		if (one.id == id)
			return one.ring;
	return {};
}

} // namespace auxpmu
