/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trbe: the trace buffer of one processor (Arm ARM, DDI0487, D6, "The Trace Buffer Extension"): its registers, and how it stores bytes.
 * Buffer addresses are virtual. They are translated when the buffer is enabled, not when bytes arrive: QEMU translates with the permissions
 * of the current exception level, and only at the moment of enabling is that certain to be the kernel's. The kernel owns the translation
 * regime of the buffer and does not change it.
 *
 * Only self-hosted trace is supported. The errata of some processors are here, too (TrbeErrata).
 */
#ifndef HWSIM_ARM64_TRBE_H
#define HWSIM_ARM64_TRBE_H

#include <cstdint>
#include <optional>
#include <vector>

#include "../base/memory.h"
#include "faults.h"
#include "trace_sink.h"
#include "trbe_errata.h"

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
	/* The physical address to which the kernel may write at this virtual address; nothing if it may not. */
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

	Trbe(GuestMemory &memory, TrbeProcessor &around, const Faults &faults, const TrbeErrata &with = {})
		: guest(memory), processor(around), errata(with)
	{
		set_faults(faults);
	}
	void set_faults(const Faults &now);

	std::uint64_t read(trbe::Reg reg) const;
	/* False if the register is read-only or absent. */
	bool write(trbe::Reg reg, std::uint64_t value);

	/* Its processor was powered down: it is off, and its registers have lost their contents. */
	void lose_context();

	/* A TSB CSYNC, once the trace unit's bytes are here. */
	void synchronize()
	{
		deaf = false;
		unsynchronized = 0;
	}
	/* A context synchronization event: ISB, an exception, a return from one. Trace has become allowed or prohibited, other than by an ERET. Only asked for by an erratum. */
	void context_synchronization() { context_syncs++; }
	void allowance_changed();

	bool enabled() const override { return limitr & trbe::enable; }
	std::size_t take(std::span<const std::uint8_t> bytes) override;
	std::size_t gone() const override { return aborted; }
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
	bool store(std::uint64_t address, std::span<const std::uint8_t> bytes);
	void write_too_much(std::span<const std::uint8_t> newest);
	std::span<const std::uint8_t> corrupted(std::span<const std::uint8_t> bytes);

	GuestMemory &guest;
	TrbeProcessor &processor;
	const TrbeErrata errata;
	std::uint64_t limitr = 0, ptr = 0, baser = 0, sr = 0, mar = 0, trg = 0;
	std::vector<std::optional<std::uint64_t>>
		pages;                   /* translations of the pages from baser on, and of the one behind the limit */
	std::vector<std::uint8_t> wrong; /* erratum: bytes that are stored in the place of what was told */
	bool deaf = false;               /* erratum: ignores writes to its registers */
	/* Errata: context synchronization events since it was enabled; where it began; bytes that a disable would lose now. */
	unsigned context_syncs = 0;
	std::size_t astray = 0; /* erratum: so many bytes more go behind the limit in the place of the base */
	std::uint64_t begin = 0, unsynchronized = 0;
	std::size_t aborted = 0; /* bytes that the last take() wrote in vain */
	std::uint64_t abort_every = 0, next_abort = UINT64_MAX;
	Counts counts;
};

} // namespace hwsim::arm64

#endif
