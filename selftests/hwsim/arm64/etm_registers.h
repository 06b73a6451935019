/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers of a trace unit (Arm ARM, DDI0487, D19.3, "Trace registers"; IHI0064, chapter 7), addressed by their offsets in the memory
 * map; SystemAccess turns system registers into these offsets. The class keeps the values and decides which writes take effect;
 * TraceUnit acts on them.
 *
 * Where a write while the trace unit is not idle is CONSTRAINED UNPREDICTABLE, it is ignored.
 */
#ifndef HWSIM_ARM64_ETM_REGISTERS_H
#define HWSIM_ARM64_ETM_REGISTERS_H

#include <array>
#include <cstdint>
#include <optional>

namespace hwsim::arm64::etm
{

namespace reg
{
constexpr std::uint32_t prgctlr = 0x004, statr = 0x00c, configr = 0x010, auxctlr = 0x018, eventctl0r = 0x020,
			eventctl1r = 0x024, rsr = 0x028, stallctlr = 0x02c, tsctlr = 0x030, syncpr = 0x034,
			ccctlr = 0x038, bbctlr = 0x03c, traceidr = 0x040, victlr = 0x080, viiectlr = 0x084,
			vissctlr = 0x088, seqevr = 0x100, seqrstevr = 0x118, seqstr = 0x11c, cntrldvr = 0x140,
			cntctlr = 0x150, cntvr = 0x160, idr8 = 0x180, imspec0 = 0x1c0, idr0 = 0x1e0, rsctlr = 0x200,
			oslar = 0x300, oslsr = 0x304, acvr = 0x400, acatr = 0x480, cidcvr = 0x600, vmidcvr = 0x640,
			cidcctlr0 = 0x680, vmidcctlr0 = 0x688, claimset = 0xfa0, claimclr = 0xfa4, authstatus = 0xfb8,
			devarch = 0xfbc, devid = 0xfc8, devtype = 0xfcc;
} // namespace reg

namespace bits
{
constexpr std::uint64_t en = 1;                 /* TRCPRGCTLR */
constexpr std::uint64_t idle = 1, pmstable = 2; /* TRCSTATR */
constexpr std::uint64_t bb = 1 << 3, cci = 1 << 4, cid = 1 << 6, vmid = 1 << 7, ts = 1 << 11, rs = 1 << 12,
			vmidopt = 1 << 15; /* TRCCONFIGR; VMIDOPT: the VM identifier is CONTEXTIDR_EL2 */
constexpr std::uint64_t ssstatus = 1 << 9; /* TRCVICTLR */
constexpr unsigned exlevel_ns =
	20; /* TRCVICTLR: bit number for EL0; a set bit excludes an exception level from trace */
constexpr unsigned comparator_exlevel_ns =
	12; /* TRCACATR: bit number for EL0; a set bit excludes a level from comparison */
constexpr std::uint64_t compares_cid = 1 << 2,
			compares_vmid = 1 << 3; /* TRCACATR: also compare with identifier comparator 0, the only one */
constexpr std::uint64_t rldself = 1 << 16, cntchain = 1 << 17; /* TRCCNTCTLR */
constexpr std::uint64_t atb = 1 << 11;                         /* TRCEVENTCTL1R: event 0 is a trigger */
} // namespace bits

/* The features of a trace unit: its identification registers, and accessors for their fields. The default values are an ETE's. */
struct Features {
	std::uint32_t idr0 =
		0x2800'02a1; /* 64-bit timestamps, COMMOPT, one event, return stack, cycle counting, branch broadcasting */
	std::uint32_t idr1 = 0x4100'fff0; /* designed by Arm; ETE, whose version is in TRCDEVARCH */
	std::uint32_t idr2 =
		0x0000'1088; /* 32-bit context and VM identifiers, 64-bit addresses; WFI is not a P0 element */
	std::uint32_t idr3 = 0x0030'0004; /* EL0 and EL1 in Non-secure state; the minimum cycle threshold is 4 */
	std::uint32_t idr4 =
		0x1103'0004; /* four resource selector pairs, four address comparator pairs, one Context ID and one VMID comparator */
	std::uint32_t idr5 =
		0x2847'0000; /* two counters, a sequencer with four states, ATB triggers, 7-bit trace IDs, no external inputs */
	std::uint32_t idr8 = 0;              /* no speculation */
	std::uint32_t devarch = 0x4770'5a13; /* ETE 1.0 */
	std::uint32_t devtype = 0x13;
	std::uint32_t authstatus =
		0x0c; /* non-invasive debug is enabled in Non-secure state, the only one implemented */

