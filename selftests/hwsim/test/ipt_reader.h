/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libipt's packet decoder for bytes in memory, and the state from which IPs are reconstructed. */
#ifndef HWSIM_TEST_IPT_READER_H
#define HWSIM_TEST_IPT_READER_H

#include <intel-pt.h>

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "../tools/enumerator.h"

/* All packets from the first byte on; throws libipt's message if one is bad. */
inline std::vector<pt_packet> read_packets(std::span<const std::uint8_t> bytes)
{
	if (bytes.empty())
		return {};
	std::vector<std::uint8_t> copy(bytes.begin(), bytes.end());
	pt_config config;
	pt_config_init(&config);
	config.begin = copy.data();
	config.end = copy.data() + copy.size();
	const std::unique_ptr<pt_packet_decoder, void (*)(pt_packet_decoder *)> decoder(
		pt_pkt_alloc_decoder(&config), pt_pkt_free_decoder);
	if (!decoder)
		throw std::runtime_error("libipt: no decoder");
	pt_pkt_sync_set(decoder.get(), 0);
	std::vector<pt_packet> packets;
	for (;;) {
		pt_packet packet;
		const int status = pt_pkt_next(decoder.get(), &packet, sizeof packet);
		if (status == -pte_eos)
			return packets;
		if (status < 0) {
			std::uint64_t offset = 0;
			pt_pkt_get_offset(decoder.get(), &offset);
			throw std::runtime_error(std::string("libipt: ") + pt_errstr(pt_errcode(status)) + " at " +
						 std::to_string(offset));
		}
		packets.push_back(packet);
	}
}

/* SDM, "FUP/TIP IP Reconstruction". */
class IpReader
{
public:
	std::uint64_t operator()(const pt_packet_ip &packet)
	{
		const std::uint64_t low16 = 0xffff, low32 = 0xffff'ffff, low48 = 0xffff'ffff'ffff;
		switch (packet.ipc) {
		case pt_ipc_suppressed:
			break;
		case pt_ipc_update_16:
			last = (last & ~low16) | packet.ip;
			break;
		case pt_ipc_update_32:
			last = (last & ~low32) | packet.ip;
			break;
		case pt_ipc_update_48:
			last = (last & ~low48) | packet.ip;
			break;
		case pt_ipc_sext_48:
			last = static_cast<std::uint64_t>(static_cast<std::int64_t>(packet.ip << 16) >> 16);
			break;
		case pt_ipc_full:
			last = packet.ip;
			break;
		}
		return last;
	}
	void reset() { last = 0; }

private:
	std::uint64_t last = 0;
};

#endif
