/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes perf.data files in memory, for the kit's own tests, and returns the verdict of the verifier on them. */
#ifndef AUXPMU_LIB_TEST_PERF_DATA_WRITER_H
#define AUXPMU_LIB_TEST_PERF_DATA_WRITER_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "perfdata/perf_data.h"
#include "perfdata/perf_data_verifier.h"
#include "trace_writer.h"

namespace auxpmu
{

using Bytes = std::vector<std::byte>;

template <class T>
void put(Bytes &to, const T &value)
{
	auto from = reinterpret_cast<const std::byte *>(&value);

	to.insert(to.end(), from, from + sizeof(value));
}

inline void put(Bytes &to, const Bytes &bytes)
{
	to.insert(to.end(), bytes.begin(), bytes.end());
}

constexpr std::uint64_t trace_id = 40; /* this id and the next ones have an AUX area each */
constexpr std::uint64_t clock_id = 50;

/*
 * Writes a file according to the description of the format, and shares no code with the reader. It has two events: one that
 * traces, with instances for AUX areas 0 and 1 (CPUs 0 and 1), and a clock whose samples carry trace.
 */
struct Writer {
	Bytes data;
	std::vector<std::uint64_t> index; /* offsets in data */
	std::uint32_t auxtrace_type = 1;
	bool pipe = false;
	std::uint64_t time = 0; /* of AUX records; 0: they have none */

	void record(std::uint32_t type, const Bytes &body)
	{
		put(data, type);
		put<std::uint16_t>(data, 0);
		put<std::uint16_t>(data, static_cast<std::uint16_t>(8 + body.size()));
		put(data, body);
	}
	void info()
	{
		Bytes body;

		put(body, auxtrace_type);
		put<std::uint32_t>(body, 0);
		record(70, body);
	}
	void id_index()
	{
		Bytes body;

		put<std::uint64_t>(body, 2);
		for (std::uint64_t ring : {0, 1})
			for (std::uint64_t word : {trace_id + ring, ring, ring, std::uint64_t{77}})
				put(body, word);
		record(69, body);
	}
	void aux(std::uint64_t offset, std::uint64_t size, std::uint64_t flags = 0, std::uint64_t ring = 0)
	{
		Bytes body;

		for (std::uint64_t word : {offset, size, flags})
			put(body, word);
		if (time)
			put(body, time);
		put(body, trace_id + ring);
		record(PERF_RECORD_AUX, body);
	}
	void auxtrace(std::uint64_t offset, std::span<const std::byte> trace, std::uint32_t ring = 0)
	{
		Bytes body;

		put<std::uint64_t>(body, trace.size());
		put(body, offset);
		put<std::uint64_t>(body, 5);
		for (std::uint32_t word : {ring, 77u, ring, 0u})
			put(body, word);
		index.push_back(data.size());
		record(71, body);
		data.insert(data.end(), trace.begin(), trace.end());
	}
	void sample(std::span<const std::byte> trace, std::uint32_t cpu = 0)
	{
		Bytes body;

		put(body, clock_id);
		put(body, cpu);
		put<std::uint32_t>(body, 0);
		put<std::uint64_t>(body, trace.size());
		body.insert(body.end(), trace.begin(), trace.end());
		record(PERF_RECORD_SAMPLE, body);
	}

	perf_event_attr attr(bool clock) const
	{
		perf_event_attr attr{};

		attr.size = sizeof(attr);
		attr.sample_id_all = 1;
		attr.sample_type = PERF_SAMPLE_IDENTIFIER;
		if (clock)
			attr.sample_type |= PERF_SAMPLE_CPU | PERF_SAMPLE_AUX;
		else if (time)
			attr.sample_type |= PERF_SAMPLE_TIME;
		attr.aux_sample_size = clock ? 512 : 0;
		return attr;
	}

	Bytes file() const
	{
		Bytes out;
		const std::uint64_t head = 104, attrs = head + 3 * 8;
		const std::uint64_t start = attrs + 2 * (sizeof(perf_event_attr) + 16);

		for (char c : std::string("PERFILE2"))
			put(out, c);
		if (pipe) {
			put<std::uint64_t>(out, 16);
			for (bool clock : {false, true}) {
				Writer one;
				Bytes body;
				put(body, attr(clock));
				put(body, clock ? clock_id : trace_id);
				one.record(64, body);
				put(out, one.data);
			}
			put(out, data);
			return out;
		}
		put(out, head);
		for (std::uint64_t word : {sizeof(perf_event_attr) + 16, attrs, start - attrs, start, data.size(),
			     std::size_t{0}, std::size_t{0}, std::size_t{1} << 3 | 1ul << 18, std::size_t{0},
			     std::size_t{0}, std::size_t{0}})
			put(out, std::uint64_t{word});
		for (std::uint64_t id : {trace_id, trace_id + 1, clock_id})
			put(out, id);
		for (bool clock : {false, true}) {
			put(out, attr(clock));
			put<std::uint64_t>(out, head + (clock ? 16 : 0));
			put<std::uint64_t>(out, clock ? 8 : 16);
		}
		put(out, data);
		/* the sections of the features: an empty host name, the index */
		std::uint64_t end = out.size() + 32;
		for (std::uint64_t word : {end, std::uint64_t{0}, end, std::uint64_t{8 + 16 * index.size()}})
			put(out, word);
		put<std::uint64_t>(out, index.size());
		for (std::uint64_t at : index) {
			put(out, start + at);
			put<std::uint64_t>(out, 48);
		}
		return out;
	}
};

/* The error of the verifier; empty if it accepts the files. */
inline std::string wrong_with(const std::vector<Bytes> &files, PerfDataFacts *facts = nullptr, bool continued = false)
{
	PerfDataVerifier verifier({.continued = continued});

	for (const auto &bytes : files) {
		auto file = PerfData::parse(bytes, "made");

		if (!file)
			return file.error().text;
		verifier.add(std::move(*file));
	}
	bool right = verifier.verify();
	if (facts)
		*facts = verifier.facts();
	CHECK(right == verifier.error().empty());
	return verifier.error();
}

inline std::span<const std::byte> part(const TraceWriter &trace, std::size_t from, std::size_t count)
{
	return std::span(trace.bytes).subspan(from, count);
}

/* A full trace of 12 records of 256 bytes in two payloads. */
struct Full {
	TraceWriter trace;
	Writer file;

	Full()
	{
		trace.start();
		trace.data(11);
		file.info();
		file.id_index();
	}
	Bytes bytes()
	{
		file.aux(0, 1024);
		file.aux(1024, 2048);
		file.auxtrace(0, part(trace, 0, 1024));
		file.auxtrace(1024, part(trace, 1024, 2048));
		return file.file();
	}
};

} // namespace auxpmu

#endif /* AUXPMU_LIB_TEST_PERF_DATA_WRITER_H */
