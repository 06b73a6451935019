// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hwsim-etm-transitions: which packets follow which in traces of ETMv4 and ETE, as OpenCSD's packet processor finds them, against a table
 * (arm64/transitions, transition_table.h).
 *
 *   hwsim-etm-transitions TABLE ours TRUTH-PREFIX.unit RAW-PREFIX...       as the plugin writes them, of each vCPU
 *   hwsim-etm-transitions TABLE theirs|silicon NAME.units...               as selftests/vm/opencsd-tests collects them
 *
 * Time (timestamps, cycle counts) and events stand anywhere and are left out. Exit status 0 if nothing is wrong.
 */
#include <cstdio>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>

#include "etm_sessions.h"
#include "etm_unit.h"
#include "opencsd_reader.h"
#include "transition_table.h"

using namespace hwsim;

namespace
{

/* Nothing of what may stand anywhere, or is none. */
std::string name_of(const EtmPacket &packet)
{
	static const std::map<unsigned, std::string> names = {{ETM4_PKT_I_ASYNC, "A-sync"},
		{ETM4_PKT_I_TRACE_INFO, "TraceInfo"}, {ETM4_PKT_I_TRACE_ON, "TraceOn"},
		{ETM4_PKT_I_OVERFLOW, "Overflow"}, {ETM4_PKT_I_DISCARD, "Discard"}, {ETM4_PKT_I_EXCEPT, "Exception"},
		{ETM4_PKT_I_EXCEPT_RTN, "ExceptionReturn"}, {ETM4_PKT_I_CTXT, "Context"}, {ETM4_PKT_I_Q, "Q"},
		{ETM4_PKT_I_COMMIT, "Commit"}, {ETM4_PKT_I_CANCEL_F1, "Cancel"},
		{ETM4_PKT_I_CANCEL_F1_MISPRED, "Cancel"}, {ETM4_PKT_I_CANCEL_F2, "Cancel"},
		{ETM4_PKT_I_CANCEL_F3, "Cancel"}, {ETM4_PKT_I_MISPREDICT, "Mispredict"},
		{ETE_PKT_I_PE_RESET, "PEReset"}, {ETE_PKT_I_TRANS_ST, "TransactionStart"},
		{ETE_PKT_I_TRANS_COMMIT, "TransactionCommit"}, {ETE_PKT_I_TRANS_FAIL, "TransactionFailure"},
		{ETE_PKT_I_ITE, "Instrumentation"}, {ETE_PKT_I_TS_MARKER, "TimestampMarker"}};
	const unsigned type = packet.type();
	if (const auto found = names.find(type); found != names.end())
		return found->second;
	static const std::set<unsigned> atoms = {ETM4_PKT_I_ATOM_F1, ETM4_PKT_I_ATOM_F2, ETM4_PKT_I_ATOM_F3,
		ETM4_PKT_I_ATOM_F4, ETM4_PKT_I_ATOM_F5, ETM4_PKT_I_ATOM_F6};
	if (atoms.contains(type))
		return "Atom";
	if (type >= ETM4_PKT_I_ADDR_CTXT_L_32IS0 && type <= ETM4_PKT_I_ADDR_CTXT_L_64IS1)
		return "AddressContext";
	if (type == ETM4_PKT_I_ADDR_MATCH || (type >= ETM4_PKT_I_ADDR_S_IS0 && type <= ETM4_PKT_I_ADDR_L_64IS1))
		return "Address";
	if (type >= ETE_PKT_I_SRC_ADDR_MATCH && type <= ETE_PKT_I_SRC_ADDR_L_64IS1)
		return "SourceAddress";
	static const std::set<unsigned> anywhere = {ETM4_PKT_I_TIMESTAMP, ETM4_PKT_I_CCNT_F1, ETM4_PKT_I_CCNT_F2,
		ETM4_PKT_I_CCNT_F3, ETM4_PKT_I_EVENT, ETM4_PKT_I_IGNORE};
	return anywhere.contains(type) || is_bad(packet) ? "" : "other";
}

void collect(const OpenCsd &reader, const std::string &path, Pairs &pairs)
{
	for (const auto &[id, packets] : reader.units()) {
		std::string last;
		for (const EtmPacket &packet : packets) {
			const std::string name = name_of(packet);
			/* What was before is not known, or ended in the middle. */
			if (is_bad(packet))
				last.clear();
			if (name.empty())
				continue;
			if (!last.empty())
				pairs.try_emplace({last, name}, path + " at " + std::to_string(packet.offset));
			last = name;
		}
	}
}

std::vector<std::uint8_t> bytes_of(const std::string &path)
{
	std::ifstream file(path, std::ios::binary);
	if (!file)
		throw std::runtime_error("cannot read " + path);
	return {std::istreambuf_iterator<char>(file), {}};
}

TraceUnit unit_of(const EtmUnit &of)
{
	TraceUnit unit;
	unit.ete = of.is_ete();
	unit.configr = of.configr;
	unit.idr0 = of.idr0;
	unit.idr1 = of.idr1;
	unit.idr2 = of.idr2;
	unit.idr8 = of.idr8;
	unit.devarch = of.devarch;
	unit.id = of.traceid;
	return unit;
}

void collect_ours(const std::string &units, const std::string &raw, Pairs &pairs)
{
	for (unsigned cpu = 0; std::filesystem::exists(raw + "." + std::to_string(cpu)); cpu++) {
		const std::string number = "." + std::to_string(cpu);
		const auto bytes = bytes_of(raw + number);
		if (bytes.empty())
			continue;
		const TraceUnit unit = unit_of(EtmUnit::read(units + number));
		for (const auto session : etm_sessions(bytes)) {
			OpenCsd reader(unit);
			reader.process(session);
			collect(reader, raw + number, pairs);
		}
	}
}

void collect_theirs(const std::string &of_units, Pairs &pairs)
{
	std::filesystem::path trace = of_units;
	const bool framed = std::filesystem::exists(trace.replace_extension(".frames"));
	const auto units = read_units(of_units);
	OpenCsd reader = framed ? OpenCsd() : OpenCsd(units.at(0));
	if (framed)
		for (const TraceUnit &unit : units)
			reader.add(unit);
	else
		trace.replace_extension(".raw");
	try {
		reader.process(bytes_of(trace));
	} catch (const std::runtime_error &) {
		/* A buffer that wrapped ends in the middle. */
	}
	collect(reader, trace, pairs);
}

int run(const std::string &table, const std::string &whose, const std::vector<std::string> &traces)
{
	Pairs pairs;
	if (whose == "ours")
		for (std::size_t i = 1; i < traces.size(); i++)
			collect_ours(traces[0], traces[i], pairs);
	else
		for (const std::string &units : traces)
			collect_theirs(units, pairs);
	return judge(table, whose, pairs) ? 1 : 0;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 4) {
		std::fputs("usage: hwsim-etm-transitions TABLE ours TRUTH-PREFIX.unit RAW-PREFIX...\n"
			   "       hwsim-etm-transitions TABLE theirs|silicon NAME.units...\n",
			stderr);
		return 2;
	}
	try {
		return run(argv[1], argv[2], {argv + 3, argv + argc});
	} catch (const std::exception &error) {
		std::fprintf(stderr, "hwsim-etm-transitions: %s\n", error.what());
		return 2;
	}
}
