// SPDX-License-Identifier: GPL-2.0-or-later
#include "tmc.h"

#include <algorithm>

namespace hwsim::arm64
{
namespace
{

constexpr std::uint64_t word = 4;
/* Frames are written once this many bytes have accumulated: a burst on the bus. */
constexpr std::size_t burst = 512;
/* The bytes that an ETF in hardware FIFO mode holds back. */
constexpr std::size_t held_back = 1024;
/* The value of RRD when there is no more data. */
constexpr std::uint32_t no_more = 0xffff'ffff;
/* What RWP and RRP say after a memory error. */
constexpr std::uint64_t unknown = 0xff'ffff'fff0;
/* RURP: the most that software may have read at once. */
constexpr std::uint32_t most_read = 0x10'0000, rurp_bits = 0x1f'ffff;

constexpr std::uint32_t flush_control_bits = 0x3773, axi_bits = 0x000f'0fbf, watermark_bits = 0x3fff'ffff;

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
	: Component(identity(with)), config(with), buffer(in_memory() ? 0 : with.ram, memory, in_front)
{
	if (!in_memory())
		show(reg::rsz, with.ram / word);
	show(reg::sts, ready | formatter_empty);
	show(reg::ffsr, stopped);
	show_word();
}

void Tmc::set_faults(const Faults &now)
{
	never_ready = now.never_ready;
	never_flushed = now.flush_never_ends;
	frames_cut = now.frames_cut;
	if (state == State::disabled || state == State::stopped)
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

/* Which bits of a register can be written while capture is disabled; false if there is no such register here, or it is read-only. */
bool Tmc::is_writable(std::uint32_t at, std::uint32_t &value) const
{
	switch (at) {
	case reg::rsz:
		value &= 0x7fff'ffff;
		return in_memory();
	case reg::axictl:
		value &= axi_bits;
		return in_memory();
	case reg::dbalo:
		return in_memory();
	case reg::dbahi:
		value &= 0xff;
		return in_memory();
	case reg::mode:
		value &= 3;
		return true;
	case reg::bufwm:
		value &= watermark_bits;
		return true;
	case reg::pscr:
		value &= 0x1f;
		return true;
	default:
		return at == reg::trg;
	}
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
		show_word();
		return true;
	case reg::ffcr:
		put_flush_control(value);
		show_word();
		return true;
	case reg::rrp:
		put_read_pointer(value);
		return true;
	case reg::sts:
		put_status(value);
		return true;
	case reg::rurp:
		if (!in_memory() || !config.save_restore)
			return false;
		value &= rurp_bits;
		if (enabled && mode == Mode::software_fifo_2 && value <= most_read)
			read_on(std::min<std::uint64_t>(value, level));
		return true;
	case reg::rwp:
	case reg::rrphi:
	case reg::rwphi:
		if (!enabled && config.save_restore)
			show(at, value);
		return true;
	default:
		if (!is_writable(at, value))
			return false;
		if (!enabled)
			show(at, value);
		return true;
	}
}

/* A memory error is cleared by a write of 1, once capture has ended. Full and Triggered can be restored on SoC-600. */
void Tmc::put_status(std::uint32_t value)
{
	constexpr std::uint32_t restorable = full | triggered;
	if ((state == State::disabled || state == State::stopped) && (value & memory_error))
		show(reg::sts, read(reg::sts) & ~memory_error);
	if (state == State::disabled && config.save_restore)
		show(reg::sts, (read(reg::sts) & ~restorable) | (value & restorable));
}

/*
 * 2.4.3, "Restrictions while in stopped state": an ETB of before the TMC took this while it was stopped, for a TMC it is unpredictable. The
 * in-tree driver relies on it (tmc_update_etf_buffer()), to leave out what is too much for the reader.
 */
void Tmc::put_read_pointer(std::uint32_t value)
{
	if (in_memory()) {
		if (state == State::disabled && config.save_restore)
			show(reg::rrp, value);
		return;
	}
	if (state != State::disabled && state != State::stopped)
		return;
	const std::uint32_t at = value % config.ram & ~0xfu;
	show(reg::rrp, at);
	if (state == State::stopped) {
		const std::uint64_t ahead = (offset + config.ram - at) % config.ram;
		level = ahead || !shows(reg::sts, full) ? ahead : config.ram;
		show_level();
	}
	show_word();
}

/*
 * "FFCR, Formatter and Flush Control": a manual flush takes along what is held on the way here, and then clears FlushMan. It stops the
 * formatter if StopOnFl was set before: that takes a write of its own.
 */
void Tmc::put_flush_control(std::uint32_t value)
{
	const bool enables_stop = shows(reg::ffcr, stop_on_flush);
	show(reg::ffcr, value & flush_control_bits);
	if (!(value & tmc::flush))
		return;
	flushing = true;
	stops = captures() && enables_stop;
	show(reg::ffsr, read(reg::ffsr) | in_progress);
	if (captures())
		drain();
	continue_flush();
}

/* Called whenever what is held above had the chance to come. A software FIFO that is full has to be read before the flush can end. */
void Tmc::continue_flush()
{
	if (!flushing || (captures() && above && above->holds()))
		return;
	flushing = false;
	show(reg::ffsr, read(reg::ffsr) & ~in_progress);
	if (captures()) {
		counts.flushes++;
		flush_formatter();
		if (stops)
			stop();
		else
			show_pointers();
	}
	if (!never_flushed)
		show(reg::ffcr, read(reg::ffcr) & ~tmc::flush);
}

void Tmc::flush_formatter()
{
	if (is_link())
		return;
	formatter.flush();
	write_frames();
}

// --- start and stop -------------------------------------------------------------------------

/* 100806, "MODE": a reserved value is taken for software FIFO mode 1. */
Mode Tmc::mode_of_operation() const
{
	const auto wanted = static_cast<Mode>(read(reg::mode));
	const bool known = wanted == Mode::circular || (wanted == Mode::hardware_fifo && config.kind == Kind::etf) ||
			   (wanted == Mode::software_fifo_2 && in_memory() && config.save_restore);
	return known ? wanted : Mode::software_fifo;
}

void Tmc::start()
{
	counts.starts++;
	trigger_left = 0;
	offset = level = 0;
	mode = mode_of_operation();
	state = State::running;
	if (in_memory())
		buffer.find(pair(reg::dbalo, reg::dbahi), read(reg::rsz) * word, is_scattered());
	if (in_memory() && config.save_restore && mode == Mode::circular) {
		offset = pair(reg::rwp, reg::rwphi) - pair(reg::dbalo, reg::dbahi);
		if (offset >= buffer.size())
			offset = 0;
		level = shows(reg::sts, full) ? buffer.size() : 0;
	}
	show(reg::ffsr, 0);
	show(reg::sts, level ? full : 0);
	show(reg::lbuflevel, 0);
	show_pointers();
	show_level();
}

/* Disabling takes effect at once: what has not been written by then is lost, and what a software FIFO holds. */
void Tmc::disable()
{
	counts.discarded += formatter.frames().size() + formatter.unfinished() + (is_software_fifo() ? level : 0);
	formatter.reset();
	discard_waiting();
	show_pointers();
	state = State::disabled;
	level = 0;
	flushing = false;
	if (!never_flushed)
		show(reg::ffcr, read(reg::ffcr) & ~tmc::flush);
	show(reg::ffsr, stopped);
	show_ready();
	show_level();
	if (above)
		above->drain();
}

void Tmc::discard_waiting()
{
	counts.discarded += waiting_bytes;
	waiting.clear();
	waiting_bytes = 0;
}

/* Capture has ended: sets STS.TMCReady, unless the fault prevents it. */
void Tmc::show_ready()
{
	show(reg::sts, (never_ready ? read(reg::sts) & ~ready : read(reg::sts) | ready) | formatter_empty);
}

/* "Stopped" is entered when all has left the formatter; a software FIFO may have to be read first, to make room for it. */
void Tmc::stop()
{
	constexpr std::uint64_t half = Formatter::frame_size / 2;
	if (frames_cut && mode == Mode::circular && level >= half && offset >= half) {
		offset -= half;
		level -= half;
	}
	if ((is_software_fifo() && !formatter.frames().empty()) || !waiting.empty())
		state = State::stopping;
	else
		become_stopped();
}

void Tmc::become_stopped()
{
	state = State::stopped;
	show(reg::ffsr, stopped);
	show(reg::trg, 0);
	show_ready();
	show_pointers();
	show_level();
	/* It takes everything now, and discards it. */
	if (above)
		above->drain();
}

void Tmc::drain()
{
	if (above)
		above->drain();
	if (is_link())
		let_through();
}

// --- trace ----------------------------------------------------------------------------------

std::size_t Tmc::receive(std::uint8_t id, std::span<const std::uint8_t> bytes)
{
	if (!captures()) {
		counts.discarded += bytes.size();
		return bytes.size();
	}
	if (is_link()) {
		const std::size_t taken = std::min<std::size_t>(bytes.size(), config.ram - waiting_bytes);
		if (taken)
			waiting.push_back({id, {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken)}});
		waiting_bytes += taken;
		show_level();
		if (waiting_bytes > held_back)
			let_through();
		return taken;
	}
	if (is_software_fifo())
		return fill(id, bytes);
	formatter.put(id, bytes);
	if (formatter.frames().size() >= burst)
		write_frames();
	return bytes.size();
}

std::size_t Tmc::room(std::uint8_t) const
{
	if (!captures() || mode == Mode::circular)
		return SIZE_MAX;
	if (is_link())
		return config.ram - waiting_bytes;
	/* A byte takes two places of a frame's 15 where its trace ID comes before it. */
	const std::uint64_t frames =
		(buffer.size() - std::min(buffer.size(), level + formatter.frames().size())) / Formatter::frame_size;
	constexpr std::uint64_t places = Formatter::frame_size - 1;
	return frames ? std::max<std::uint64_t>((frames - 1) * places / 2, 1) : 0;
}

/*
 * Passes trace on in order. Bytes that the receiver does not take stay, together with all that follow them. The receiver may ask for more
 * meanwhile, if a trigger flushes it.
 */
void Tmc::let_through()
{
	if (passing_on)
		return;
	passing_on = true;
	while (!waiting.empty() && next) {
		Waiting &first = waiting.front();
		const std::size_t taken = next->receive(first.id, first.bytes);
		waiting_bytes -= taken;
		counts.bytes += taken;
		first.bytes.erase(first.bytes.begin(), first.bytes.begin() + static_cast<std::ptrdiff_t>(taken));
		if (!first.bytes.empty())
			break;
		waiting.erase(waiting.begin());
	}
	passing_on = false;
	if (state == State::stopping && waiting.empty())
		become_stopped();
	show_level();
}

/* Takes what there is room for in a software FIFO. Beside that, a frame may be in the formatter that is not complete. */
std::size_t Tmc::fill(std::uint8_t id, std::span<const std::uint8_t> bytes)
{
	std::size_t taken = 0;
	while (taken < bytes.size() && level + formatter.frames().size() < buffer.size())
		formatter.put(id, bytes.subspan(taken++, 1));
	if (taken < bytes.size() || formatter.frames().size() >= burst)
		write_frames();
	return taken;
}

/*
 * Interpretation of the TRM: a trigger that arrives on the ATB acts like the trigger input. It is inserted into the trace if FFCR.EnTI
 * is set, and in a circular buffer the trigger event follows when TRG words and one more have been written.
 */
void Tmc::trigger(std::uint8_t id)
{
	if (!captures())
		return;
	if (is_link()) {
		let_through();
		if (next)
			next->trigger(id);
		return;
	}
	if (shows(reg::ffcr, insert_triggers))
		formatter.trigger();
	if (mode == Mode::circular && !trigger_left && !shows(reg::sts, triggered))
		trigger_left = std::uint64_t{read(reg::trg)} + 1;
}

/* Counts the words written towards the trigger event; true if it happens. */
bool Tmc::count_trigger(std::uint64_t written)
{
	if (!trigger_left)
		return false;
	trigger_left -= std::min<std::uint64_t>(trigger_left, written / word);
	show(reg::trg, static_cast<std::uint32_t>(trigger_left ? trigger_left - 1 : 0));
	if (trigger_left)
		return false;
	show(reg::sts, read(reg::sts) | triggered);
	if (shows(reg::ffcr, stop_on_trigger))
		become_stopped();
	return true;
}

/*
 * At the end of the buffer, writing continues at its beginning. There a circular buffer overwrites the oldest trace; frames for which a
 * software FIFO has no room stay in the formatter.
 */
void Tmc::write_frames()
{
	const auto frames = formatter.frames();
	std::size_t done = 0;
	bool trigger_event = false;
	while (done < frames.size() && (captures() || state == State::stopping)) {
		const std::uint64_t space = buffer.size() - (is_software_fifo() ? level : 0);
		if (!space && level)
			break;
		const std::uint64_t sound = next_error > counts.bytes ? next_error - counts.bytes : 0;
		const auto part = frames.subspan(done,
			static_cast<std::size_t>(std::min({std::uint64_t{frames.size() - done}, buffer.size() - offset,
				space, TmcBuffer::page_size - offset % TmcBuffer::page_size, sound})));
		if (part.empty() || !buffer.store(offset, part)) {
			memory_fails();
			break;
		}
		done += part.size();
		counts.bytes += part.size();
		offset += part.size();
		level += part.size();
		if (level > buffer.size()) {
			counts.overwritten += level - buffer.size();
			level = buffer.size();
		}
		if (offset == buffer.size()) {
			offset = 0;
			counts.wraps++;
			if (mode == Mode::circular)
				show(reg::sts, read(reg::sts) | full);
		}
		trigger_event |= count_trigger(part.size());
	}
	const std::size_t lost = is_software_fifo() && state != State::stopped ? 0 : frames.size() - done;
	counts.discarded += lost;
	formatter.taken(done + lost);
	if (is_software_fifo())
		show_pointers();
	show_level();
	if (trigger_event && captures() && shows(reg::ffcr, flush_on_trigger)) {
		drain();
		flush_formatter();
		if (shows(reg::ffcr, stop_on_flush))
			stop();
	}
}

/* Sets STS.MemErr and stops capturing. */
void Tmc::memory_fails()
{
	counts.errors++;
	if (next_error != UINT64_MAX)
		next_error = (counts.bytes + error_every) & ~std::uint64_t{15};
	show(reg::sts, read(reg::sts) | memory_error);
	become_stopped();
}

// --- what is read ---------------------------------------------------------------------------

/* "STS", MemErr: after an error the pointers are unknown. */
void Tmc::show_pointers()
{
	if (shows(reg::sts, memory_error)) {
		show_pair(reg::rwp, reg::rwphi, unknown);
		show_pair(reg::rrp, reg::rrphi, unknown);
		return;
	}
	if (!in_memory()) {
		show(reg::rwp, static_cast<std::uint32_t>(offset));
		show(reg::rrp, static_cast<std::uint32_t>(next_word()));
		return;
	}
	const std::uint64_t beginning = pair(reg::dbalo, reg::dbahi);
	show_pair(reg::rwp, reg::rwphi, buffer.address(offset).value_or(beginning));
	show_pair(reg::rrp, reg::rrphi, buffer.address(next_word()).value_or(beginning));
}

/*
 * "STS": in a circular buffer Full says that it has wrapped, and stays until the next start; in a FIFO it says that BUFWM words or less are
 * free. Empty and the fill levels are of an enabled TMC.
 */
void Tmc::show_level()
{
	const bool enabled = state != State::disabled;
	const std::uint64_t bytes = is_link() ? waiting_bytes : level;
	std::uint32_t status = read(reg::sts) & ~empty;
	if (enabled && !bytes)
		status |= empty;
	if (enabled && mode != Mode::circular) {
		const std::uint64_t watermark = is_scattered() ? 0 : read(reg::bufwm) * word;
		status = buffer.size() - bytes <= watermark ? status | full : status & ~full;
	}
	show(reg::sts, status);
	const auto words = static_cast<std::uint32_t>(enabled && !is_scattered() ? bytes / word : 0);
	show(reg::cbuflevel, words);
	if (enabled)
		show(reg::lbuflevel, std::max(read(reg::lbuflevel), words));
	const bool asserted = enabled && (status & full);
	if (asserted != full_asserted && full_output)
		full_output(asserted);
	full_asserted = asserted;
}

/* The offset of the oldest word, which is read next. While the TMC is disabled, software keeps the pointer to it. */
std::uint64_t Tmc::next_word() const
{
	if (state == State::disabled)
		return read(reg::rrp);
	return buffer.size() ? (offset + buffer.size() - level) % buffer.size() : 0;
}

/* "RRD": the contents of the RAM while disabled; the trace of a circular buffer once stopped, that of a software FIFO at any time. */
bool Tmc::has_word() const
{
	if (shows(reg::sts, memory_error))
		return false;
	if (state == State::disabled)
		return !in_memory();
	return level >= word && (mode == Mode::software_fifo || (mode == Mode::circular && state == State::stopped));
}

/* Called only where software accesses the TMC: what it reads from RRD must not change behind its back. */
void Tmc::show_word()
{
	const auto value = has_word() ? buffer.load(next_word()) : std::nullopt;
	if (has_word() && !value)
		memory_fails();
	word_shown = value.has_value();
	show(reg::rrd, value.value_or(no_more));
}

/* Software has read this many bytes: there is room for more. */
void Tmc::read_on(std::uint64_t bytes)
{
	if (state == State::disabled) {
		show(reg::rrp, static_cast<std::uint32_t>((read(reg::rrp) + bytes) % config.ram));
		return;
	}
	level -= bytes;
	write_frames();
	if (state == State::stopping && formatter.frames().empty())
		become_stopped();
	if (captures())
		drain();
	continue_flush();
	show_pointers();
}

void Tmc::was_read(std::uint32_t at)
{
	if (shows(management::lsr, management::locked))
		return;
	if (at == reg::lbuflevel && state != State::disabled)
		show(at, read(reg::cbuflevel));
	if (at != reg::rrd)
		return;
	if (word_shown)
		read_on(word);
	show_word();
}

} // namespace hwsim::arm64
