/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tmc: a trace memory controller (CoreSight TMC TRM, DDI0461; SoC-600 TRM, 100806). An ETR writes to the machine's memory; an ETB or ETF
 * writes to its own RAM, which software reads word by word. An ETF may pass trace on downstream instead (hardware FIFO mode).
 *
 * Captured trace is formatted into frames, which are written in bursts. Frames not yet written when the TMC is disabled are lost: to keep
 * them, software has to flush and stop first. Trace that arrives while the TMC is disabled or stopped is discarded, so it blocks no source.
 *
 * A circular buffer is read once the TMC has stopped, and its oldest trace is overwritten. A software FIFO is read while it fills: one
 * that is full takes no more, and its sources wait. No kernel uses that mode; what is here of it is our reading of the TRM.
 */
#ifndef HWSIM_ARM64_TMC_H
#define HWSIM_ARM64_TMC_H

#include <cstdint>
#include <functional>
#include <vector>

#include "atb.h"
#include "component.h"
#include "faults.h"
#include "formatter.h"
#include "tmc_buffer.h"

namespace hwsim::arm64
{

namespace tmc
{
namespace reg
{
constexpr std::uint32_t rsz = 0x004, sts = 0x00c, rrd = 0x010, rrp = 0x014, rwp = 0x018, trg = 0x01c, ctl = 0x020,
			mode = 0x028, lbuflevel = 0x02c, cbuflevel = 0x030, bufwm = 0x034, rrphi = 0x038, rwphi = 0x03c,
			axictl = 0x110, dbalo = 0x118, dbahi = 0x11c, rurp = 0x120, ffsr = 0x300, ffcr = 0x304,
			pscr = 0x308;
} // namespace reg
constexpr std::uint32_t capture = 1; /* CTL */
/* STS */
constexpr std::uint32_t full = 1, triggered = 1 << 1, ready = 1 << 2, formatter_empty = 1 << 3, empty = 1 << 4,
			memory_error = 1 << 5;
/* FFCR */
constexpr std::uint32_t insert_triggers = 1 << 1, flush_on_trigger = 1 << 5, flush = 1 << 6, stop_on_flush = 1 << 12,
			stop_on_trigger = 1 << 13;
/* FFSR */
constexpr std::uint32_t in_progress = 1, stopped = 1 << 1;
constexpr std::uint32_t scatter_gather = 1 << 7; /* AXICTL */

enum class Kind : std::uint8_t { etb = 0, etr = 1, etf = 2 };
/* Software FIFO mode 2, of an ETR of SoC-600, is read in memory: software tells by RURP how much it has read. */
enum class Mode : std::uint8_t { circular = 0, software_fifo = 1, hardware_fifo = 2, software_fifo_2 = 3 };
/* DDI0461, "TMC architectural state machine", without the states that last no time here. */
enum class State : std::uint8_t { disabled, running, stopping, stopped };

struct Config {
	Kind kind = Kind::etr;
	/* A TMC of CoreSight SoC-600: software may write pointers and status, and a start does not reset them. */
	bool save_restore = false;
	std::uint32_t ram = 0x1'0000; /* RAM size of an ETB or ETF in bytes */
};
} // namespace tmc

class Tmc final : public Component, public AtbReceiver, public AtbSender
{
public:
	struct Counts {
		std::uint64_t bytes = 0, discarded = 0, overwritten = 0, wraps = 0, starts = 0, flushes = 0, errors = 0;
	};

	/* If an ETR has a CATU, the CATU translates the ETR's addresses. */
	Tmc(const tmc::Config &config, GuestMemory &memory, Catu *in_front);
	void set_faults(const Faults &now);
	/* For an ETF: the receiver to which it passes trace on in hardware FIFO mode. */
	void connect(AtbReceiver &to) { next = &to; }
	void connect_from(AtbSender &from) { above = &from; }
	/* To be called with each change of the FULL output. */
	void connect_full(std::function<void(bool)> to) { full_output = std::move(to); }

	std::size_t receive(std::uint8_t id, std::span<const std::uint8_t> bytes) override;
	std::size_t room(std::uint8_t id) const override;
	void trigger(std::uint8_t id) override;
	void drain() override;
	bool holds() const override { return !waiting.empty() || (above && above->holds()); }

	void was_read(std::uint32_t offset) override;
	bool flushes(std::uint32_t offset, std::uint32_t value) const override
	{
		return offset == tmc::reg::ffcr && (value & tmc::flush) && captures();
	}

	const Counts &statistics() const { return counts; }
	bool captures() const { return state == tmc::State::running; }

private:
	struct Waiting {
		std::uint8_t id;
		std::vector<std::uint8_t> bytes;
	};

	bool put(std::uint32_t offset, std::uint32_t value) override;
	bool is_writable(std::uint32_t offset, std::uint32_t &value) const;
	void put_status(std::uint32_t value);
	void put_flush_control(std::uint32_t value);
	void put_read_pointer(std::uint32_t value);
	tmc::Mode mode_of_operation() const;
	bool is_link() const { return mode == tmc::Mode::hardware_fifo; }
	bool is_software_fifo() const { return mode == tmc::Mode::software_fifo || mode == tmc::Mode::software_fifo_2; }
	bool in_memory() const { return config.kind == tmc::Kind::etr; }
	bool is_scattered() const { return in_memory() && shows(tmc::reg::axictl, tmc::scatter_gather); }
	std::uint64_t pair(std::uint32_t low, std::uint32_t high) const
	{
		return read(low) | std::uint64_t{read(high)} << 32;
	}
	void show_pair(std::uint32_t low, std::uint32_t high, std::uint64_t value);

	void start();
	void disable();
	void stop();
	void become_stopped();
	void show_ready();
	void continue_flush();
	void flush_formatter();
	void discard_waiting();
	void let_through();
	std::size_t fill(std::uint8_t id, std::span<const std::uint8_t> bytes);
	void write_frames();
	bool count_trigger(std::uint64_t written);
	void memory_fails();
	void show_pointers();
	void show_level();
	std::uint64_t next_word() const;
	bool has_word() const;
	void show_word();
	void read_on(std::uint64_t bytes);

	const tmc::Config config;
	AtbReceiver *next = nullptr;
	AtbSender *above = nullptr;
	std::function<void(bool)> full_output;
	tmc::State state = tmc::State::disabled;
	tmc::Mode mode = tmc::Mode::circular; /* in use since the start */
	Formatter formatter;
	std::vector<Waiting> waiting; /* trace in an ETF in hardware FIFO mode */
	std::size_t waiting_bytes = 0;
	bool passing_on = false;              /* let_through() is at work */
	bool flushing = false, stops = false; /* a manual flush has not ended; it stops the formatter then */
	TmcBuffer buffer;
	/* In bytes: the offset of the next frame, and how much of what is stored before it has not been read or overwritten. */
	std::uint64_t offset = 0, level = 0;
	bool word_shown = false;        /* RRD shows the next word */
	bool full_asserted = false;     /* the FULL output */
	std::uint64_t trigger_left = 0; /* words until the trigger event; 0 if none is pending */
	bool never_ready = false, never_flushed = false, frames_cut = false;
	std::uint64_t error_every = 0, next_error = UINT64_MAX;
	Counts counts;
};

} // namespace hwsim::arm64

#endif
