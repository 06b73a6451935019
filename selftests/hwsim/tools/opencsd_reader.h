/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OpenCSD over bytes in memory: its packet processor, and its decoder over a program that is in memory, too. */
#ifndef HWSIM_TOOLS_OPENCSD_READER_H
#define HWSIM_TOOLS_OPENCSD_READER_H

#include <opencsd/c_api/opencsd_c_api.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "enumerator.h"

/* What a trace unit says of itself, which its packets depend on. */
struct TraceUnit {
	bool ete = false;
	std::uint32_t configr = 0;
	std::uint32_t idr0 =
		0x2800'0ea1; /* COMMOPT, 64-bit timestamps, return stack, four events, cycles, branch broadcast */
	std::uint32_t idr1 = 0x4100'f460;    /* ETMv4.6 */
	std::uint32_t idr2 = 0x0000'1088;    /* context and VM identifiers of 32 bits, 64-bit addresses */
	std::uint32_t idr8 = 0;              /* no speculation */
	std::uint32_t devarch = 0x4773'5a13; /* ETE 1.3 */
	std::uint8_t id = 0x10;
};

struct EtmPacket {
	ocsd_etmv4_i_pkt packet;
	std::size_t offset = 0; /* within the trace of this unit, or of the frames that it came in */
	std::vector<std::uint8_t> bytes;

	unsigned type() const { return number(packet.type); }
};

/* Those of a trace that selftests/vm/opencsd-tests has collected. */
inline std::vector<TraceUnit> read_units(const std::string &path)
{
	std::ifstream file(path);
	std::vector<TraceUnit> units;
	for (std::string line; std::getline(file, line);) {
		std::istringstream words(line);
		TraceUnit unit;
		std::string type;
		std::uint32_t id = 0;
		words >> type >> std::hex >> unit.idr0 >> unit.idr1 >> unit.idr2 >> unit.idr8 >> unit.devarch >>
			unit.configr >> id;
		unit.ete = type == "ete";
		unit.id = static_cast<std::uint8_t>(id);
		units.push_back(unit);
	}
	return units;
}

/* Bytes in, packets or elements out. Throws what OpenCSD does not like. */
class OpenCsd
{
public:
	using Packets = std::vector<EtmPacket>;

	/* Of one unit, whose trace is in no frames. */
	explicit OpenCsd(const TraceUnit &unit, bool decode = false) : OpenCsd(OCSD_TRC_SRC_SINGLE)
	{
		add(unit, decode);
	}
	/* Of units whose trace is in frames. */
	OpenCsd() : OpenCsd(OCSD_TRC_SRC_FRAME_FORMATTED) {}