	bool is_ete() const { return (devarch & 0xffff) == 0x5a13; }
	/* Does the trace unit have an OS lock of its own (TRCOSLAR)? If not, it follows the processor's. */
	bool has_os_lock() const { return !is_ete(); }
	/* The same trace unit, in a processor that has EL2: TRCIDR3.EXLEVEL_NS, TRCIDR2.VMIDOPT. */
	constexpr Features with_el2() const
	{
		Features with = *this;
		with.idr3 |= 0x0040'0000;
		with.idr2 |= 0x2000'0000;
		return with;
	}
	/* The exception level of the kernel. In a processor with EL2 it is that of a host (HCR_EL2.E2H and TGE), and EL1 is guests'. */
	unsigned kernel_level() const { return has_el2() ? 2 : 1; }
	/* The exception levels of Non-secure state, one bit each. */
	std::uint64_t levels() const { return idr3 >> 20 & 0xf; }
	bool has_el2() const { return levels() >> 2 & 1; }
	/* Does TRFCR_EL1 control which levels may be traced? FEAT_TRF comes with an ETE; the processor of the modelled ETMv4 lacks it. */
	bool has_trace_filter() const { return is_ete(); }
	unsigned address_pairs() const { return idr4 & 15; }
	unsigned selector_pairs() const { return (idr4 >> 16 & 15) + 1; }
	unsigned context_comparators() const { return idr4 >> 24 & 15; }
	unsigned vmid_comparators() const { return idr4 >> 28; }
	unsigned counters() const { return idr5 >> 28 & 7; }
	unsigned sequencer_states() const { return idr5 >> 25 & 7; }
	unsigned least_cycle_threshold() const { return idr3 & 0xfff; }
};

/* An ETMv4.2; the other registers are the same as the ETE's. */
inline constexpr Features etmv4 = {.idr1 = 0x4100'f420, .devarch = 0x4772'4a13};

class Registers
{
public:
	explicit Registers(const Features &which);

	/* Returns nothing if there is no such register or it is write-only. */
	std::optional<std::uint64_t> read(std::uint32_t offset) const;
	/* False if there is no such register or it is read-only. A write that is ignored returns true. */
	bool write(std::uint32_t offset, std::uint64_t value);

	/* The stored value, without what read() does for registers that are computed. */
	std::uint64_t operator[](std::uint32_t offset) const { return values[offset / 4]; }
	bool is_set(std::uint32_t offset, std::uint64_t mask) const { return values[offset / 4] & mask; }
	bool enabled() const { return is_set(reg::prgctlr, bits::en); }
	/* The trace unit changes a register itself. */
	void set(std::uint32_t offset, std::uint64_t value) { values[offset / 4] = value; }
	/* It was powered down: what has a value at reset has that, and everything else some other one. */
	void lose();
	/* Fault: TRCSTATR.IDLE is never set. */
	void set_never_idle(bool now) { never_idle = now; }
	/* Fault: there are no address comparators, whatever TRCIDR4 says. */
	void set_no_comparators(bool now);
	/* OSLSR_EL1.OSLK of the processor has changed. A trace unit with OSLM 0b100 follows it, one with OSLM 0b010 does not. */
	void set_os_lock(bool now) { os_lock = features.has_os_lock() ? os_lock : now; }
	bool os_locked() const { return os_lock; }

	const Features features;

private:
	/* An array of registers of one kind: their number, their distance, and which bits are writable. */
	struct Row {
		std::uint32_t offset;
		unsigned count;
		std::uint32_t stride;
		std::uint64_t mask;
		bool read_only;
	};
	const Row *row_of(std::uint32_t offset) const;

	std::array<Row, 40> rows;
	std::array<std::uint64_t, 0x400> values{};
	std::uint64_t claimed = 0;
	bool os_lock = true; /* at reset */
	bool never_idle = false, no_comparators = false;
};

} // namespace hwsim::arm64::etm

#endif
