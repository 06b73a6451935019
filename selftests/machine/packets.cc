// SPDX-License-Identifier: GPL-2.0-only
#include "packets.h"

#include <algorithm>
#include <array>

namespace auxpmu::machine
{
namespace
{

/* What follows a header. */
enum class Payload {
	none,
	extension, /* A-sync, Overflow, Discard */
	info,      /* Trace Info: sections, each up to a byte without bit 7 */
	timestamp,
	timestamp_and_cycles,
	exception,
	field, /* up to a byte without bit 7 */
	byte,
	instrumentation,
	context,
	exact,
	short_address,
	long_address,  /* 32 bits */
	whole_address, /* 64 */
	long_and_context,
	whole_and_context,
	source_short, /* of the branch itself: no target */
	source_long,
	source_whole,
	unknown,
};

/* "Headers of instruction trace packets", each up to the next one. */
constexpr struct {
	unsigned first;
	Payload payload;
} headers[] = {
	{0x00, Payload::extension}, {0x01, Payload::info}, {0x02, Payload::timestamp},
	{0x03, Payload::timestamp_and_cycles}, {0x04, Payload::none}, /* Trace On */
	{0x06, Payload::exception}, {0x07, Payload::none}, {0x08, Payload::unknown}, {0x09, Payload::instrumentation},
	{0x0a, Payload::none},                           /* transactions */
	{0x0c, Payload::unknown}, {0x0d, Payload::byte}, /* cycle counts */
	{0x0e, Payload::field}, {0x0f, Payload::none}, {0x20, Payload::unknown},
	{0x2d, Payload::field},                          /* Commit, Cancel */
	{0x30, Payload::none},                           /* Mispredict, Cancel */
	{0x40, Payload::unknown}, {0x70, Payload::none}, /* Ignore, Event */
	{0x80, Payload::none}, {0x81, Payload::context}, {0x82, Payload::long_and_context}, {0x84, Payload::unknown},
	{0x85, Payload::whole_and_context}, {0x87, Payload::unknown}, {0x88, Payload::none}, /* Timestamp Marker */
	{0x89, Payload::unknown}, {0x90, Payload::exact}, {0x93, Payload::unknown}, {0x95, Payload::short_address},
	{0x97, Payload::unknown}, {0x9a, Payload::long_address}, {0x9c, Payload::unknown},
	{0x9d, Payload::whole_address}, {0x9f, Payload::unknown}, /* Q: nobody has asked for it */
	{0xb0, Payload::none}, {0xb3, Payload::unknown}, {0xb4, Payload::source_short}, {0xb6, Payload::source_long},
	{0xb8, Payload::source_whole}, {0xba, Payload::unknown}, {0xc0, Payload::none}, /* Atoms */
};

constexpr Payload payload_of(unsigned header)
{
	Payload payload = Payload::unknown;

	for (const auto &one : headers)
		if (header >= one.first)
			payload = one.payload;
	return payload;
}

constexpr unsigned trace_on = 0x04, sync_zeros = 11, sync_end = 0x80;
/* Overflow, A-sync */
constexpr unsigned char overflow[] = {0x00, 0x05, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80};
/* E1 of an Exception packet: the address behind it is also where the last branch has led. */
constexpr unsigned exception_has_target = 0x40;

class Reader
{
public:
	explicit Reader(std::span<const std::byte> trace) : trace(trace) {}

	Packets read()
	{
		at = first_sync();
		while (at < trace.size() && !seen.unknown)
			packet();
		return std::move(seen);
	}

private:
	/* Behind the end there are zeros: a packet that is not whole is the last one, and is not counted. */
	unsigned next() { return at < trace.size() ? static_cast<unsigned>(trace[at++]) : (at = trace.size() + 1, 0); }
	bool whole() const { return at <= trace.size(); }

	std::size_t first_sync() const
	{
		std::size_t zeros = 0;

		for (std::size_t n = 0; n < trace.size(); n++) {
			if (zeros >= sync_zeros && trace[n] == std::byte(sync_end))
				return n - sync_zeros;
			zeros = trace[n] == std::byte(0) ? zeros + 1 : 0;
		}
		return trace.size();
	}

	void field()
	{
		while (next() & 0x80)
			;
	}
	/* At most so many bytes, the last of which has no bit that says that one more follows. */
	void field(unsigned most)
	{
		for (unsigned n = 1; next() & 0x80 && n < most; n++)
			;
	}
	std::uint64_t bytes(unsigned number)
	{
		std::uint64_t value = 0;

		for (unsigned n = 0; n < number; n++)
			value |= static_cast<std::uint64_t>(next()) << 8 * n;
		return value;
	}

