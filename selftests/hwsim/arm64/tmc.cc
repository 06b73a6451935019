// SPDX-License-Identifier: GPL-2.0-or-later
#include "tmc.h"

#include <algorithm>

namespace hwsim::arm64
{
namespace
{

constexpr std::uint64_t word = 4, page_size = 4096;
/* Frames are written once this many bytes have accumulated: a burst on the bus. */
constexpr std::size_t burst = 512;
/* The bytes that an ETF in hardware FIFO mode holds back. */
constexpr std::size_t held_back = 1024;
/* 4 GiB, more memory than any guest has. */
constexpr std::uint64_t most_pages = std::uint64_t{1} << 20;
/* The value of RRD when there is no more data. */
constexpr std::uint32_t no_more = 0xffff'ffff;
/* Types of the 32-bit entries of an ETR's scatter-gather table. */
constexpr unsigned last_entry = 1, link_entry = 3;

constexpr std::uint32_t flush_control_bits = 0x7773, axi_bits = 0x000f'0fbf;

Component::Identity identity(const tmc::Config &config)
{
	const auto kind = static_cast<std::uint32_t>(config.kind);
	constexpr std::uint32_t width_64 = 3 << 8, address_40 = 1 << 16 | 40 << 17;
	switch (config.kind) {
	case tmc::Kind::etr:
		return {config.save_restore ? 0x000b'b9e8u : 0x000b'b961u, 0x21, 0, kind << 6 | width_64 | address_40,
			0x0f};
	case tmc::Kind::etf:
		return {config.save_restore ? 0x000b'b9e9u : 0x000b'b961u, 0x32, 0, kind << 6 | width_64, 0x0f};
	default:
		return {config.save_restore ? 0x000b'b9e9u : 0x000b'b961u, 0x21, 0, kind << 6 | width_64, 0x0f};
	}
}

} // namespace

using namespace tmc;

Tmc::Tmc(const Config &with, GuestMemory &memory, Catu *in_front)
	: Component(identity(with)), config(with), guest(memory), catu(in_front), ram(in_memory() ? 0 : with.ram)
{
	if (!in_memory())
		show(reg::rsz, with.ram / word);
	show(reg::sts, ready | empty);
	show(reg::ffsr, stopped);
	show(reg::rrd, no_more);
}

void Tmc::set_faults(const Faults &now)
{
	never_ready = now.never_ready;
	never_flushed = now.flush_never_ends;
	if (!captures())
		show_ready();
	if (now.memory_error == error_every)
		return;
	error_every = now.memory_error;
	next_error = error_every ? (counts.bytes + error_every) & ~std::uint64_t{15} : UINT64_MAX;
}

// --- registers ------------------------------------------------------------------------------

void Tmc::show_pair(std::uint32_t low, std::uint32_t high, std::uint64_t value)
{
	show(low, static_cast<std::uint32_t>(value));
	show(high, static_cast<std::uint32_t>(value >> 32));
}

/* DDI0461, "Programmers model": while trace capture is enabled, only CTL and FFCR can be written; other writes are ignored. */
bool Tmc::put(std::uint32_t at, std::uint32_t value)
{
	const bool enabled = shows(reg::ctl, capture);
	switch (at) {
	case reg::ctl:
		if (enabled == (value & capture))
			return true;
		show(at, value & capture);
		enabled ? disable() : start();
		return true;
	case reg::ffcr:
		put_flush_control(value);
		return true;
	case reg::rrp:
		/* An ETB or ETF also accepts this while it is stopped, so that software can read from another place. */
		if (in_memory() ? !enabled && config.save_restore : !captures()) {
			show(at, in_memory() ? value : value % config.ram & ~0xfu);
			show_word();
		}
		return true;
	case reg::sts:
	case reg::rwp:
	case reg::rrphi:
	case reg::rwphi:
		if (!enabled && config.save_restore)
			show(at, at == reg::sts ? (read(at) & ~(full | triggered)) | (value & (full | triggered))
						: value);
		return true;
	case reg::rsz:
		if (!in_memory())
			return false;
		value &= 0x7fff'ffff;
		break;
	case reg::axictl:
		if (!in_memory())
			return false;
		value &= axi_bits;
		break;
	case reg::dbalo:
		if (!in_memory())
			return false;
		break;
	case reg::dbahi:
		if (!in_memory())
			return false;
		value &= 0xff;
		break;
	case reg::mode:
		value &= 3;
		break;
	case reg::trg:
	case reg::bufwm:
		break;
	case reg::pscr:
		value &= 0x1f;
		break;
	default:
		return false;
	}
	if (!enabled)
		show(at, value);
	return true;
}

/* "FFCR, Formatter and Flush Control": a manual flush completes at once, clears FlushMan, and may stop the formatter. */
void Tmc::put_flush_control(std::uint32_t value)
{
	show(reg::ffcr, value & flush_control_bits);
	if (!(value & tmc::flush))
		return;
	if (captures()) {
		flush();
		if (value & stop_on_flush)
			stop();
		else
			show_pointers();
	}
	if (!never_flushed)
		show(reg::ffcr, value & flush_control_bits & ~tmc::flush);
}

// --- start and stop -------------------------------------------------------------------------

void Tmc::start()
{
	counts.starts++;
	formatter.reset();
	waiting.clear();
	waiting_bytes = 0;
	trigger_left = 0;
	show(reg::ffsr, 0);
	show(reg::sts, (config.save_restore ? read(reg::sts) & full : 0) | empty);
	size = in_memory() ? read(reg::rsz) * word : config.ram;
	offset = 0;
	if (in_memory()) {
		find_pages();
		if (config.save_restore)
			offset = pair(reg::rwp, reg::rwphi) - pair(reg::dbalo, reg::dbahi);
		if (offset >= size)
			offset = 0;
	}
}

/* Disabling takes effect at once: what has not been written by then is lost. */
void Tmc::disable()
{
	counts.discarded += formatter.frames().size() + waiting_bytes;
	formatter.reset();
	waiting.clear();
	waiting_bytes = 0;
	show(reg::ffsr, stopped);
	show_ready();
}

/* Capture has ended: sets STS.TMCReady, unless the fault prevents it. */
void Tmc::show_ready()
{
	show(reg::sts, never_ready ? read(reg::sts) & ~ready : read(reg::sts) | ready);
}

void Tmc::stop()
{
	show(reg::ffsr, stopped);
	show_ready();
	show_pointers();
}

void Tmc::flush()
{
	counts.flushes++;
	drain();
	if (is_fifo())
		return;
	formatter.flush();
	write_frames();
}

void Tmc::drain()
{
	if (above)
		above->drain();
	if (is_fifo())
		let_through();
}

// --- trace ----------------------------------------------------------------------------------

std::size_t Tmc::receive(std::uint8_t id, std::span<const std::uint8_t> bytes)
{
	if (!captures()) {
		counts.discarded += bytes.size();
		return bytes.size();
	}
	if (is_fifo()) {
		const std::size_t taken = std::min(bytes.size(), ram.size() - waiting_bytes);
		if (taken)
			waiting.push_back({id, {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken)}});
		waiting_bytes += taken;
		if (waiting_bytes > held_back)
			let_through();
		return taken;
	}
	formatter.put(id, bytes);
	if (formatter.frames().size() >= burst)
		write_frames();
	return bytes.size();
}

