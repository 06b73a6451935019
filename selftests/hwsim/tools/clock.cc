// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hwsim-clock: checks the time in a raw trace of guest/moments against what the program read from the TSC, and what CPUID and MSRs say of
 * the clocks.
 *
 *   hwsim-clock RAW ELF ADDRESS-OF-moment() MOMENTS MTC-FREQUENCY RATIO cyc|mtc [ptwrite]
 *
 * MOMENTS is what the program wrote; MTC-FREQUENCY is IA32_RTIT_CTL.MTCFreq, RATIO is MSR_PLATFORM_INFO[15:8]; cyc or mtc: the packets that
 * tell the time between two TSCs. Nothing here comes from the encoder: libipt reads the packets, which are judged by what the SDM says of
 * each (volume 3, "Packet Definitions": TSC, TMA, MTC, CYC, CBR), and libipt tells when moment() was called. Exit status 0: all of that
 * agrees.
 */
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "image.h"

using namespace hwsim;

namespace
{

struct Between {
	std::uint64_t before, after;
};

/* What is known of the clocks, and of the program. */
struct Known {
	std::uint32_t denominator = 0,
		      numerator = 0; /* CPUID 15H: ticks of the crystal, and of the TSC in the same time */
	unsigned mtc_frequency = 0;
	unsigned ratio = 0;
	bool cycles = false, ptwrites = false;
	std::uint64_t moment = 0; /* its address */
	std::vector<Between> times;

	/* Ticks of the TSC from one MTC to the next, rounded up. */
	std::uint64_t period() const
	{
		return ((std::uint64_t{numerator} << mtc_frequency) + denominator - 1) / denominator;
	}
};

class Verdict
{
public:
	void check(bool right, const char *what, std::uint64_t at, std::uint64_t found, std::uint64_t wanted)
	{
		checks++;
		if (right)
			return;
		if (wrong++ < 10)
			std::printf("%s: byte %" PRIu64 ": %" PRIu64 ", not %" PRIu64 "\n", what, at, found, wanted);
	}
	std::size_t checks = 0, wrong = 0;
};

/*
 * Judges packet by packet. TMA tells the last tick of the crystal before a TSC, and how many ticks of the TSC have passed since; an MTC tells
 * such a tick of the crystal; cycles are ticks of the TSC, because CBR says that the core runs at the TSC's ratio. So all three have to tell
 * the same time.
 */
class Packets
{
public:
	Packets(const Known &of, Verdict &into) : known(of), verdict(into) {}

	void judge(Bytes &trace)
	{
		pt_config config;
		pt_config_init(&config);
		config.begin = trace.data();
		config.end = trace.data() + trace.size();
		const std::unique_ptr<pt_packet_decoder, void (*)(pt_packet_decoder *)> decoder(
			pt_pkt_alloc_decoder(&config), pt_pkt_free_decoder);
		pt_packet packet;
		int status = pt_pkt_sync_forward(decoder.get());
		for (; status >= 0; status = pt_pkt_next(decoder.get(), &packet, sizeof packet)) {
			if (offset)
				take(packet);
			pt_pkt_get_offset(decoder.get(), &offset);
		}
		verdict.check(status == -pte_eos, "a packet that libipt cannot read", offset, 0, 0);
	}

