/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Formatter: the formatter of a TMC (Arm IHI0029, CoreSight Architecture Specification, chapter D4, "Trace Formatter"): packs the bytes of
 * several trace sources into frames of 16 bytes. The owner passes the trace ID along with the bytes, and takes the frames.
 *
 * An ID is written where the source changes and, as on silicon, in a frame that follows seven frames without one, so that a wrapped buffer,
 * whose oldest frames are lost, can be decoded.
 */
#ifndef HWSIM_ARM64_FORMATTER_H
#define HWSIM_ARM64_FORMATTER_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace hwsim::arm64
{

class Formatter
{
public:
	static constexpr std::size_t frame_size = 16;
	/* D4.2.4, "Special trace source IDs": the ID of padding, and that of a trigger, whose data is one zero byte (TMC, FFCR.EnTI). */
	static constexpr std::uint8_t null_id = 0, trigger_id = 0x7d;
	/* The most frames in a row without an ID while the source does not change. */
	static constexpr unsigned most_without_id = 7;

	/* Discards all earlier state: the next frame begins with an ID. */
	void reset();
	void put(std::uint8_t id, std::span<const std::uint8_t> bytes);
	void trigger();
	/* Pads the current frame if it has been started. The next one begins with an ID. */
	void flush();

	/* frames() returns the complete frames not yet taken; taken() removes this many bytes from them. */
	std::span<const std::uint8_t> frames() const { return whole; }
	/* Bytes in the frame that is not complete. */
	std::size_t unfinished() const { return used; }
	void taken(std::size_t bytes);

private:
	void change_to(std::uint8_t id);
	void add(std::uint8_t byte);
	void set_auxiliary(std::size_t at, bool value);
	void advance();

	std::array<std::uint8_t, frame_size> frame{};
	std::size_t used = 0; /* bytes of the frame in use, not counting the last one, which has the auxiliary bits */
	std::optional<std::uint8_t> current;
	unsigned without_id = 0; /* number of frames without an ID before this one */
	bool has_id = false;     /* does this frame have an ID? */
	std::vector<std::uint8_t> whole;
};

} // namespace hwsim::arm64

#endif