	void add(const TraceUnit &unit, bool decode = false)
	{
		std::uint8_t id = 0;
		const int flags = decode ? OCSD_CREATE_FLG_FULL_DECODER : OCSD_CREATE_FLG_PACKET_PROC;
		if (unit.ete && decode) {
			const ocsd_ete_cfg config = {unit.idr0, unit.idr1, unit.idr2, unit.idr8, unit.devarch,
				unit.configr, unit.id, ARCH_AA64, profile_CortexA};
			need(ocsd_dt_create_decoder(tree.get(), OCSD_BUILTIN_DCD_ETE, flags, &config, &id));
		} else {
			/* The C interface has no packets of ETE, but the processor of packets is one for both: by version. */
			const std::uint32_t ete = 0x500 | (unit.devarch >> 12 & 0xf0);
			const std::uint32_t idr1 = unit.ete ? (unit.idr1 & ~0xff0u) | ete : unit.idr1;
			const ocsd_etmv4_cfg config = {unit.idr0, idr1, unit.idr2, unit.idr8, 0, 0, 0, 0, 0,
				unit.configr, unit.id, ARCH_AA64, profile_CortexA};
			need(ocsd_dt_create_decoder(tree.get(), OCSD_BUILTIN_DCD_ETMV4I, flags, &config, &id));
		}
		if (!decode)
			need(ocsd_dt_attach_packet_callback(tree.get(), id, OCSD_C_API_CB_PKT_MON,
				reinterpret_cast<void *>(hear_packet), &read[id]));
	}
	/* For a decoder: the program. */
	void program(std::uint64_t address, std::span<const std::uint8_t> code)
	{
		need(ocsd_dt_add_buffer_mem_acc(
			tree.get(), address, OCSD_MEM_SPACE_ANY, code.data(), static_cast<std::uint32_t>(code.size())));
		need(ocsd_dt_set_gen_elem_outfn(tree.get(), hear_element, &elements_read));
	}
	/* All of the trace. */
	void process(std::span<const std::uint8_t> bytes)
	{
		std::size_t done = 0;
		while (done < bytes.size()) {
			std::uint32_t used = 0;
			const auto answer = ocsd_dt_process_data(tree.get(), OCSD_OP_DATA, done,
				static_cast<std::uint32_t>(bytes.size() - done), bytes.data() + done, &used);
			if (answer != OCSD_RESP_CONT || !used)
				throw std::runtime_error("OpenCSD: " + last_error() + " near " + std::to_string(done));
			done += used;
		}
		if (ocsd_dt_process_data(tree.get(), OCSD_OP_EOT, 0, 0, nullptr, nullptr) != OCSD_RESP_CONT)
			throw std::runtime_error("OpenCSD: " + last_error() + " at the end");
	}
	/* By trace identifier. */
	const std::map<std::uint8_t, Packets> &units() const { return read; }
	const std::vector<ocsd_generic_trace_elem> &elements() const { return elements_read; }

private:
	explicit OpenCsd(ocsd_dcd_tree_src_t source)
	{
		[[maybe_unused]] static const auto silent = ocsd_def_errlog_init(OCSD_ERR_SEV_NONE, 0);
		tree.reset(ocsd_create_dcd_tree(source, OCSD_DFRMTR_FRAME_MEM_ALIGN));
		if (!tree)
			throw std::runtime_error("OpenCSD: no decoder");
	}
	static std::string last_error()
	{
		ocsd_trc_index_t index = 0;
		std::uint8_t channel = 0;
		char text[256] = "";
		ocsd_get_last_err(&index, &channel, text, sizeof text);
		return text;
	}
	static void need(ocsd_err_t error)
	{
		if (error != OCSD_OK)
			throw std::runtime_error("OpenCSD: error " + std::to_string(error) + ": " + last_error());
	}
	static void hear_packet(const void *to, ocsd_datapath_op_t op, ocsd_trc_index_t index, const void *packet,
		std::uint32_t size, const std::uint8_t *bytes)
	{
		if (op != OCSD_OP_DATA)
			return;
		auto &packets = *static_cast<Packets *>(const_cast<void *>(to));
		packets.push_back({*static_cast<const ocsd_etmv4_i_pkt *>(packet), index, {bytes, bytes + size}});
	}
	static ocsd_datapath_resp_t hear_element(
		const void *to, ocsd_trc_index_t, std::uint8_t, const ocsd_generic_trace_elem *element)
	{
		static_cast<std::vector<ocsd_generic_trace_elem> *>(const_cast<void *>(to))->push_back(*element);
		return OCSD_RESP_CONT;
	}
	struct Destroy {
		void operator()(dcd_tree_handle_t handle) const { ocsd_destroy_dcd_tree(handle); }
	};

	std::unique_ptr<std::remove_pointer_t<dcd_tree_handle_t>, Destroy> tree;
	std::map<std::uint8_t, Packets> read;
	std::vector<ocsd_generic_trace_elem> elements_read;
};

/* Has OpenCSD found it bad, or not understood where it begins? */
inline bool is_bad(const EtmPacket &packet)
{
	return packet.type() >= ETM4_PKT_I_NOTSYNC && packet.type() < ETE_PKT_I_PE_RESET;
}

/* All packets of a trace that begins with an A-sync. */
inline std::vector<EtmPacket> read_packets(std::span<const std::uint8_t> bytes, const TraceUnit &unit)
{
	OpenCsd reader(unit);
	reader.process(bytes);
	const auto &units = reader.units();
	if (units.empty())
		return {};
	for (const EtmPacket &packet : units.begin()->second)
		if (is_bad(packet))
			throw std::runtime_error("OpenCSD: a bad packet at " + std::to_string(packet.offset));
	return units.begin()->second;
}

#endif
