// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Traces made by others, some by silicon: OpenCSD's own snapshots, extracted from Debian's package of its sources when the tests
 * are run (selftests/vm/opencsd-tests), and not in this tree. Each packet that we write must have the same bytes.
 */
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include "../arm64/etm_packet.h"
#include "../tools/opencsd_reader.h"

using namespace hwsim::arm64::etm;

namespace
{

using Bytes = std::vector<std::uint8_t>;

std::filesystem::path tests()
{
	if (!std::filesystem::exists(OPENCSD_TESTS))
		SKIP("built without OpenCSD's sources");
	return OPENCSD_TESTS;
}

/* Writes the packets of one trace unit once more, in their order. */
class Writer
{
public:
	explicit Writer(const TraceUnit &of) : unit(of) {}

	/* The packet as we write it; none if we do not write such packets. */
	std::optional<Packet> written(const EtmPacket &read)
	{
		const ocsd_etmv4_i_pkt &packet = read.packet;
		switch (read.type()) {
		case ETM4_PKT_I_ASYNC:
			return a_sync();
		case ETM4_PKT_I_TRACE_INFO:
			history = {};
			time = 0;
			/* We have no P0 elements for loads and stores, which one model's trace has; and models leave out zeros. */
			if (packet.trace_info.bits.p0_load || packet.trace_info.bits.p0_store || !(read.bytes[1] & 1))
				return {};
			if (packet.trace_info.bits.cc_enabled)
				return trace_info({packet.cc_threshold, packet.trace_info.bits.in_trans_state != 0});
			return trace_info({{}, packet.trace_info.bits.in_trans_state != 0});
		case ETM4_PKT_I_TRACE_ON:
			return trace_on();
		case ETM4_PKT_I_OVERFLOW:
			return overflow();
		case ETM4_PKT_I_DISCARD:
			return discard();
		case ETM4_PKT_I_EXCEPT:
			return exception(static_cast<Exception>(packet.exception_info.exceptionType),
				packet.exception_info.addr_interp == 2);
		case ETM4_PKT_I_EXCEPT_RTN:
			return exception_return();
		case ETE_PKT_I_TRANS_FAIL:
			return transaction_failure();
		case ETE_PKT_I_PE_RESET:
			return pe_reset();
		case ETE_PKT_I_TRANS_ST:
			return transaction_start();
		case ETE_PKT_I_TRANS_COMMIT:
			return transaction_commit();
		case ETE_PKT_I_TS_MARKER:
			return timestamp_marker();
		case ETE_PKT_I_ITE:
			return instrumentation(packet.ite_pkt.el, packet.ite_pkt.value);
		case ETM4_PKT_I_EVENT:
			return event(packet.event_val);
		case ETM4_PKT_I_ATOM_F1:
		case ETM4_PKT_I_ATOM_F2:
		case ETM4_PKT_I_ATOM_F3:
		case ETM4_PKT_I_ATOM_F4:
		case ETM4_PKT_I_ATOM_F5:
		case ETM4_PKT_I_ATOM_F6:
			return atom(packet.atom.En_bits, packet.atom.num).packet();
		case ETM4_PKT_I_CTXT:
			return packet.context.updated ? context(context_of(packet), vmid_bytes()) : same_context();
		case ETM4_PKT_I_CCNT_F1:
		case ETM4_PKT_I_CCNT_F2:
		case ETM4_PKT_I_CCNT_F3:
			if (!(unit.idr0 >> 29 & 1)) /* COMMOPT */
				return {};
			if (read.bytes[0] == 0x0f)
				return cycle_count_unknown();
			return cycle_count(packet.cycle_count - packet.cc_threshold);
		case ETM4_PKT_I_TIMESTAMP: {
			const std::uint64_t last = time;
			time = packet.ts.timestamp;
			if (unit.configr & 1 << 4)
				return {};
			/* Only if it has as many bytes as ours: some write more than necessary. */
			return read.bytes.size() == timestamp(time, last).size ? std::optional(timestamp(time, last))
									       : std::nullopt;
		}
		case ETM4_PKT_I_Q:
			return q_written(packet);
		default:
			return address_written(read);
		}
	}
	std::size_t shortest = 0, longer = 0; /* addresses */

private:
	unsigned vmid_bytes() const { return unit.idr2 >> 10 & 0x1f; }
	static Context context_of(const ocsd_etmv4_i_pkt &packet)
	{
		Context context;
		context.level = packet.context.EL;
		context.sf = packet.context.SF;
		context.ns = packet.context.NS;
		context.nse = packet.context.NSE;
		if (packet.context.updated_v)
			context.vmid = packet.context.VMID;
		if (packet.context.updated_c)
			context.context_id = packet.context.ctxtID;
		return context;
	}
	static Address address_of(const ocsd_etmv4_i_pkt &packet)
	{
		return {packet.v_addr.val, static_cast<InstructionSet>(packet.v_addr_ISA)};
	}
	std::optional<Packet> q_written(const ocsd_etmv4_i_pkt &packet)
	{
		if (!packet.Q_pkt.count_present)
			return q();
		if (!packet.Q_pkt.addr_present)
			return q(packet.Q_pkt.q_count);
		const Address to = address_of(packet);
		const AddressForm form = compress(to, history);
		history.add(to);
		return form == AddressForm::long64 ? std::nullopt : std::optional(q(packet.Q_pkt.q_count, form, to));
	}
	/* Counts whether theirs has the shortest form, which we choose by the same history; writes theirs. */
	std::optional<Packet> address_written(const EtmPacket &read)
	{
		const Address to = address_of(read.packet);
		const bool source =
			read.type() >= ETE_PKT_I_SRC_ADDR_MATCH && read.type() <= ETE_PKT_I_SRC_ADDR_L_64IS1;
		const bool plain = read.type() == ETM4_PKT_I_ADDR_MATCH ||
				   (read.type() >= ETM4_PKT_I_ADDR_S_IS0 && read.type() <= ETM4_PKT_I_ADDR_L_64IS1);
		const bool with_context =
			read.type() >= ETM4_PKT_I_ADDR_CTXT_L_32IS0 && read.type() <= ETM4_PKT_I_ADDR_CTXT_L_64IS1;
		if (!source && !plain && !with_context)
			return {};
		const AddressForm shortest_form = with_context ? compress_long(to, history) : compress(to, history);
		history.add(to);
		const auto in = [&](AddressForm form) {
			if (source)
				return source_address(form, to);
			if (plain)
				return address(form, to);
			return address_with_context(form, to, context_of(read.packet), vmid_bytes());
		};
		if (in(shortest_form).size == read.bytes.size()) {
			shortest++;
			return in(shortest_form);
		}
		longer++;
		for (const AddressForm form :
			{AddressForm::short1, AddressForm::short2, AddressForm::long32, AddressForm::long64})
			if ((!with_context || form >= AddressForm::long32) && in(form).size == read.bytes.size())
				return in(form);
		return in(shortest_form);
	}

