// SPDX-License-Identifier: GPL-2.0-or-later
/* Every packet of ETMv4 and ETE, read back by OpenCSD's packet processor. Names in quotes are sections of Arm IHI0064. */
#include <catch2/catch_test_macros.hpp>

#include <random>
#include <vector>

#include "../arm64/etm_packet.h"
#include "../tools/opencsd_reader.h"

using namespace hwsim::arm64::etm;

namespace
{

const TraceUnit etm = {}, ete = {.ete = true}, with_q = {.idr0 = 0x2801'cea1};

/* Packets after an A-sync, as OpenCSD reads them. */
class Row
{
public:
	explicit Row(const TraceUnit &of = etm) : unit(of) { add(a_sync()); }
	Row &add(const Packet &packet)
	{
		const auto data = packet.data();
		bytes.insert(bytes.end(), data.begin(), data.end());
		sizes.push_back(packet.size);
		return *this;
	}
	/* All packets but the A-sync; checks that each has the size that was written. */
	std::vector<EtmPacket> read() const
	{
		auto packets = read_packets(bytes, unit);
		REQUIRE(packets.size() == sizes.size());
		for (std::size_t i = 0; i < sizes.size(); i++)
			CHECK(packets[i].bytes.size() == sizes[i]);
		CHECK(packets[0].type() == ETM4_PKT_I_ASYNC);
		packets.erase(packets.begin());
		return packets;
	}

private:
	const TraceUnit &unit;
	std::vector<std::uint8_t> bytes;
	std::vector<std::size_t> sizes;
};

ocsd_etmv4_i_pkt read(const Packet &packet, const TraceUnit &unit = etm)
{
	return Row(unit).add(packet).read().at(0).packet;
}

unsigned type(const Packet &packet, const TraceUnit &unit = etm)
{
	return number(read(packet, unit).type);
}

std::string atoms_in(const ocsd_pkt_atom &atom)
{
	std::string text;
	for (unsigned i = 0; i < atom.num; i++)
		text += atom.En_bits >> i & 1 ? 'E' : 'N';
	return text;
}

} // namespace

TEST_CASE("packets without payload are what OpenCSD takes them for", "[etm]")
{
	CHECK(type(a_sync()) == ETM4_PKT_I_ASYNC);                        /* "Alignment Synchronization packet" */
	CHECK(type(trace_on()) == ETM4_PKT_I_TRACE_ON);                   /* "Trace On packet" */
	CHECK(type(discard()) == ETM4_PKT_I_DISCARD);                     /* "Discard packet" */
	CHECK(type(overflow()) == ETM4_PKT_I_OVERFLOW);                   /* "Overflow packet" */
	CHECK(type(exception_return()) == ETM4_PKT_I_EXCEPT_RTN);         /* "Exception Return packet" */
	CHECK(type(same_context()) == ETM4_PKT_I_CTXT);                   /* "Context packet" */
	CHECK(type(ignore()) == ETM4_PKT_I_IGNORE);                       /* "Ignore packet" */
	CHECK(type(timestamp_marker()) == ETE_PKT_I_TS_MARKER);           /* "Timestamp Marker packet" */
	CHECK(type(transaction_start(), ete) == ETE_PKT_I_TRANS_ST);      /* "Transaction Start packet" */
	CHECK(type(transaction_commit(), ete) == ETE_PKT_I_TRANS_COMMIT); /* "Transaction Commit packet" */
	CHECK(type(transaction_failure(), ete) == ETE_PKT_I_TRANS_FAIL);  /* "Transaction Failure packet" */
	CHECK(type(pe_reset(), ete) == ETE_PKT_I_PE_RESET);               /* "PE Reset packet" */
}

TEST_CASE("what ETE has not got, or ETMv4, is refused", "[etm]")
{
	CHECK_THROWS(read(exception_return(), ete));
	CHECK_THROWS(read(transaction_start()));
	CHECK_THROWS(read(instrumentation(0, 0)));
	CHECK_THROWS(read(q()));
	CHECK_THROWS(read(source_address(AddressForm::exact0, {})));
}

TEST_CASE("Trace Info tells the threshold of cycle counts", "[etm]") /* "Trace Info packet" */
{
	const auto none = read(trace_info({}));
	CHECK(none.trace_info.val == 0);
	CHECK(trace_info({}).size == 3);
	for (const std::uint32_t threshold : {0u, 4u, 127u, 128u, 0xfffu}) {
		const auto counted = read(trace_info({.cycle_threshold = threshold}));
		CHECK(counted.trace_info.bits.cc_enabled);
		CHECK_FALSE(counted.trace_info.bits.in_trans_state);
		CHECK(counted.cc_threshold == threshold);
	}
	CHECK(read(trace_info({.cycle_threshold = {}, .in_transaction = true}), ete).trace_info.bits.in_trans_state);
	const auto both = read(trace_info({.cycle_threshold = 300, .in_transaction = true}), ete);
	CHECK(both.trace_info.bits.in_trans_state);
	CHECK(both.cc_threshold == 300);
}

TEST_CASE("atoms of any pattern come through, the oldest first", "[etm]") /* "Atom packets" */
{
	std::mt19937 random(5);
	std::map<unsigned, unsigned> types;
	for (unsigned round = 0; round < 2000; round++) {
		/* Every other round has long runs of Es. */
		const unsigned count = 1 + random() % most_atoms;
		const std::uint32_t atoms = round % 2 ? random() : random() | random() | random();
		std::string said, heard;
		for (unsigned i = 0; i < count; i++)
			said += atoms >> i & 1 ? 'E' : 'N';
		Row row;
		for (unsigned told = 0; told < count;) {
			const AtomPacket next = atom(atoms >> told, count - told);
			row.add(next.packet());
			told += next.atoms;
		}
		for (const EtmPacket &packet : row.read()) {
			types[packet.type()]++;
			heard += atoms_in(packet.packet.atom);
		}
		REQUIRE(heard == said);
	}
	CHECK(types.size() == 6);
}

TEST_CASE("each format of atoms is used where it is the longest", "[etm]")
{
	struct {
		std::uint32_t atoms;
		unsigned count, type, told;
		const char *section;
	} const cases[] = {
		{0b1, 1, ETM4_PKT_I_ATOM_F1, 1, "Atom Format 1 packet"},
		{0b0, 1, ETM4_PKT_I_ATOM_F1, 1, "Atom Format 1 packet"},
		{0b10, 2, ETM4_PKT_I_ATOM_F2, 2, "Atom Format 2 packet"},
		{0b11, 2, ETM4_PKT_I_ATOM_F2, 2, "Atom Format 2 packet"},
		{0b111, 3, ETM4_PKT_I_ATOM_F3, 3, "Atom Format 3 packet"},
		{0b1001, 4, ETM4_PKT_I_ATOM_F3, 3, "Atom Format 3 packet"},
		{0b1110, 4, ETM4_PKT_I_ATOM_F4, 4, "Atom Format 4 packet"},
		{0b0000, 4, ETM4_PKT_I_ATOM_F4, 4, "Atom Format 4 packet"},
		{0b1010, 4, ETM4_PKT_I_ATOM_F4, 4, "Atom Format 4 packet"},
		{0b0101, 4, ETM4_PKT_I_ATOM_F4, 4, "Atom Format 4 packet"},
		{0b11110, 5, ETM4_PKT_I_ATOM_F5, 5, "Atom Format 5 packet"},
		{0b00000, 5, ETM4_PKT_I_ATOM_F5, 5, "Atom Format 5 packet"},
		{0b01010, 5, ETM4_PKT_I_ATOM_F5, 5, "Atom Format 5 packet"},
		{0b10101, 5, ETM4_PKT_I_ATOM_F5, 5, "Atom Format 5 packet"},
		{0b0111, 4, ETM4_PKT_I_ATOM_F6, 4, "Atom Format 6 packet"},
		{0b1111, 4, ETM4_PKT_I_ATOM_F6, 4, "Atom Format 6 packet"},
		{0x00ff'ffff, 24, ETM4_PKT_I_ATOM_F6, 24, "Atom Format 6 packet"},
		{0x007f'ffff, 24, ETM4_PKT_I_ATOM_F6, 24, "Atom Format 6 packet"},
	};
	for (const auto &c : cases) {
		CAPTURE(c.atoms, c.count, c.section);
		const AtomPacket packet = atom(c.atoms, c.count);
		CHECK(packet.atoms == c.told);
		CHECK(type(packet.packet()) == c.type);
	}
}

TEST_CASE(
	"an address takes the shortest form, and comes through", "[etm]") /* "Address packets", "Address compression" */
{
	struct {
		std::uint64_t last;
		Address address;
		AddressForm form;
		unsigned type, size;
	} const cases[] = {
		{0x40'1000, {0x40'1000}, AddressForm::exact0, ETM4_PKT_I_ADDR_MATCH, 1},
		{0x40'1000, {0x40'1004}, AddressForm::short1, ETM4_PKT_I_ADDR_S_IS0, 2},
		{0x40'1000, {0x40'11fc}, AddressForm::short1, ETM4_PKT_I_ADDR_S_IS0, 2},
		{0x40'1000, {0x40'1200}, AddressForm::short2, ETM4_PKT_I_ADDR_S_IS0, 3},
		{0x40'1000, {0x41'fffc}, AddressForm::short2, ETM4_PKT_I_ADDR_S_IS0, 3},
		{0x40'1000, {0x42'0000}, AddressForm::long32, ETM4_PKT_I_ADDR_L_32IS0, 5},
		{0xffff'8000'0040'1000, {0xffff'8000'ffff'fffc}, AddressForm::long32, ETM4_PKT_I_ADDR_L_32IS0, 5},
		{0x40'1000, {0x1'0040'1000}, AddressForm::long64, ETM4_PKT_I_ADDR_L_64IS0, 9},
		{0x40'1000, {0xffff'8000'1234'5678}, AddressForm::long64, ETM4_PKT_I_ADDR_L_64IS0, 9},
		{0x40'1000, {0x40'1002, InstructionSet::is1}, AddressForm::short1, ETM4_PKT_I_ADDR_S_IS1, 2},
		{0x40'1000, {0x40'10fe, InstructionSet::is1}, AddressForm::short1, ETM4_PKT_I_ADDR_S_IS1, 2},
		{0x40'1000, {0x40'1100, InstructionSet::is1}, AddressForm::short2, ETM4_PKT_I_ADDR_S_IS1, 3},
		{0x40'1000, {0x40'fffe, InstructionSet::is1}, AddressForm::short2, ETM4_PKT_I_ADDR_S_IS1, 3},
		{0x40'1000, {0x41'0000, InstructionSet::is1}, AddressForm::long32, ETM4_PKT_I_ADDR_L_32IS1, 5},
		{0x40'1000, {0x7f'1234'5678, InstructionSet::is1}, AddressForm::long64, ETM4_PKT_I_ADDR_L_64IS1, 9},
		/* The same address in another instruction set is no exact match. */
		{0x40'1000, {0x40'1000, InstructionSet::is1}, AddressForm::short1, ETM4_PKT_I_ADDR_S_IS1, 2},
	};
	for (const auto &c : cases) {
		CAPTURE(c.last, c.address.value);
		AddressHistory history;
		history.add({c.last});
		const AddressForm form = compress(c.address, history);
		CHECK(form == c.form);
		const Packet packet = address(form, c.address);
		CHECK(packet.size == c.size);
		/* The context says 64-bit state; without it, OpenCSD takes the upper half of an address as zero. */
		const auto read =
			Row().add(context({}, 4)).add(address(AddressForm::long64, {c.last})).add(packet).read().at(2);
		CHECK(read.type() == c.type);
		CHECK(read.packet.v_addr.val == c.address.value);
		CHECK(read.packet.v_addr_ISA == static_cast<unsigned>(c.address.set));
	}
}