/* Passes trace on in order. Bytes that the receiver does not take stay, together with all that follow them. */
void Tmc::let_through()
{
	while (!waiting.empty() && next) {
		Waiting &first = waiting.front();
		const std::size_t taken = next->receive(first.id, first.bytes);
		waiting_bytes -= taken;
		counts.bytes += taken;
		first.bytes.erase(first.bytes.begin(), first.bytes.begin() + static_cast<std::ptrdiff_t>(taken));
		if (!first.bytes.empty())
			return;
		waiting.erase(waiting.begin());
	}
}

/*
 * Interpretation of the TRM: a trigger that arrives on the ATB acts like the trigger input. It is inserted into the trace (FFCR.EnTI), and
 * the trigger event follows after as many words as TRG says.
 */
void Tmc::trigger(std::uint8_t id)
{
	if (!captures())
		return;
	if (is_fifo()) {
		let_through();
		if (next)
			next->trigger(id);
		return;
	}
	formatter.trigger();
	if (!trigger_left && !shows(reg::sts, triggered))
		trigger_left = std::max<std::uint64_t>(read(reg::trg), 1);
}

/* At the end of the buffer, writing continues at its beginning and overwrites the oldest trace. */
void Tmc::write_frames()
{
	auto frames = formatter.frames();
	const std::size_t all = frames.size();
	while (!frames.empty() && captures()) {
		const std::uint64_t sound = next_error > counts.bytes ? next_error - counts.bytes : 0;
		const std::size_t room = static_cast<std::size_t>(
			std::min({std::uint64_t{frames.size()}, size - offset, page_size - offset % page_size, sound}));
		if (!room || !store(offset, frames.first(room))) {
			memory_fails();
			break;
		}
		counts.bytes += room;
		offset += room;
		show(reg::sts, read(reg::sts) & ~empty);
		if (offset == size) {
			offset = 0;
			counts.wraps++;
			show(reg::sts, read(reg::sts) | full);
		}
		frames = frames.subspan(room);
		if (trigger_left) {
			trigger_left -= std::min<std::uint64_t>(trigger_left, room / word);
			if (!trigger_left)
				show(reg::sts, read(reg::sts) | triggered);
			if (!trigger_left && shows(reg::ffcr, stop_on_trigger))
				stop();
		}
	}
	counts.discarded += frames.size();
	formatter.taken(all);
}