	const TraceUnit &unit;
	AddressHistory history;
	std::uint64_t time = 0;
};

} // namespace

TEST_CASE("packets are the bytes that silicon makes of them", "[etm]")
{
	std::set<unsigned> types;
	std::size_t packets = 0, others = 0, shortest = 0, longer = 0;
	for (const auto &file : std::filesystem::directory_iterator(tests())) {
		if (file.path().extension() != ".units")
			continue;
		const auto units = read_units(file.path());
		auto trace = file.path();
		const bool framed = std::filesystem::exists(trace.replace_extension(".frames"));
		std::ifstream bytes_of(framed ? trace : trace.replace_extension(".raw"), std::ios::binary);
		const Bytes bytes{std::istreambuf_iterator<char>(bytes_of), {}};
		CAPTURE(trace);
		OpenCsd reader = framed ? OpenCsd() : OpenCsd(units.at(0));
		if (framed)
			for (const TraceUnit &unit : units)
				reader.add(unit);
		try {
			reader.process(bytes);
		} catch (const std::runtime_error &) {
			/* A buffer that wrapped ends in the middle. */
		}
		for (const auto &[id, of_unit] : reader.units()) {
			const auto unit = std::ranges::find(units, id, &TraceUnit::id);
			Writer writer(framed ? *unit : units[0]);
			for (const EtmPacket &packet : of_unit) {
				if (is_bad(packet))
					continue;
				const auto ours = writer.written(packet);
				if (!ours) {
					others++;
					continue;
				}
				CAPTURE(id, packet.offset, packet.type());
				const auto data = ours->data();
				CHECK(Bytes(data.begin(), data.end()) == packet.bytes);
				types.insert(packet.type());
				packets++;
			}
			shortest += writer.shortest;
			longer += writer.longer;
		}
	}
	CAPTURE(packets, others, types.size(), shortest, longer);
	CHECK(packets > 100'000);
	CHECK(types.size() >= 25);
	CHECK(others < packets / 100);
	CHECK(longer < shortest / 100);
}
