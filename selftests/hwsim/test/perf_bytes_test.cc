// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packets as bytes, against the table of perf's own test of its decoder (tools/perf/arch/x86/tests/intel-pt-test.c), whose authors
 * have the hardware. The table is the kernel's: it is extracted from Debian's linux-source when this is built, and is not in this
 * tree.
 */
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "../x86/pt_packet.h"

using namespace hwsim::x86::pt;

namespace
{

/* The names that the table uses. */
enum Type {
	INTEL_PT_PAD,
	INTEL_PT_TNT,
	INTEL_PT_TIP,
	INTEL_PT_TIP_PGE,
	INTEL_PT_TIP_PGD,
	INTEL_PT_FUP,
	INTEL_PT_PIP,
	INTEL_PT_MODE_EXEC,
	INTEL_PT_MODE_TSX,
	INTEL_PT_TRACESTOP,
	INTEL_PT_CBR,
	INTEL_PT_TSC,
	INTEL_PT_MTC,
	INTEL_PT_TMA,
	INTEL_PT_CYC,
	INTEL_PT_VMCS,
	INTEL_PT_OVF,
	INTEL_PT_PSB,
	INTEL_PT_PSBEND,
	INTEL_PT_MNT,
	INTEL_PT_PTWRITE,
	INTEL_PT_PTWRITE_IP,
	INTEL_PT_EXSTOP,
	INTEL_PT_EXSTOP_IP,
	INTEL_PT_MWAIT,
	INTEL_PT_PWRE,
	INTEL_PT_PWRX,
	INTEL_PT_BBP,
	INTEL_PT_BIP,
	INTEL_PT_BEP,
	INTEL_PT_BEP_IP,
	INTEL_PT_CFE,
	INTEL_PT_CFE_IP,
	INTEL_PT_EVD,
};
enum { INTEL_PT_BLK_4_CTX = 1, INTEL_PT_BLK_8_CTX };

struct Row {
	std::size_t size;
	std::uint8_t bytes[16];
	int context;
	struct {
		int type;
		int count;
		std::uint64_t payload;
	} packet;
	int context_then;
	int context_unchanged;
};

const Row rows[] = {
#include "perf_packets.inc"
	{},
};

/* The packet as we write it; none if we do not: long TNT if a short one would do, NR because the machine runs no VMX guests. */
std::optional<Packet> written(const Row &row)
{
	const int count = row.packet.count;
	const std::uint64_t payload = row.packet.payload;
	switch (row.packet.type) {
	case INTEL_PT_TNT:
		if (row.size > 1 && count <= static_cast<int>(short_tnt_bits))
			return {};
		return tnt(payload >> (64 - count), static_cast<unsigned>(count));
	case INTEL_PT_TIP:
		return ip(IpKind::tip, static_cast<IpBytes>(count), payload);
	case INTEL_PT_TIP_PGE:
		return ip(IpKind::tip_pge, static_cast<IpBytes>(count), payload);
	case INTEL_PT_TIP_PGD:
		return ip(IpKind::tip_pgd, static_cast<IpBytes>(count), payload);
	case INTEL_PT_FUP:
		return ip(IpKind::fup, static_cast<IpBytes>(count), payload);
	case INTEL_PT_PIP:
		return payload & 1 ? std::nullopt : std::optional(pip(payload << 4));
	case INTEL_PT_MODE_EXEC:
		return mode_exec(static_cast<std::uint8_t>(count));
	case INTEL_PT_TRACESTOP:
		return trace_stop();
	case INTEL_PT_CBR:
		return cbr(static_cast<std::uint8_t>(payload));
	case INTEL_PT_TSC:
		return tsc(payload);
	case INTEL_PT_MTC:
		return mtc(static_cast<std::uint8_t>(payload));
	case INTEL_PT_TMA:
		return tma(static_cast<std::uint16_t>(payload), static_cast<std::uint16_t>(count));
	case INTEL_PT_CYC:
		return cyc(payload);
	case INTEL_PT_OVF:
		return overflow();
	case INTEL_PT_PSB:
		return psb();
	case INTEL_PT_PSBEND:
		return psbend();
	case INTEL_PT_PTWRITE:
	case INTEL_PT_PTWRITE_IP:
		return ptwrite(payload, count, row.packet.type == INTEL_PT_PTWRITE_IP);
	case INTEL_PT_CFE:
	case INTEL_PT_CFE_IP:
		return control_flow_event(static_cast<ControlFlowEvent>(count), static_cast<std::uint8_t>(payload),
			row.packet.type == INTEL_PT_CFE_IP);
	default:
		return {};
	}
}

} // namespace

TEST_CASE("packets are the bytes that perf's own test has for them")
{
	if (std::size(rows) == 1)
		SKIP("built without the kernel's sources");
	std::set<int> types;
	for (const Row &row : rows) {
		const auto packet = row.size ? written(row) : std::nullopt;
		if (!packet)
			continue;
		CAPTURE(row.packet.type, row.packet.count, row.packet.payload);
		const auto bytes = packet->data();
		CHECK(std::vector(bytes.begin(), bytes.end()) == std::vector(row.bytes, row.bytes + row.size));
		types.insert(row.packet.type);
	}
	/* All that we write except EVD: the table has none of its types that we write. */
	CHECK(types.size() == 20);
}