	std::size_t ratios = 0, timestamps = 0, alignments = 0, ticks = 0, cycle_counts = 0;

private:
	void take(const pt_packet &packet)
	{
		/* Whatever stopped the clocks, or MTC and CYC, may have changed the ratio, too, so that CBR has to follow TSC. */
		if (packet.type != ppt_tma && packet.type != ppt_cbr && packet.type != ppt_pad)
			verdict.check(!ratio_due, "TSC without CBR", offset, 0, 1);
		switch (packet.type) {
		case ppt_cbr:
			ratios++;
			ratio_due = false;
			verdict.check(packet.payload.cbr.ratio == known.ratio, "CBR, by MSR_PLATFORM_INFO", offset,
				packet.payload.cbr.ratio, known.ratio);
			break;
		case ppt_tsc:
			timestamps++;
			ratio_due = true;
			take(packet.payload.tsc.tsc);
			break;
		case ppt_tma:
			alignments++;
			take(packet.payload.tma);
			break;
		case ppt_mtc:
			ticks++;
			take(packet.payload.mtc);
			break;
		case ppt_cyc:
			cycle_counts++;
			since += packet.payload.cyc.value;
			break;
		case ppt_ovf:
			tick.reset();
			break;
		default:
			break;
		}
	}
	void take(std::uint64_t now)
	{
		verdict.check(now >= tsc, "TSC behind the one before", offset, now, tsc);
		if (tick)
			verdict.check(now >= tick->tsc, "TSC behind the last MTC", offset, now, tick->tsc);
		tsc = now;
	}
	/* Between two ticks of the crystal as many ticks of the TSC pass as CPUID says, except for one that may be rounded away at each end. */
	void take(const pt_packet_tma &tma)
	{
		const Tick here{tsc - tma.fc, tma.ctc};
		verdict.check(tma.fc < known.numerator / known.denominator + 1, "FastCounter beyond a tick", offset,
			tma.fc, known.numerator / known.denominator);
		if (first) {
			const std::uint64_t passed = here.tsc - first->tsc, count = crystal(passed);
			verdict.check(std::uint16_t(first->ctc + count) == here.ctc, "CTC of TMA", offset, here.ctc,
				std::uint16_t(first->ctc + count));
			verdict.check(
				near(passed, of_tsc(count), 1), "FastCounter of TMA", offset, passed, of_tsc(count));
		} else {
			first = here;
		}
		tick = here;
		since = 0;
		from = tsc;
	}
	/* An MTC has bits MTCFreq to MTCFreq + 7 of the crystal's count, at a multiple of the period. */
	void take(const pt_packet_mtc &mtc)
	{
		if (!tick)
			return;
		const unsigned shift = known.mtc_frequency;
		const auto periods = static_cast<std::uint8_t>(mtc.ctc - (tick->ctc >> shift));
		/* No MTC is missing: if any were, there would be the whole time instead. */
		verdict.check(periods == 1, "MTC of another tick than the next", offset, periods, 1);
		const std::uint64_t ctc = ((tick->ctc >> shift) + periods) << shift;
		const Tick here{tick->tsc + of_tsc(ctc - tick->ctc), ctc};
		if (known.cycles)
			verdict.check(
				near(from + since, here.tsc, 2), "cycles until MTC", offset, from + since, here.tsc);
		tick = here;
		from = here.tsc;
		since = 0;
	}

	std::uint64_t crystal(std::uint64_t ticks_of_tsc) const
	{
		return (ticks_of_tsc * known.denominator + known.numerator / 2) / known.numerator;
	}
	std::uint64_t of_tsc(std::uint64_t count) const { return count * known.numerator / known.denominator; }
	static bool near(std::uint64_t a, std::uint64_t b, std::uint64_t most)
	{
		return (a > b ? a - b : b - a) <= most;
	}

	struct Tick {
		std::uint64_t tsc, ctc;
	};
	const Known &known;
	Verdict &verdict;
	std::uint64_t offset = 0;
	bool ratio_due = false; /* CBR has to come */
	std::uint64_t tsc = 0;
	std::optional<Tick> first, tick;
	std::uint64_t from = 0, since = 0; /* a time, and cycles since */
};

/* Judges instruction by instruction: does libipt have each call at the time that the program read? */
class Walk
{
public:
	Walk(const Known &of, Verdict &into) : known(of), verdict(into) {}

	void judge(Bytes &trace, pt_image *image)
	{
		pt_config config;
		pt_config_init(&config);
		config.begin = trace.data();
		config.end = trace.data() + trace.size();
		config.cpuid_0x15_eax = known.denominator;
		config.cpuid_0x15_ebx = known.numerator;
		config.mtc_freq = static_cast<std::uint8_t>(known.mtc_frequency);
		config.nom_freq = static_cast<std::uint8_t>(known.ratio);
		decoder.reset(pt_insn_alloc_decoder(&config));
		if (!decoder || pt_insn_set_image(decoder.get(), image) < 0)
			throw std::runtime_error("libipt: no decoder");
		int status = pt_insn_sync_forward(decoder.get());
		while (status >= 0 && !(status & pts_eos))
			status = status & pts_event_pending ? event() : instruction();
		verdict.check(status >= 0 || status == -pte_eos, pt_errstr(pt_errcode(status)), 0, 0, 0);
		verdict.check(moments == known.times.size(), "calls", 0, moments, known.times.size());
		verdict.check(payloads == (known.ptwrites ? known.times.size() : 0), "PTWRITEs", 0, payloads,
			known.times.size());
	}

