// SPDX-License-Identifier: GPL-2.0-only
#include "synth/trace_bytes.h"

#include <array>
#include <bit>

#include <linux/auxpmu.h>

namespace auxpmu
{

static_assert(sizeof(auxpmu_record) == AUXPMU_RECORD_MIN);
static_assert(offsetof(auxpmu_record, crc) == sizeof(auxpmu_record) - sizeof(std::uint32_t));

namespace
{

/* Eight tables, so that the CRC takes in eight bytes at once. */
constexpr auto crc_tables = [] {
	std::array<std::array<std::uint32_t, 256>, 8> tables{};

	for (std::uint32_t n = 0; n < 256; n++) {
		std::uint32_t crc = n;

		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? 0xedb88320u ^ (crc >> 1) : crc >> 1;
		tables[0][n] = crc;
	}
	for (std::uint32_t n = 0; n < 256; n++)
		for (std::size_t k = 1; k < 8; k++)
			tables[k][n] = tables[0][tables[k - 1][n] & 0xff] ^ (tables[k - 1][n] >> 8);
	return tables;
}();

inline std::uint64_t word_of(std::uint16_t pattern, std::uint64_t base, std::uint64_t index) noexcept
{
	switch (pattern) {
	case AUXPMU_SYNTH_COUNTER:
		return base + index;
	case AUXPMU_SYNTH_CONSTANT:
		return base;
	default:
		return auxpmu_mix64(base + index);
	}
}

/* The loop has no branch, so that the compiler can vectorize it for the first two patterns. */
template <std::uint16_t pattern>
bool loop_matches(const std::byte *bytes, std::size_t words, std::uint64_t base) noexcept
{
	std::uint64_t difference = 0;

	for (std::size_t i = 0; i < words; i++)
		difference |= word_at(bytes + i * 8) ^ word_of(pattern, base, i);
	return difference == 0;
}

} // namespace

std::uint32_t crc32(std::span<const std::byte> bytes) noexcept
{
	const std::byte *at = bytes.data();
	std::size_t left = bytes.size();
	std::uint32_t crc = ~std::uint32_t{0};

	if constexpr (std::endian::native == std::endian::little) {
		for (; left >= 8; left -= 8, at += 8) {
			const std::uint64_t word = word_at(at) ^ crc;

			crc = 0;
			for (std::size_t k = 0; k < 8; k++)
				crc ^= crc_tables[7 - k][(word >> (8 * k)) & 0xff];
		}
	}
	for (; left; left--, at++)
		crc = crc_tables[0][(crc ^ std::to_integer<std::uint32_t>(*at)) & 0xff] ^ (crc >> 8);
	return ~crc;
}

std::uint32_t header_crc(const std::byte *bytes) noexcept
{
	return crc32({bytes, offsetof(auxpmu_record, crc)});
}

std::uint64_t payload_word(std::uint16_t pattern, std::uint64_t base, std::uint64_t index) noexcept
{
	return word_of(pattern, base, index);
}

bool payload_matches(std::uint16_t pattern, const std::byte *bytes, std::size_t words, std::uint64_t base) noexcept
{
	switch (pattern) {
	case AUXPMU_SYNTH_COUNTER:
		return loop_matches<AUXPMU_SYNTH_COUNTER>(bytes, words, base);
	case AUXPMU_SYNTH_CONSTANT:
		return loop_matches<AUXPMU_SYNTH_CONSTANT>(bytes, words, base);
	default:
		return loop_matches<AUXPMU_SYNTH_RANDOM>(bytes, words, base);
	}
}

bool all_zero(std::span<const std::byte> bytes) noexcept
{
	const std::byte *at = bytes.data();
	std::size_t left = bytes.size();
	std::uint64_t sum = 0;

	for (; left >= 8; left -= 8, at += 8)
		sum |= word_at(at);
	for (; left; left--, at++)
		sum |= std::to_integer<std::uint64_t>(*at);
	return sum == 0;
}

} // namespace auxpmu
