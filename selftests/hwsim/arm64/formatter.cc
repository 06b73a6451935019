// SPDX-License-Identifier: GPL-2.0-or-later
#include "formatter.h"

namespace hwsim::arm64
{
namespace
{

/* IHI0029, "Frame descriptions": an even byte is an ID, or data whose lowest bit is in the auxiliary byte; an odd byte is data. */
constexpr std::uint8_t is_id = 1;
constexpr std::size_t auxiliary = Formatter::frame_size - 1;

} // namespace

void Formatter::reset()
{
	used = 0;
	current.reset();
	whole.clear();
}

void Formatter::put(std::uint8_t id, std::span<const std::uint8_t> bytes)
{
	for (const std::uint8_t byte : bytes) {
		if (current != id || (without_id >= most_without_id && !has_id))
			change_to(id);
		add(byte);
	}
}

void Formatter::trigger()
{
	put(trigger_id, std::array<std::uint8_t, 1>{});
}

void Formatter::flush()
{
	if (used)
		change_to(null_id);
	while (used)
		add(0);
	current.reset();
}

void Formatter::taken(std::size_t bytes)
{
	whole.erase(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));
}

/* An odd byte cannot be an ID. There the ID goes before the previous byte, with the auxiliary bit that delays it until after that byte. */
void Formatter::change_to(std::uint8_t id)
{
	const bool late = used % 2;
	const std::size_t at = late ? used - 1 : used;
	if (late)
		frame[used] = static_cast<std::uint8_t>(frame[at] | (frame[auxiliary] >> at / 2 & 1));
	frame[at] = static_cast<std::uint8_t>(id << 1 | is_id);
	set_auxiliary(at, late);
	current = id;
	has_id = true;
	advance();
}

void Formatter::add(std::uint8_t byte)
{
	const bool even = used % 2 == 0;
	frame[used] = even ? static_cast<std::uint8_t>(byte & ~is_id) : byte;
	if (even)
		set_auxiliary(used, byte & is_id);
	advance();
}

/* The auxiliary bit of an even byte: the lowest bit of data; for an ID, whether it takes effect after the next byte. */
void Formatter::set_auxiliary(std::size_t at, bool value)
{
	const auto bit = static_cast<std::uint8_t>(1 << at / 2);
	frame[auxiliary] = static_cast<std::uint8_t>(value ? frame[auxiliary] | bit : frame[auxiliary] & ~bit);
}

void Formatter::advance()
{
	if (++used < auxiliary)
		return;
	whole.insert(whole.end(), frame.begin(), frame.end());
	without_id = has_id ? 0 : without_id + 1;
	used = 0;
	has_id = false;
}

} // namespace hwsim::arm64
