/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trbe: the trace buffer of one processor (Arm ARM, DDI0487, D6, "The Trace Buffer Extension"): its registers, and how it stores bytes.
 * Buffer addresses are virtual. They are translated when the buffer is enabled, not when bytes arrive: QEMU translates with the permissions
 * of the current exception level, and only at the moment of enabling is that certain to be EL1. EL1 owns the translation regime of the
 * buffer and does not change it.
 *
 * The buffer is owned by EL1 (there is no EL2 here); only self-hosted trace is supported.
 */
#ifndef HWSIM_ARM64_TRBE_H
#define HWSIM_ARM64_TRBE_H

#include <cstdint>
#include <optional>
#include <vector>

#include "../base/memory.h"
#include "faults.h"
#include "trace_sink.h"

namespace hwsim::arm64
{

namespace trbe
{
/* The registers, numbered by op2 of their system register encodings. */
enum class Reg : std::uint8_t { limitr, ptr, baser, sr, mar, mpam, trg, idr };

/* TRBLIMITR_EL1 */
constexpr std::uint64_t enable = 1;
enum class Mode : std::uint8_t { fill = 0, wrap = 1, circular = 3 };
enum class TriggerMode : std::uint8_t { stop = 0, interrupt = 1, ignore = 3 };
/* TRBSR_EL1 */
constexpr std::uint64_t irq = 1 << 22, trg = 1 << 21, wrap = 1 << 20, ea = 1 << 18, stopped = 1 << 17;
constexpr unsigned event_class = 26;
constexpr std::uint64_t data_abort = 0x24, implementation_defined = 0x1f;
constexpr std::uint64_t filled = 1, triggered = 2;              /* BSC, if the event class is 0 */
constexpr std::uint64_t no_translation = 0x07, external = 0x10; /* FSC of a data abort */
} // namespace trbe

/* What the trace buffer requires of its processor. */
class TrbeProcessor
{
public:
	/* The physical address to which EL1 may write at this virtual address; nothing if it may not. */
	virtual std::optional<std::uint64_t> translate(std::uint64_t address) = 0;
	/* The maintenance interrupt is asserted or deasserted. */
	virtual void maintenance_interrupt(bool asserted) = 0;

protected:
	~TrbeProcessor() = default;
};

class Trbe final : public TraceSink
{
public:
	struct Counts {
		std::uint64_t bytes = 0, wraps = 0, triggers = 0, faults = 0, starts = 0;
	};

	Trbe(GuestMemory &memory, TrbeProcessor &around, const Faults &faults) : guest(memory), processor(around)
	{
		set_faults(faults);
	}
	void set_faults(const Faults &now);

	std::uint64_t read(trbe::Reg reg) const;
	/* False if the register is read-only or absent. */
	bool write(trbe::Reg reg, std::uint64_t value);

	bool enabled() const override { return limitr & trbe::enable; }
	std::size_t take(std::span<const std::uint8_t> bytes) override;
	void trigger() override;

	const Counts &statistics() const { return counts; }

private:
	/* The smallest granule of the architecture; larger granules are multiples of it. */
	static constexpr std::uint64_t page = 4096;

	std::uint64_t limit() const { return limitr & ~(page - 1); }
	trbe::Mode mode() const { return static_cast<trbe::Mode>(limitr >> 1 & 3); }
	trbe::TriggerMode trigger_mode() const { return static_cast<trbe::TriggerMode>(limitr >> 3 & 3); }
	bool accepts() const { return enabled() && !(sr & trbe::stopped); }
	void start();
	void set_sr(std::uint64_t value);
	void stop(std::uint64_t cause);
	void fault(std::uint64_t status, std::uint64_t more = 0);
	void wrap();
	void trigger_event();
	std::size_t room(std::size_t wanted) const;

	GuestMemory &guest;
	TrbeProcessor &processor;
	std::uint64_t limitr = 0, ptr = 0, baser = 0, sr = 0, mar = 0, trg = 0;
	std::vector<std::optional<std::uint64_t>> pages; /* translations of the pages from baser on */
	std::uint64_t abort_every = 0, next_abort = UINT64_MAX;
	Counts counts;
};

} // namespace hwsim::arm64

#endif