	std::size_t moments = 0, payloads = 0;

private:
	int event()
	{
		pt_event one;
		const int status = pt_insn_event(decoder.get(), &one, sizeof one);
		if (status < 0 || one.type != ptev_ptwrite || payloads >= known.times.size())
			return status;
		const std::uint64_t payload = one.variant.ptwrite.payload;
		verdict.check(payload == known.times[payloads].before, "payload", payloads, payload,
			known.times[payloads].before);
		judge(payloads++, one.tsc, "time of a PTWRITE");
		return status;
	}
	int instruction()
	{
		pt_insn one;
		const int status = pt_insn_next(decoder.get(), &one, sizeof one);
		if (status < 0 || one.ip != known.moment || moments >= known.times.size())
			return status;
		std::uint64_t now = 0;
		std::uint32_t lost_mtc, lost_cyc;
		pt_insn_time(decoder.get(), &now, &lost_mtc, &lost_cyc);
		judge(moments++, now, "time of a call");
		return status;
	}
	/*
	 * With cycles the time is between the two that the program read. libipt keeps the ratio of cycles in 256ths, so it may be off by that
	 * part of an MTC period. Without cycles it is the time of the last MTC, less than a period before the clock was last looked at; that
	 * was not before the previous call.
	 */
	void judge(std::size_t n, std::uint64_t now, const char *what)
	{
		const Between &here = known.times[n];
		const std::uint64_t slack = known.period() / 256 + 1;
		const std::uint64_t earliest = known.cycles ? here.before - slack
					       : n          ? known.times[n - 1].before - known.period()
							    : 0;
		const std::uint64_t latest = here.after + (known.cycles ? slack : 0);
		verdict.check(now >= earliest, what, n, now, earliest);
		verdict.check(now <= latest, what, n, now, latest);
	}

	const Known &known;
	Verdict &verdict;
	std::unique_ptr<pt_insn_decoder, void (*)(pt_insn_decoder *)> decoder{nullptr, pt_insn_free_decoder};
};

Known read_known(char **words)
{
	Known known;
	std::ifstream file(words[4]);
	Between one;
	if (!(file >> known.denominator >> known.numerator) || !known.denominator)
		throw std::runtime_error(std::string("nothing in ") + words[4]);
	while (file >> one.before >> one.after)
		known.times.push_back(one);
	known.moment = std::strtoull(words[3], nullptr, 16);
	known.mtc_frequency = static_cast<unsigned>(std::atoi(words[5]));
	known.ratio = static_cast<unsigned>(std::atoi(words[6]));
	known.cycles = words[7] == std::string("cyc");
	known.ptwrites = words[8];
	return known;
}

int run(char **words)
{
	const Known known = read_known(words);
	Bytes trace = read_file(words[1]);
	const Image image = new_image();
	load(image.get(), words[2]);
	Verdict verdict;
	Packets packets(known, verdict);
	packets.judge(trace);
	verdict.check(packets.ratios && packets.timestamps && packets.alignments &&
			      packets.ticks > known.times.size() / 10 && (packets.cycle_counts != 0) == known.cycles,
		"too few packets", 0, packets.ticks, known.times.size() / 10);
	Walk walk(known, verdict);
	walk.judge(trace, image.get());
	std::printf("%zu TSC, %zu TMA, %zu MTC, %zu CYC, %zu CBR, %zu calls, %zu PTWRITEs: %zu checks, %zu wrong\n",
		packets.timestamps, packets.alignments, packets.ticks, packets.cycle_counts, packets.ratios,
		walk.moments, walk.payloads, verdict.checks, verdict.wrong);
	return verdict.wrong ? 1 : 0;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 8) {
		std::fputs(
			"usage: hwsim-clock RAW ELF ADDRESS MOMENTS MTC-FREQUENCY RATIO cyc|mtc [ptwrite]\n", stderr);
		return 2;
	}
	try {
		return run(argv);
	} catch (const std::exception &error) {
		std::fprintf(stderr, "hwsim-clock: %s\n", error.what());
		return 2;
	}
}
