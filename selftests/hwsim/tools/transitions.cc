// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hwsim-transitions: checks which packets follow which in traces, against a table that says of each pair in whose traces it is, and why
 * (selftests/hwsim/transitions).
 *
 *   hwsim-transitions TABLE ours|theirs FILE...
 *   hwsim-transitions TABLE silicon [FILE...]
 *
 * FILEs are raw traces: ours, or such as do not come from our encoder: theirs (libipt's own tests) and silicon's. Prints the pairs in the
 * traces that the table does not have for them; for theirs, also the pairs in the table that are not in the traces. Exit status 0 if there
 * are none of either. Left out are packets that may be anywhere: MTC, CYC and PAD; outside of PSB+ also TSC, TMA and CBR. For silicon, also
 * prints which pairs of the table silicon has and we never have, and the reverse, of packets that silicon has.
 */
#include <cstdio>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include "image.h"
#include "transition_table.h"

using namespace hwsim;

namespace
{

std::string name_of(const pt_packet &packet)
{
	static const std::map<int, std::string> names = {{ppt_psb, "PSB"}, {ppt_psbend, "PSBEND"}, {ppt_tsc, "TSC"},
		{ppt_tma, "TMA"}, {ppt_cbr, "CBR"}, {ppt_mtc, "MTC"}, {ppt_cyc, "CYC"}, {ppt_pad, "PAD"},
		{ppt_pip, "PIP"}, {ppt_fup, "FUP"}, {ppt_tip, "TIP"}, {ppt_tip_pge, "TIP.PGE"},
		{ppt_tip_pgd, "TIP.PGD"}, {ppt_tnt_8, "TNT"}, {ppt_tnt_64, "TNT"}, {ppt_ovf, "OVF"},
		{ppt_stop, "TraceStop"}, {ppt_ptw, "PTW"}, {ppt_cfe, "CFE"}, {ppt_evd, "EVD"}, {ppt_vmcs, "VMCS"},
		{ppt_mnt, "MNT"}, {ppt_exstop, "EXSTOP"}, {ppt_mwait, "MWAIT"}, {ppt_pwre, "PWRE"}, {ppt_pwrx, "PWRX"}};
	if (packet.type == ppt_mode)
		return packet.payload.mode.leaf == pt_mol_tsx ? "MODE.TSX" : "MODE.Exec";
	const auto found = names.find(packet.type);
	return found == names.end() ? "other" : found->second;
}

/* Does the next FUP belong to this packet? To MODE.Exec it does, unless MODE.Exec belongs to the TIP that follows. */
bool wants_ip(const pt_packet &packet)
{
	switch (packet.type) {
	case ppt_ptw:
		return packet.payload.ptw.ip;
	case ppt_cfe:
		return packet.payload.cfe.ip;
	case ppt_exstop:
		return packet.payload.exstop.ip;
	case ppt_ovf:
	case ppt_mode:
		return true;
	default:
		return false;
	}
}

/* Is the packet left out? In PSB+ packets of time have a fixed place, so they count there. */
bool of_time(const std::string &name, bool in_psb)
{
	static const std::set<std::string> of_time = {"TSC", "TMA", "CBR"}, anywhere = {"MTC", "CYC", "PAD"};
	return anywhere.contains(name) || (!in_psb && of_time.contains(name));
}

/* Adds the pairs of a trace: from each PSB on, up to a packet that libipt cannot read. With each pair comes the first place where it is. */
void collect(const std::string &path, bool may_end_in_newline, Pairs &pairs)
{
	Bytes trace = read_file(path);
	/* LLVM's traces end in a newline, which would be a TNT. */
	if (may_end_in_newline && !trace.empty() && trace.back() == '\n')
		trace.pop_back();
	if (trace.empty())
		return;
	pt_config config;
	pt_config_init(&config);
	config.begin = trace.data();
	config.end = trace.data() + trace.size();
	const std::unique_ptr<pt_packet_decoder, void (*)(pt_packet_decoder *)> decoder(
		pt_pkt_alloc_decoder(&config), pt_pkt_free_decoder);
	while (pt_pkt_sync_forward(decoder.get()) >= 0) {
		std::string last;
		bool in_psb = false, says_where = false; /* the next FUP belongs to the last packet */
		for (pt_packet packet; pt_pkt_next(decoder.get(), &packet, sizeof packet) >= 0;) {
			std::string name = name_of(packet);
			in_psb = in_psb && name != "PSBEND" && name != "OVF";
			if (of_time(name, in_psb))
				continue;
			if (name == "PSB")
				in_psb = true;
			else if (in_psb)
				name = "+" + name;
			else if (name == "FUP" && says_where)
				name = "IP";
			std::uint64_t offset = 0;
			pt_pkt_get_offset(decoder.get(), &offset);
			if (!last.empty())
				pairs.try_emplace({last, name}, path + " before " + std::to_string(offset));
			last = name;
			says_where = wants_ip(packet) || (says_where && packet.type == ppt_mnt);
		}
	}
}

int run(int argc, char **argv)
{
	const std::string whose = argv[2];
	Pairs pairs;
	for (int i = 3; i < argc; i++)
		collect(argv[i], whose == "silicon", pairs);
	return judge(argv[1], whose, pairs) ? 1 : 0;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 3 || (argc < 4 && std::string(argv[2]) != "silicon")) {
		std::fputs("usage: hwsim-transitions TABLE ours|theirs FILE...\n"
			   "       hwsim-transitions TABLE silicon [FILE...]\n",
			stderr);
		return 2;
	}
	try {
		return run(argc, argv);
	} catch (const std::exception &error) {
		std::fprintf(stderr, "hwsim-transitions: %s\n", error.what());
		return 2;
	}
}
