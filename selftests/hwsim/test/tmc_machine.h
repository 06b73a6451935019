/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A TMC with its memory, for tests: sends it trace, and reads what it has captured. */
#ifndef HWSIM_TEST_TMC_MACHINE_H
#define HWSIM_TEST_TMC_MACHINE_H

#include <catch2/catch_test_macros.hpp>

#include <map>

#include "../arm64/tmc.h"
#include "../tools/deframer.h"
#include "memory_fake.h"

namespace hwsim::arm64::tmc
{

inline constexpr std::uint64_t page = 4096;
inline constexpr std::uint8_t id = 0x10;
/* What drivers/hwtracing/coresight/coresight-tmc-etr.c programs: EnFt, EnTI, FOnFlIn, FOnTrigEvt, TrigOnTrigIn. */
inline constexpr std::uint32_t formats = 0x133;

/* The bytes of a source, extracted from frames by OpenCSD, which shares no code with the formatter. */
inline std::vector<std::uint8_t> of_source(std::span<const std::uint8_t> frames, std::uint8_t which)
{
	hwsim::Deframer reader;
	reader.process(frames);
	return reader.of(which);
}

struct TmcMachine {
	explicit TmcMachine(Config config = {}, bool with_catu = false)
		: kind(config.kind), memory(256 * page), catu(memory), unit(config, memory, with_catu ? &catu : nullptr)
	{
		CHECK(unit.write(management::lar, management::unlock));
		CHECK(catu.write(management::lar, management::unlock));
	}
	void set(std::uint32_t offset, std::uint32_t value) { CHECK(unit.write(offset, value)); }
	/* Starts the capture to the RAM, or by an ETR to a buffer of this many bytes in memory. */
	void start(Mode mode, std::uint64_t at = 0, std::uint64_t size = 0)
	{
		set(reg::mode, static_cast<std::uint32_t>(mode));
		if (kind == Kind::etr) {
			set(reg::rsz, static_cast<std::uint32_t>(size / 4));
			set(reg::dbalo, static_cast<std::uint32_t>(at));
			set(reg::dbahi, static_cast<std::uint32_t>(at >> 32));
		}
		set(reg::ffcr, formats);
		set(reg::ctl, capture);
	}
	void start(std::uint64_t at, std::uint64_t size) { start(Mode::circular, at, size); }
	void stop_by_flush()
	{
		set(reg::ffcr, formats | stop_on_flush), set(reg::ffcr, formats | stop_on_flush | tmc::flush);
	}
	/* Sends this many more bytes of a source, each different from its neighbours. */
	void trace(std::size_t size, std::uint8_t of = id)
	{
		std::vector<std::uint8_t> bytes;
		for (std::size_t i = 0; i < size; i++)
			bytes.push_back(
				static_cast<std::uint8_t>(sent[of].size() * 7 + i * 7 + (sent[of].size() + i) / 256));
		CHECK(unit.receive(of, bytes) == size);
		sent[of].insert(sent[of].end(), bytes.begin(), bytes.end());
	}
	std::uint64_t rwp() const { return unit.read(reg::rwp) | std::uint64_t{unit.read(reg::rwphi)} << 32; }
	std::uint64_t rrp() const { return unit.read(reg::rrp) | std::uint64_t{unit.read(reg::rrphi)} << 32; }
	bool has(std::uint32_t bit) const { return unit.read(reg::sts) & bit; }
	std::span<const std::uint8_t> bytes(std::uint64_t at, std::uint64_t size) const
	{
		return std::span(memory.bytes).subspan(at, size);
	}
	/* All words that the RAM holds. */
	std::vector<std::uint8_t> read_ram()
	{
		std::vector<std::uint8_t> all;
		for (std::uint32_t word = unit.read(reg::rrd); all.size() < (1 << 20); word = unit.read(reg::rrd)) {
			const std::uint32_t at = unit.read(reg::rrp);
			unit.was_read(reg::rrd);
			if (at == unit.read(reg::rrp))
				break;
			for (unsigned n = 0; n < 4; n++)
				all.push_back(static_cast<std::uint8_t>(word >> 8 * n));
		}
		return all;
	}

	const Kind kind;
	FakeMemory memory;
	Catu catu;
	Tmc unit;
	std::map<std::uint8_t, std::vector<std::uint8_t>> sent;
};

} // namespace hwsim::arm64::tmc

#endif
