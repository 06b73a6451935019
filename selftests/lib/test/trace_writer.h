/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes a synthetic trace in memory, for the kit's own tests. It follows the text of uapi/linux/auxpmu.h, with the plainest of
 * CRCs, and shares no code with the verifier or the kernel.
 */
#ifndef AUXPMU_LIB_TEST_TRACE_WRITER_H
#define AUXPMU_LIB_TEST_TRACE_WRITER_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include <linux/auxpmu.h>

struct TraceWriter {
	std::uint32_t size = 256;
	std::uint16_t pattern = AUXPMU_SYNTH_COUNTER;
	std::uint32_t cpu = 0;
	std::uint64_t stream = 1;
	std::uint64_t parent = 0;
	std::uint64_t seq = 0;
	std::uint64_t time = 1000;
	std::uint32_t seed = 7;
	std::optional<std::uint32_t> block; /* of the program, to be executed next; if empty, seq decides */
	std::vector<std::byte> bytes;

	static std::uint32_t plain_crc(const void *data, std::size_t count)
	{
		std::uint32_t crc = 0xffffffff;

		for (std::size_t i = 0; i < count; i++) {
			crc ^= static_cast<const unsigned char *>(data)[i];
			for (int bit = 0; bit < 8; bit++)
				crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320 : 0);
		}
		return ~crc;
	}

	void append(const void *data, std::size_t count)
	{
		auto from = static_cast<const std::byte *>(data);

		bytes.insert(bytes.end(), from, from + count);
	}

	void put(std::uint16_t kind)
	{
		auxpmu_record record{};

		record.magic = AUXPMU_RECORD_MAGIC;
		record.size = size;
		record.kind = kind;
		record.pattern = pattern;
		record.cpu = cpu;
		record.stream = stream;
		record.parent = parent;
		record.seq = seq++;
		record.ip = static_cast<std::uint32_t>(block ? (*block)++ * 16 : record.seq % 256 * 16);
		record.time = time++;
		record.seed = seed;
		record.crc = plain_crc(&record, 60);
		append(&record, sizeof(record));

		/* mix64(mix64(stream ^ seed << 32) + seq), then word by word */
		auto mix = [](std::uint64_t x) {
			x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
			x = (x ^ x >> 27) * 0x94d049bb133111eb;
			return x ^ x >> 31;
		};
		std::uint64_t base = mix(mix(stream ^ (std::uint64_t{seed} << 32)) + record.seq);
		for (std::uint64_t i = 0; i < (size - 64) / 8; i++) {
			std::uint64_t word = pattern == AUXPMU_SYNTH_COUNTER    ? base + i
					     : pattern == AUXPMU_SYNTH_CONSTANT ? base
										: mix(base + i);
			append(&word, sizeof(word));
		}
	}

	/* Changes the header at this offset, and recomputes its CRC. */
	template <class Change>
	void change(std::size_t at, Change &&change)
	{
		auxpmu_record record;

		std::memcpy(&record, &bytes[at], sizeof(record));
		change(record);
		record.crc = plain_crc(&record, 60);
		std::memcpy(&bytes[at], &record, sizeof(record));
	}

	void start() { put(AUXPMU_RECORD_START); }
	void data(unsigned records)
	{
		while (records--)
			put(AUXPMU_RECORD_DATA);
	}
	void pad(std::uint32_t count)
	{
		auxpmu_record record{};

		record.magic = AUXPMU_RECORD_MAGIC;
		record.size = count;
		record.kind = AUXPMU_RECORD_PAD;
		record.cpu = cpu;
		record.stream = stream;
		record.time = time;
		record.crc = plain_crc(&record, 60);
		append(&record, sizeof(record));
		bytes.resize(bytes.size() + count - sizeof(record));
	}
};

#endif /* AUXPMU_LIB_TEST_TRACE_WRITER_H */
