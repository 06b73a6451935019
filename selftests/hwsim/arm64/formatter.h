/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Formatter: the formatter of a TMC (Arm IHI0029, CoreSight Architecture Specification, chapter D4, "Trace Formatter"): bytes of several
 * trace sources into frames of 16 bytes. The owner says which source a byte is of, and takes the frames.
 *
 * An ID is where the source changes, and, as silicon does it, in the eighth frame since there was one: so that a buffer that has wrapped,
 * whose oldest frames are lost, can be read.
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
	/* D4.2.4, "Special trace source IDs": what fills up a frame; a trigger, which has one byte of 0 (TMC, FFCR.EnTI). */
	static constexpr std::uint8_t null_id = 0, trigger_id = 0x7d;
	/* Frames in a row that have no ID, if the source does not change. */
	static constexpr unsigned most_without_id = 7;

	/* Nothing that was before is known any more: the next frame begins with an ID. */
	void reset();
	void put(std::uint8_t id, std::span<const std::uint8_t> bytes);
	void trigger();
	/* Fills up the frame that has been begun. The next one begins with an ID. */
	void flush();

	/* Whole frames, not yet taken; and that so many bytes of them were. */
	std::span<const std::uint8_t> frames() const { return whole; }
	void taken(std::size_t bytes);

private:
	void change_to(std::uint8_t id);
	void add(std::uint8_t byte);
	void set_auxiliary(std::size_t at, bool value);
	void advance();

	std::array<std::uint8_t, frame_size> frame{};
	std::size_t used = 0; /* places of the frame, whose last one is never free */
	std::optional<std::uint8_t> current;
	unsigned without_id = 0; /* frames before this one */
	bool has_id = false;     /* this one */
	std::vector<std::uint8_t> whole;
};

} // namespace hwsim::arm64

#endif