	void packet()
	{
		const std::size_t begin = at;
		const unsigned header = next();
		/* of the other instruction set addresses have one more bit */
		const unsigned lowest = is_second_set(header) ? 1 : 2;

		switch (payload_of(header)) {
		case Payload::none:
			if (header == trace_on)
				expected = Next::place;
			break;
		case Payload::extension:
			extension();
			break;
		case Payload::info:
			for (unsigned sections = next() & 0x1f; sections; sections &= sections - 1)
				field();
			history = {};
			expected = Next::place;
			break;
		case Payload::timestamp:
			field(9);
			break;
		case Payload::timestamp_and_cycles:
			field(9);
			field(3);
			break;
		case Payload::exception: {
			const unsigned type = next();

			if (type & 0x80)
				next();
			expected = type & exception_has_target ? Next::target : Next::nothing;
			break;
		}
		case Payload::field:
			field();
			break;
		case Payload::byte:
			next();
			break;
		case Payload::instrumentation:
			bytes(1);
			bytes(8);
			break;
		case Payload::context:
			context();
			break;
		case Payload::exact:
			address(history[header & 3]);
			break;
		case Payload::short_address:
			address(short_address(lowest));
			break;
		case Payload::long_address:
			address(long_address(lowest, 2));
			break;
		case Payload::whole_address:
			address(long_address(lowest, 6));
			break;
		case Payload::long_and_context:
			address(long_address(lowest, 2));
			context();
			break;
		case Payload::whole_and_context:
			address(long_address(lowest, 6));
			context();
			break;
		case Payload::source_short:
			short_address(2);
			break;
		case Payload::source_long:
			long_address(2, 2);
			break;
		case Payload::source_whole:
			long_address(2, 6);
			break;
		case Payload::unknown:
			seen.unknown = begin;
			break;
		}
	}

	static bool is_second_set(unsigned header)
	{
		return header == 0x83 || header == 0x86 || header == 0x96 || header == 0x9b || header == 0x9e;
	}

	void extension()
	{
		const unsigned kind = next();

		if (kind)
			return;
		while (at < trace.size() && trace[at] == std::byte(0))
			at++;
		next();
	}

	void context()
	{
		const unsigned what = next();

		/* a VMID of up to 4 bytes, if events were to ask for one */
		if (what & 0x40)
			bytes(4);
		if (what & 0x80)
			bytes(4);
	}

	std::uint64_t short_address(unsigned lowest)
	{
		const unsigned low = next();
		std::uint64_t value = static_cast<std::uint64_t>(low & 0x7f) << lowest;
		unsigned bits = lowest + 7;

		if (low & 0x80) {
			value |= static_cast<std::uint64_t>(next()) << bits;
			bits += 8;
		}
		return (history[0] >> bits << bits) | value;
	}

	std::uint64_t long_address(unsigned lowest, unsigned more)
	{
		std::uint64_t value = static_cast<std::uint64_t>(next() & 0x7f) << lowest;

		value |= static_cast<std::uint64_t>(next() & (0xff >> (lowest - 1))) << (lowest + 7);
		value |= bytes(more) << 16;
		return more == 2 ? (history[0] >> 32 << 32) | value : value;
	}

	void address(std::uint64_t to)
	{
		if (!whole())
			return;
		history = {to, history[0], history[1]};
		if (expected == Next::target)
			seen.targets.push_back(to);
		else if (expected == Next::place)
			seen.places.push_back(to);
		expected = Next::target;
	}

	/* What the next address is; nothing: where an exception returns to. */
	enum class Next { target, place, nothing };

	std::span<const std::byte> trace;
	std::size_t at = 0;
	std::array<std::uint64_t, 3> history{};
	Next expected = Next::place;
	Packets seen;
};

} // namespace

Packets read_packets(std::span<const std::byte> trace)
{
	return Reader(trace).read();
}

unsigned count_overflows(std::span<const std::byte> trace)
{
	const auto pattern = std::as_bytes(std::span(overflow));
	unsigned number = 0;

	for (auto at = trace.begin();
		(at = std::search(at, trace.end(), pattern.begin(), pattern.end())) != trace.end(); ++at)
		number++;
	return number;
}

} // namespace auxpmu::machine
