/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tmc: a trace memory controller (CoreSight TMC TRM, DDI0461). An ETR writes to the machine's memory; an ETB or ETF writes to its own RAM,
 * which software reads word by word. An ETF may pass trace on downstream instead (hardware FIFO mode).
 *
 * Captured trace is formatted into frames, which are written in bursts. Frames not yet written when the TMC is disabled are lost: to keep
 * them, software has to flush and stop first. Trace that arrives while the TMC is disabled or stopped is discarded, so it blocks no source.
 */
#ifndef HWSIM_ARM64_TMC_H
#define HWSIM_ARM64_TMC_H

#include <cstdint>
#include <optional>
#include <vector>

#include "../base/memory.h"
#include "atb.h"
#include "catu.h"
#include "component.h"
#include "faults.h"
#include "formatter.h"

namespace hwsim::arm64
{

namespace tmc
{
namespace reg
{
constexpr std::uint32_t rsz = 0x004, sts = 0x00c, rrd = 0x010, rrp = 0x014, rwp = 0x018, trg = 0x01c, ctl = 0x020,
			mode = 0x028, bufwm = 0x034, rrphi = 0x038, rwphi = 0x03c, axictl = 0x110, dbalo = 0x118,
			dbahi = 0x11c, ffsr = 0x300, ffcr = 0x304, pscr = 0x308;
} // namespace reg
constexpr std::uint32_t capture = 1; /* CTL */
/* STS */
constexpr std::uint32_t full = 1, triggered = 1 << 1, ready = 1 << 2, empty = 1 << 4, memory_error = 1 << 5;
/* FFCR */
constexpr std::uint32_t flush = 1 << 6, stop_on_flush = 1 << 12, stop_on_trigger = 1 << 13;
/* FFSR */
constexpr std::uint32_t stopped = 1 << 1;
constexpr std::uint32_t scatter_gather = 1 << 7; /* AXICTL */

enum class Kind : std::uint8_t { etb = 0, etr = 1, etf = 2 };
enum class Mode : std::uint8_t { circular = 0, software_fifo = 1, hardware_fifo = 2 };

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
		std::uint64_t bytes = 0, discarded = 0, wraps = 0, starts = 0, flushes = 0, errors = 0;
	};

	/* If an ETR has a CATU, the CATU translates the ETR's addresses. */
	Tmc(const tmc::Config &config, GuestMemory &memory, Catu *in_front);
	void set_faults(const Faults &now);
	/* For an ETF: the receiver to which it passes trace on in hardware FIFO mode. */
	void connect(AtbReceiver &to) { next = &to; }
	void connect_from(AtbSender &from) { above = &from; }

	std::size_t receive(std::uint8_t id, std::span<const std::uint8_t> bytes) override;
	void trigger(std::uint8_t id) override;
	void drain() override;

	void was_read(std::uint32_t offset) override;
	bool flushes(std::uint32_t offset, std::uint32_t value) const override
	{
		return offset == tmc::reg::ffcr && (value & tmc::flush) && captures();
	}

	const Counts &statistics() const { return counts; }

private:
	struct Waiting {
		std::uint8_t id;
		std::vector<std::uint8_t> bytes;
	};

	bool put(std::uint32_t offset, std::uint32_t value) override;
	void put_flush_control(std::uint32_t value);
	bool captures() const { return shows(tmc::reg::ctl, tmc::capture) && !is_stopped(); }
	bool is_stopped() const { return shows(tmc::reg::ffsr, tmc::stopped); }
	bool is_fifo() const { return config.kind == tmc::Kind::etf && mode() == tmc::Mode::hardware_fifo; }
	bool in_memory() const { return config.kind == tmc::Kind::etr; }
	tmc::Mode mode() const { return static_cast<tmc::Mode>(read(tmc::reg::mode)); }
	std::uint64_t pair(std::uint32_t low, std::uint32_t high) const
	{
		return read(low) | std::uint64_t{read(high)} << 32;
	}
	void show_pair(std::uint32_t low, std::uint32_t high, std::uint64_t value);

	void start();
	void disable();
	void stop();
	void show_ready();
	void flush();
	void let_through();
	void find_pages();
	void find_scattered_pages();
	std::optional<std::uint64_t> bus_address(std::uint64_t offset) const;
	void write_frames();
	bool store(std::uint64_t offset, std::span<const std::uint8_t> bytes);
	void memory_fails();
	void show_pointers();
	bool has_word() const;
	void show_word();

	const tmc::Config config;
	GuestMemory &guest;
	Catu *const catu;
	AtbReceiver *next = nullptr;
	AtbSender *above = nullptr;
	Formatter formatter;
	std::vector<Waiting> waiting; /* trace in an ETF in hardware FIFO mode */
	std::size_t waiting_bytes = 0;
	std::vector<std::uint8_t> ram;
	std::vector<std::uint64_t> pages; /* the buffer's pages: bus addresses, as read from tables at the start */
	std::vector<std::optional<std::uint64_t>> physical;
	std::uint64_t size = 0, offset = 0; /* in bytes: the buffer's size, and the offset of the next frame */
	std::uint64_t trigger_left = 0;     /* words until the trigger event; 0 if none is pending */
	bool never_ready = false, never_flushed = false;
	std::uint64_t error_every = 0, next_error = UINT64_MAX;
	Counts counts;
};

} // namespace hwsim::arm64

#endif
