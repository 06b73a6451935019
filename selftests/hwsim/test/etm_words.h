/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trace of an ETMv4 or ETE as short words, one for each packet that OpenCSD reads. */
#ifndef HWSIM_TEST_ETM_WORDS_H
#define HWSIM_TEST_ETM_WORDS_H

#include <sstream>

#include "../tools/opencsd_reader.h"

class EtmWords
{
public:
	explicit EtmWords(const TraceUnit &of) : unit(of) {}

	/* The words of the bytes that have come since the last call. */
	std::string add(std::span<const std::uint8_t> bytes)
	{
		trace.insert(trace.end(), bytes.begin(), bytes.end());
		const auto packets = read_packets(trace, unit);
		std::string text;
		for (; told < packets.size(); told++)
			text += word(packets[told]) + " ";
		return text;
	}

private:
	static std::string word(const EtmPacket &packet)
	{
		std::ostringstream text;
		text << std::hex;
		const unsigned type = packet.type();
		if (packet.packet.atom.num) {
			for (unsigned i = 0; i < packet.packet.atom.num; i++)
				text << (packet.packet.atom.En_bits >> i & 1 ? 'E' : 'N');
			return text.str();
		}
		switch (type) {
		case ETM4_PKT_I_ASYNC:
			return "sync";
		case ETM4_PKT_I_TRACE_INFO:
			return "info";
		case ETM4_PKT_I_TRACE_ON:
			return "on";
		case ETM4_PKT_I_OVERFLOW:
			return "overflow";
		case ETM4_PKT_I_EXCEPT:
			return packet.packet.exception_info.addr_interp == 2 ? "exception-at-target" : "exception";
		case ETM4_PKT_I_EXCEPT_RTN:
			return "return";
		case ETM4_PKT_I_CTXT:
			return "context";
		case ETM4_PKT_I_TIMESTAMP:
			return "time";
		case ETE_PKT_I_TS_MARKER:
			return "marker";
		case ETM4_PKT_I_CCNT_F1:
		case ETM4_PKT_I_CCNT_F2:
		case ETM4_PKT_I_CCNT_F3:
			text << "cycles:" << std::dec << packet.packet.cycle_count;
			return text.str();
		case ETM4_PKT_I_ADDR_CTXT_L_32IS0:
		case ETM4_PKT_I_ADDR_CTXT_L_64IS0:
			text << packet.packet.v_addr.val << "+context";
			return text.str();
		case ETM4_PKT_I_ADDR_MATCH:
			text << "=";
			[[fallthrough]];
		case ETM4_PKT_I_ADDR_S_IS0:
		case ETM4_PKT_I_ADDR_L_32IS0:
		case ETM4_PKT_I_ADDR_L_64IS0:
			text << packet.packet.v_addr.val;
			return text.str();
		default:
			text << "packet-" << type;
			return text.str();
		}
	}

	TraceUnit unit;
	std::vector<std::uint8_t> trace;
	std::size_t told = 0;
};

#endif