TEST_CASE("each of the three last addresses is an exact match", "[etm]") /* "Exact Match Address packet" */
{
	AddressHistory history;
	for (const std::uint64_t at : {0x40'1000, 0x50'1000, 0x60'1000})
		history.add({at});
	CHECK(compress({0x60'1000}, history) == AddressForm::exact0);
	CHECK(compress({0x50'1000}, history) == AddressForm::exact1);
	CHECK(compress({0x40'1000}, history) == AddressForm::exact2);
	history.add({0x50'1000});
	CHECK(compress({0x40'1000}, history) == AddressForm::long32);
}

TEST_CASE("addresses at random come through the history of three",
	"[etm]") /* "Address compression", "Exact Match Address packet" */
{
	std::mt19937_64 random(3);
	AddressHistory history;
	Row row(ete);
	row.add(trace_info({})).add(context({}, 4));
	std::vector<Address> said;
	const std::uint64_t bases[] = {0, 0x40'0000, 0x7f'f7dd'0000, 0xffff'8000'1000'0000, 0xffff'8000'9000'0000};
	const std::uint64_t ranges[] = {0x10, 0x200, 0x2'0000, 0x10'0000};
	for (int i = 0; i < 20'000; i++) {
		Address next = {(bases[random() % 5] + random() % ranges[random() % 4]) & ~std::uint64_t{3}};
		if (random() % 8 == 0)
			next = {next.value | 2, InstructionSet::is1};
		const AddressForm form = compress(next, history);
		row.add(random() % 4 ? address(form, next) : source_address(form, next));
		history.add(next);
		said.push_back(next);
	}
	const auto heard = row.read();
	REQUIRE(heard.size() == said.size() + 2);
	std::map<unsigned, unsigned> types;
	for (std::size_t i = 0; i < said.size(); i++) {
		const auto &packet = heard[i + 2].packet;
		REQUIRE(packet.v_addr.val == said[i].value);
		REQUIRE(packet.v_addr_ISA == static_cast<unsigned>(said[i].set));
		types[heard[i + 2].type()]++;
	}
	CHECK(types.size() == 14); /* exact; short, long32 and long64 of two instruction sets; each as a source, too */
}

TEST_CASE("Trace Info resets the history of addresses to zero", "[etm]") /* "Trace Info packet" */
{
	const auto packets = Row().add(address(AddressForm::long64, {0xffff'8000'1234'5678}))
				     .add(trace_info({}))
				     .add(address(AddressForm::exact2, {0}))
				     .add(address(compress({0x1234}, {}), {0x1234}))
				     .read();
	CHECK(packets[2].packet.v_addr.val == 0);
	CHECK(packets[3].packet.v_addr.val == 0x1234);
	CHECK(packets[3].bytes.size() == 3);
}

TEST_CASE("a context says level, security, identifiers", "[etm]") /* "Context packet", "Address with Context packets" */
{
	for (unsigned bits = 0; bits < 128; bits++) {
		Context said;
		said.level = bits & 3;
		said.sf = bits & 4;
		said.ns = bits & 8;
		said.nse = bits & 16;
		if (bits & 32)
			said.vmid = 0x8765'4321;
		if (bits & 64)
			said.context_id = 0xdead'beef;
		const Address at = {0xffff'8000'1234'5678};
		const Packet packets[] = {context(said, 4), address_with_context(AddressForm::long64, at, said, 4),
			address_with_context(AddressForm::long32, {0x1234'5678}, said, 4),
			address_with_context(AddressForm::long64, {at.value, InstructionSet::is1}, said, 4),
			address_with_context(AddressForm::long32, {0x1234'567a, InstructionSet::is1}, said, 4)};
		const unsigned types[] = {ETM4_PKT_I_CTXT, ETM4_PKT_I_ADDR_CTXT_L_64IS0, ETM4_PKT_I_ADDR_CTXT_L_32IS0,
			ETM4_PKT_I_ADDR_CTXT_L_64IS1, ETM4_PKT_I_ADDR_CTXT_L_32IS1};
		const std::uint64_t addresses[] = {0, at.value, 0x1234'5678, at.value, 0x1234'567a};
		for (int i = 0; i < 5; i++) {
			const auto heard = read(packets[i], ete);
			CHECK(number(heard.type) == types[i]);
			CHECK(heard.context.EL == said.level);
			CHECK(heard.context.SF == said.sf);
			CHECK(heard.context.NS == said.ns);
			CHECK(heard.context.NSE == said.nse);
			CHECK(heard.context.updated_v == said.vmid.has_value());
			if (said.vmid)
				CHECK(heard.context.VMID == *said.vmid);
			CHECK(heard.context.updated_c == said.context_id.has_value());
			if (said.context_id)
				CHECK(heard.context.ctxtID == *said.context_id);
			if (i)
				CHECK(heard.v_addr.val == addresses[i]);
		}
	}
	TraceUnit short_vmid = etm;
	short_vmid.idr2 = 0x488;
	const auto heard = read(context({.level = 0, .vmid = 0xab, .context_id = 0x1234}, 1), short_vmid);
	CHECK(heard.context.VMID == 0xab);
	CHECK(heard.context.ctxtID == 0x1234);
}

TEST_CASE("exceptions of all types come through, and whether they are at a target", "[etm]") /* "Exception packet" */
{
	for (const Exception type : {Exception::debug_halt, Exception::call, Exception::trap, Exception::system_error,
		     Exception::instruction_debug, Exception::data_debug, Exception::alignment,
		     Exception::instruction_fault, Exception::data_fault, Exception::irq, Exception::fiq})
		for (const bool target : {false, true})
			for (const TraceUnit &unit : {etm, ete}) {
				const auto heard = read(exception(type, target), unit);
				CHECK(number(heard.type) == ETM4_PKT_I_EXCEPT);
				CHECK(heard.exception_info.exceptionType == static_cast<unsigned>(type));
				CHECK(heard.exception_info.addr_interp == (target ? 2 : 1));
			}
}

TEST_CASE("a timestamp has as many bytes as differ", "[etm]") /* "Timestamp packet" */
{
	std::uint64_t last = 0;
	Row row;
	row.add(trace_info({}));
	std::vector<std::uint64_t> said;
	std::mt19937_64 random(9);
	for (int i = 0; i < 500; i++) {
		const std::uint64_t next = last ^ (random() >> random() % 64);
		row.add(timestamp(next, last));
		said.push_back(last = next);
	}
	const auto heard = row.read();
	for (std::size_t i = 0; i < said.size(); i++)
		REQUIRE(heard[i + 1].packet.ts.timestamp == said[i]);
	CHECK(timestamp(0x1234'5678, 0x1234'5678).size == 2);
	CHECK(timestamp(0x1234'567f, 0x1234'5670).size == 2);
	CHECK(timestamp(0x80, 0).size == 3);
	CHECK(timestamp(std::uint64_t{1} << 55, 0).size == 9);
	CHECK(timestamp(std::uint64_t{1} << 56, 0).size == 10);
}

TEST_CASE("a timestamp may tell cycles, too", "[etm]")
{
	for (const std::uint32_t cycles : {0u, 1u, 127u, 128u, 0x3fffu, 0x4000u, 0xfffu}) {
		TraceUnit wide = etm;
		wide.idr2 |= 0x1000'0000; /* CCSIZE: 20 bits */
		const auto heard = read(timestamp(0x1234'5678'9abc, 0, cycles), wide);
		CHECK(heard.ts.timestamp == 0x1234'5678'9abc);
		CHECK(heard.cycle_count == cycles);
	}
}

TEST_CASE("cycles above the threshold take the shortest format", "[etm]") /* "Cycle Count packets" */
{
	struct {
		std::uint32_t above;
		unsigned type, size;
	} const cases[] = {
		{0, ETM4_PKT_I_CCNT_F3, 1},
		{3, ETM4_PKT_I_CCNT_F3, 1},
		{4, ETM4_PKT_I_CCNT_F2, 2},
		{15, ETM4_PKT_I_CCNT_F2, 2},
		{16, ETM4_PKT_I_CCNT_F1, 2},
		{127, ETM4_PKT_I_CCNT_F1, 2},
		{128, ETM4_PKT_I_CCNT_F1, 3},
		{0x4000, ETM4_PKT_I_CCNT_F1, 4},
		{most_cycles, ETM4_PKT_I_CCNT_F1, 4},
	};
	for (const auto &c : cases) {
		const Packet packet = cycle_count(c.above);
		CHECK(packet.size == c.size);
		const auto heard = Row().add(trace_info({.cycle_threshold = 100})).add(packet).read().at(1);
		CHECK(heard.type() == c.type);
		CHECK(heard.packet.cycle_count == 100 + c.above);
	}
	const auto unknown = Row().add(trace_info({.cycle_threshold = 100})).add(cycle_count_unknown()).read().at(1);
	CHECK(unknown.type() == ETM4_PKT_I_CCNT_F1);
	CHECK(unknown.packet.cycle_count == 0);
}

TEST_CASE("events are of four", "[etm]") /* "Event packet" */
{
	for (std::uint8_t events = 1; events < 16; events++) {
		const auto heard = read(event(events));
		CHECK(number(heard.type) == ETM4_PKT_I_EVENT);
		CHECK(heard.event_val == events);
	}
}

TEST_CASE("what a program says comes through", "[etm]") /* ETE, "Instrumentation packet" */
{
	const auto heard = read(instrumentation(1, 0x1122'3344'5566'7788), ete);
	CHECK(number(heard.type) == ETE_PKT_I_ITE);
	CHECK(heard.ite_pkt.el == 1);
	CHECK(heard.ite_pkt.value == 0x1122'3344'5566'7788);
}

TEST_CASE("Q elements say how many instructions and where to", "[etm]") /* "Q packets" */
{
	CHECK_FALSE(read(q(), with_q).Q_pkt.count_present);
	for (const std::uint32_t count : {1u, 127u, 128u, 0xffff'ffffu}) {
		const auto counted = read(q(count), with_q);
		CHECK(counted.Q_pkt.count_present);
		CHECK_FALSE(counted.Q_pkt.addr_present);
		CHECK(counted.Q_pkt.q_count == count);
		const AddressForm forms[] = {
			AddressForm::exact0, AddressForm::short1, AddressForm::short2, AddressForm::long32};
		const std::uint64_t addresses[] = {0x40'1000, 0x40'1004, 0x40'8004, 0x7654'3210};
		for (int i = 0; i < 4; i++)
			for (const InstructionSet set : {InstructionSet::is0, InstructionSet::is1}) {
				if (i == 0 && set == InstructionSet::is1)
					continue;
				const Address to = {addresses[i], set};
				const auto heard = Row(with_q)
							   .add(address(AddressForm::long64, {0x40'1000}))
							   .add(q(count, forms[i], to))
							   .read()
							   .at(1)
							   .packet;
				CHECK(heard.Q_pkt.addr_present);
				CHECK(heard.Q_pkt.q_count == count);
				CHECK(heard.v_addr.val == to.value);
			}
	}
}