bool Tmc::store(std::uint64_t at, std::span<const std::uint8_t> bytes)
{
	if (!in_memory()) {
		std::ranges::copy(bytes, ram.begin() + static_cast<std::ptrdiff_t>(at));
		return true;
	}
	const std::uint64_t n = at / page_size;
	return n < physical.size() && physical[n] && guest.write(*physical[n] + at % page_size, bytes);
}

/* Sets STS.MemErr and stops capturing. */
void Tmc::memory_fails()
{
	counts.errors++;
	if (next_error != UINT64_MAX)
		next_error = (counts.bytes + error_every) & ~std::uint64_t{15};
	show(reg::sts, read(reg::sts) | memory_error);
	stop();
}

// --- where an ETR writes --------------------------------------------------------------------

/* Reads the tables once, at the start: later changes of the tables have no effect until the next start. */
void Tmc::find_pages()
{
	pages.clear();
	physical.clear();
	if (shows(reg::axictl, scatter_gather)) {
		find_scattered_pages();
	} else {
		const std::uint64_t base = pair(reg::dbalo, reg::dbahi);
		const std::uint64_t count = std::min((size + page_size - 1) / page_size, most_pages);
		for (std::uint64_t n = 0; n < count; n++)
			pages.push_back(base + n * page_size);
	}
	for (const std::uint64_t page : pages)
		physical.push_back(catu ? catu->translate(page) : page);
}

/* DDI0461, "Scatter-gather": 4-byte entries, with the page number from bit 4 on; the last entry of a table links to the next table. */
void Tmc::find_scattered_pages()
{
	std::uint64_t at = pair(reg::dbalo, reg::dbahi);
	for (std::uint64_t reads = 0; reads < most_pages; reads++) {
		std::uint32_t entry = 0;
		if (!guest.load(at, entry) || !(entry & 3))
			break;
		const std::uint64_t page = std::uint64_t{entry >> 4} * page_size;
		if ((entry & 3) == link_entry) {
			at = page;
			continue;
		}
		pages.push_back(page);
		if ((entry & 3) == last_entry)
			break;
		at += sizeof entry;
	}
	size = std::min(size, pages.size() * page_size);
}

std::optional<std::uint64_t> Tmc::bus_address(std::uint64_t at) const
{
	const std::uint64_t n = at / page_size;
	return n < pages.size() ? std::optional(pages[n] + at % page_size) : std::nullopt;
}

// --- what is read ---------------------------------------------------------------------------

/* Once the buffer is full, the oldest byte follows the newest one. */
void Tmc::show_pointers()
{
	const std::uint64_t oldest = shows(reg::sts, full) ? offset : 0;
	if (in_memory()) {
		show_pair(reg::rwp, reg::rwphi, bus_address(offset).value_or(pair(reg::dbalo, reg::dbahi)));
		show_pair(reg::rrp, reg::rrphi, bus_address(oldest).value_or(pair(reg::dbalo, reg::dbahi)));
		return;
	}
	show(reg::rwp, static_cast<std::uint32_t>(offset));
	show(reg::rrp, static_cast<std::uint32_t>(oldest));
	show_word();
}

/* RRD: the word at the read pointer; each read advances that pointer. */
void Tmc::show_word()
{
	if (in_memory())
		return;
	std::uint32_t value = no_more;
	if (has_word())
		std::copy_n(ram.begin() + read(reg::rrp), word, reinterpret_cast<std::uint8_t *>(&value));
	show(reg::rrd, value);
}

bool Tmc::has_word() const
{
	return !in_memory() && !captures() && (read(reg::rrp) != read(reg::rwp) || shows(reg::sts, full));
}

void Tmc::was_read(std::uint32_t at)
{
	if (at != reg::rrd || !has_word())
		return;
	show(reg::rrp, static_cast<std::uint32_t>((read(reg::rrp) + word) % config.ram));
	/* All trace has been read: the RAM is empty, and not full any more. */
	if (read(reg::rrp) == read(reg::rwp))
		show(reg::sts, (read(reg::sts) & ~full) | empty);
	show_word();
}

} // namespace hwsim::arm64
