/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes any bytes as a script for a PacketStream, and reads what comes out, which must say the same in the same order. For the
 * property test and the fuzzer.
 */
#ifndef HWSIM_TEST_STREAM_SCRIPT_H
#define HWSIM_TEST_STREAM_SCRIPT_H

#include <span>
#include <string>
#include <vector>

#include "../x86/pt_bits.h"
#include "../x86/pt_stream.h"
#include "ipt_reader.h"

class ManualClock final : public hwsim::x86::Clock
{
public:
	std::uint64_t tsc() override { return now; }
	std::uint64_t now = 0;
};

/* An element of the trace. Conditional branches and compressed RETs are the bits of TNT. */
struct Word {
	enum Kind { outcome, tip, fup, pge, pgd, pgd_ip, mode, cr3, payload, ovf, stop } kind;
	std::uint64_t value;

	bool operator==(const Word &) const = default;
};

class StreamScript
{
public:
	explicit StreamScript(std::span<const std::uint8_t> script) : input(script)
	{
		using namespace hwsim::x86::pt;
		const std::uint64_t ctl = ctl::trace_en | (next() & 1 ? ctl::tsc_en : 0) |
					  (next() & 1 ? ctl::mtc_en : 0) | (next() & 1 ? ctl::cyc_en : 0) |
					  (next() & 1 ? ctl::dis_retc : 0) | std::uint64_t{next() % 4u * 3u} << 14 |
					  std::uint64_t{next() % 14u} << 19;
		compress = !(ctl & ctl::dis_retc);
		stream.pad(next() & 1);
		stream.start(ctl, 0);
	}

	void run()
	{
		sync();
		while (!input.empty())
			step();
		stream.stop();
		take();
	}
	/* Throws std::runtime_error if the trace does not say what was said. */
	void verify() const;

private:
	std::uint8_t next()
	{
		if (input.empty())
			return 0;
		const std::uint8_t byte = input[0];
		input = input.subspan(1);
		return byte;
	}
	/* Addresses near and far, canonical and not. */
	std::uint64_t address()
	{
		const std::uint64_t bases[] = {0x400000, 0x7fff'f7dd'0000, 0xffff'ffff'8100'0000, 0x5555'5555'4000,
			0xffff'8880'0000'0000, 0x1234'0000'0000'0000, 0, 0x7fff'f7de'0000};
		return bases[next() % 8] + next();
	}
	void say(Word::Kind kind, std::uint64_t value = 0) { said.push_back({kind, value}); }
	void take()
	{
		const auto pending = stream.pending();
		trace.insert(trace.end(), pending.begin(), pending.end());
		stream.taken();
	}
	void sync()
	{
		hwsim::x86::pt::SyncState state;
		state.packets_enabled = next() & 1;
		state.ip = address();
		state.cr3 = std::uint64_t{next()} << 12;
		state.with_cr3 = next() & 1;
		stream.sync(state);
		mode = state.packets_enabled ? 1 : -1;
		returns.clear();
	}
	void step();
	void tell_mode(std::uint8_t now)
	{
		if (mode != now)
			say(Word::mode, now);
		mode = now;
	}

	std::span<const std::uint8_t> input;
	ManualClock clock;
	hwsim::x86::pt::PacketStream stream{*hwsim::x86::find_profile("icelake"), clock};
	std::vector<std::uint8_t> trace;
	std::vector<Word> said;
	std::vector<std::uint64_t> returns; /* what a decoder would have on its stack */
	int mode = -1;
	bool compress = true;
};

inline void StreamScript::step()
{
	const std::uint64_t to = address();
	clock.now += next() * (next() & 1 ? 1000 : 1);
	switch (next() % 14) {
	case 0:
	case 1:
	case 2:
		stream.conditional(to & 1);
		say(Word::outcome, to & 1);
		break;
	case 3:
		stream.tip(to);
		say(Word::tip, to);
		break;
	case 4:
		stream.call(to);
		returns.push_back(to);
		if (returns.size() > 64)
			returns.erase(returns.begin());
		break;
	case 5: {
		/* About half of all RETs return to their CALL. */
		const std::uint64_t target = next() & 1 && !returns.empty() ? returns.back() : to;
		stream.ret(target);
		if (compress && !returns.empty() && returns.back() == target) {
			returns.pop_back();
			say(Word::outcome, 1);
		} else {
			returns.clear();
			say(Word::tip, target);
		}
		break;
	}
	case 6:
		stream.fup(to);
		say(Word::fup, to);
		break;
	case 7:
		stream.enable(to, 1);
		tell_mode(1);
		say(Word::pge, to);
		break;
	case 8:
		stream.disable();
		say(Word::pgd);
		returns.clear();
		break;
	case 9:
		stream.disable(to);
		say(Word::pgd_ip, to);
		returns.clear();
		break;
	case 10:
		stream.mode(to & 1 ? 1 : 2);
		tell_mode(to & 1 ? 1 : 2);
		break;
	case 11:
		stream.address_space(to << 12);
		say(Word::cr3, (to << 12) & 0x000f'ffff'ffff'ffe0);
		break;
	case 12:
		stream.ptwrite(to, true, false);
		say(Word::payload, to);
		break;
	case 13:
		if (next() & 1) {
			sync();
		} else {
			stream.tick();
		}
		break;
	}
	take();
}

inline void StreamScript::verify() const
{
	std::vector<Word> heard;
	IpReader ip;
	bool in_sync = false;
	for (const pt_packet &packet : read_packets(trace)) {
		const pt_packet_ip &where = packet.payload.ip;
		switch (packet.type) {
		case ppt_psb:
			in_sync = true;
			ip.reset();
			break;
		case ppt_psbend:
			in_sync = false;
			break;
		case ppt_tnt_8:
		case ppt_tnt_64:
			for (unsigned bit = packet.payload.tnt.bit_size; bit--;)
				heard.push_back({Word::outcome, packet.payload.tnt.payload >> bit & 1});
			break;
		case ppt_tip:
			heard.push_back({Word::tip, ip(where)});
			break;
		case ppt_tip_pge:
			heard.push_back({Word::pge, ip(where)});
			break;
		case ppt_tip_pgd:
			if (where.ipc == pt_ipc_suppressed)
				heard.push_back({Word::pgd, 0});
			else
				heard.push_back({Word::pgd_ip, ip(where)});
			break;
		case ppt_fup: {
			const std::uint64_t at = ip(where);
			if (!in_sync)
				heard.push_back({Word::fup, at});
			break;
		}
		case ppt_mode:
			if (!in_sync)
				heard.push_back({Word::mode, packet.payload.mode.bits.exec.csl ? 1u : 2u});
			break;
		case ppt_pip:
			if (!in_sync)
				heard.push_back({Word::cr3, packet.payload.pip.cr3});
			break;
		case ppt_ptw:
			heard.push_back({Word::payload, packet.payload.ptw.payload});
			break;
		case ppt_pad:
		case ppt_tsc:
		case ppt_tma:
		case ppt_mtc:
		case ppt_cyc:
		case ppt_cbr:
			break;
		default:
			throw std::runtime_error("a packet that nobody sent: " + std::to_string(packet.type));
		}
	}
	/* Only the order of outcomes counts, not how TNTs divide them. */
	for (std::size_t i = 0; i < std::min(heard.size(), said.size()); i++)
		if (!(heard[i] == said[i]))
			throw std::runtime_error("word " + std::to_string(i) + " was not said like that");
	if (heard.size() != said.size())
		throw std::runtime_error(
			"said " + std::to_string(said.size()) + " heard " + std::to_string(heard.size()));
}

#endif
