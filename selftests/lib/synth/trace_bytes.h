/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Works on one record of the synthetic trace (uapi/linux/auxpmu.h) in place: the CRC of its header, the words of its payload.
 */
#ifndef AUXPMU_SYNTH_TRACE_BYTES_H
#define AUXPMU_SYNTH_TRACE_BYTES_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace auxpmu
{

/* CRC-32 of IEEE 802.3, the same as zlib's crc32() of these bytes. */
std::uint32_t crc32(std::span<const std::byte> bytes) noexcept;
/* The CRC of a header of sizeof(auxpmu_record) bytes, excluding the bytes that hold the CRC. */
std::uint32_t header_crc(const std::byte *bytes) noexcept;

/* Eight bytes as one word. */
inline std::uint64_t word_at(const std::byte *bytes) noexcept
{
	std::uint64_t word;

	std::memcpy(&word, bytes, sizeof(word));
	return word;
}

/* The word at this index of a payload; base: auxpmu_record_base(). */
std::uint64_t payload_word(std::uint16_t pattern, std::uint64_t base, std::uint64_t index) noexcept;
/* Does each of the words at bytes match the payload? */
bool payload_matches(std::uint16_t pattern, const std::byte *bytes, std::size_t words, std::uint64_t base) noexcept;

bool all_zero(std::span<const std::byte> bytes) noexcept;

} // namespace auxpmu

#endif /* AUXPMU_SYNTH_TRACE_BYTES_H */
