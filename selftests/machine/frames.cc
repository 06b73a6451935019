// SPDX-License-Identifier: GPL-2.0-only
#include "frames.h"

#include <algorithm>

namespace auxpmu::machine
{
namespace
{

constexpr std::size_t frame_bytes = 16;
constexpr unsigned first_reserved = 0x70;

class Unframer
{
public:
	void take(std::span<const std::byte> frame)
	{
		/* a barrier: frame synchronizations, behind which IDs are told anew */
		if (is_barrier(frame)) {
			id = 0;
			return;
		}
		const unsigned bits = static_cast<unsigned>(frame[frame_bytes - 1]);

		for (unsigned n = 0; n < frame_bytes; n += 2) {
			const unsigned first = static_cast<unsigned>(frame[n]), bit = bits >> n / 2 & 1;

			if (!(first & 1))
				add(static_cast<std::byte>(first | bit));
			/* the bit says that the new ID is not yet that of the byte behind it */
			else if (!bit)
				id = first >> 1;
			if (n + 1 < frame_bytes - 1)
				add(frame[n + 1]);
			if ((first & 1) && bit)
				id = first >> 1;
		}
	}

	std::vector<std::byte> trace;

private:
	static bool is_barrier(std::span<const std::byte> frame)
	{
		for (std::size_t n = 0; n < frame_bytes; n++)
			if (frame[n] != std::byte(n % 4 == 3 ? 0x7f : 0xff))
				return false;
		return true;
	}
	void add(std::byte byte)
	{
		if (id && id < first_reserved)
			trace.push_back(byte);
	}

	unsigned id = 0;
};

} // namespace

std::vector<std::byte> unframed(std::span<const std::byte> frames)
{
	Unframer unframer;

	for (std::size_t at = 0; at + frame_bytes <= frames.size(); at += frame_bytes)
		unframer.take(frames.subspan(at, frame_bytes));
	return std::move(unframer.trace);
}

} // namespace auxpmu::machine
