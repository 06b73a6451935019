// SPDX-License-Identifier: GPL-2.0-only
/*
 * A backward ring in memory, written as the kernel writes it: every size of record and ring, checked against a list of what was
 * written.
 */
#include <cstring>
#include <deque>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "kit/backward_ring.h"

using namespace auxpmu;

namespace
{

/* Writes as __perf_output_begin() does: the head decreases by the size of the record, which begins at the new head. */
class Writer
{
public:
	explicit Writer(std::size_t bytes) : memory(bytes, std::byte{0xee}) {}

	/* A record of size bytes (a multiple of 8) whose body is its number. */
	void write(std::uint16_t size)
	{
		perf_event_header header{PERF_RECORD_SAMPLE, 0, size};
		std::vector<std::byte> record(size, static_cast<std::byte>(number));

		std::memcpy(record.data(), &header, sizeof(header));
		head -= size;
		for (std::size_t i = 0; i < size; i++)
			memory[(head + i) % memory.size()] = record[i];
		written.push_front({number++, size});
	}

	struct Entry {
		unsigned number;
		std::uint16_t size;
	};
	std::vector<std::byte> memory;
	std::uint64_t head = 0;
	std::deque<Entry> written; /* newest first */
	unsigned number = 0;
};

} // namespace

TEST_CASE("A backward ring is read newest first, each record once, and what was overwritten is known to the byte")
{
	for (std::size_t bytes : {512u, 4096u})
		for (unsigned sizes = 1; sizes < 12; sizes++)
			for (unsigned burst : {0u, 1u, 3u, 17u, 200u}) {
				Writer writer(bytes);
				BackwardReader reader(writer.memory);
				std::uint64_t ever = 0;

				for (unsigned round = 0; round < 5; round++) {
					std::uint64_t since = 0;
					writer.written.clear();
					for (unsigned i = 0; i < burst + round; i++) {
						auto size = static_cast<std::uint16_t>(16 + 8 * (i * 7 % sizes));

						writer.write(size);
						since += size;
					}
					ever += since;

					std::size_t next = 0;
					std::uint64_t taken = 0;
					bool same = true;
					Dump dump = reader.read(writer.head, [&](const RecordView &view) {
						const auto &entry = writer.written.at(next++);

						same &= view.header.size == entry.size &&
							view.body.size() == entry.size - sizeof(view.header);
						for (std::byte byte : view.body)
							same &= byte == static_cast<std::byte>(entry.number);
						taken += entry.size;
					});
					CAPTURE(bytes, sizes, burst, round);
					CHECK(same);
					CHECK_FALSE(dump.corrupt);
					CHECK(dump.records == next);
					CHECK(dump.bytes == taken);
					CHECK(dump.written == since);
					CHECK(dump.overwritten == since - taken);
					CHECK(dump.wrapped == (ever > bytes));
					/* Every record that is still whole in the ring is handed out. */
					if (since <= bytes)
						CHECK(dump.overwritten == 0);
					else
						CHECK(taken + writer.written.at(next).size > bytes);
				}
			}
}

TEST_CASE("What is no record ends a backward reading, and is said")
{
	for (std::uint16_t size : {0, 7, 12, 4000}) {
		Writer writer(4096);
		BackwardReader reader(writer.memory);

		writer.write(64);
		writer.write(64);
		perf_event_header header{PERF_RECORD_SAMPLE, 0, size};
		std::memcpy(writer.memory.data() + (writer.head + 64) % writer.memory.size(), &header, sizeof(header));
		Dump dump = reader.read(writer.head, [](const RecordView &) {});
		CHECK(dump.corrupt);
		CHECK(dump.records == 1);
	}
}
