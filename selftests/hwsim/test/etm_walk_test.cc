// SPDX-License-Identifier: GPL-2.0-or-later
/* What a trace unit says of itself, and how a decoder that knows only that reads its trace. */
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <filesystem>
#include <unistd.h>
#include <utility>

#include "../arm64/trace_unit.h"
#include "../tools/etm_walk.h"

using namespace hwsim;
using namespace hwsim::arm64;

namespace
{

constexpr std::uint64_t program = 0x40'1000, function = 0x40'1020, kernel = 0xffff'8000'8001'0000;

/* Surroundings in which nothing happens. */
struct Surroundings final : TraceSink, TraceProcessor, arm64::Clock {
	bool enabled() const override { return true; }
	std::size_t take(std::span<const std::uint8_t> bytes) override { return bytes.size(); }
	void trigger() override {}
	std::uint32_t context_id() override { return 0; }
	etm::Exception exception_type(std::uint64_t) override { return etm::Exception::irq; }
	void begins(std::uint64_t) override {}
	std::uint64_t counter() override { return 0; }
};

EtmUnit unit_of(const etm::Features &features)
{
	Surroundings around;
	const Faults faults;
	TraceUnit unit(features, around, around, around, faults);
	unit.write(etm::reg::configr, etm::bits::rs);
	unit.write(etm::reg::traceidr, 0x12);
	unit.write(etm::reg::prgctlr, 1);
	return EtmUnit::parse(unit.description());
}

/* An ELF file with code for this address. */
class Code
{
public:
	Code(std::uint64_t address, const std::vector<std::uint32_t> &words)
	{
		Elf64_Ehdr header{};
		header.e_phoff = sizeof header;
		header.e_phnum = 1;
		Elf64_Phdr segment{};
		segment.p_type = PT_LOAD;
		segment.p_flags = PF_X;
		segment.p_offset = sizeof header + sizeof segment;
		segment.p_vaddr = address;
		segment.p_filesz = words.size() * sizeof words[0];
		std::ofstream file(path, std::ios::binary);
		file.write(reinterpret_cast<const char *>(&header), sizeof header);
		file.write(reinterpret_cast<const char *>(&segment), sizeof segment);
		file.write(
			reinterpret_cast<const char *>(words.data()), static_cast<std::streamsize>(segment.p_filesz));
	}
	~Code() { std::filesystem::remove(path); }
	Code(const Code &) = delete;

	const std::string path = std::filesystem::temp_directory_path() /
				 ("etm_walk_test." + std::to_string(getpid()) + "." + std::to_string(made++));

private:
	static inline unsigned made = 0;
};

struct Heard final : EtmListener {
	void instruction(std::uint64_t) override { instructions++; }
	void step(std::uint64_t from, std::uint64_t to) override { steps.emplace_back(from, to); }
	void left(std::uint64_t) override {}
	void error(const std::string &what) override { errors.push_back(what); }

	std::vector<std::pair<std::uint64_t, std::uint64_t>> steps;
	std::vector<std::string> errors;
	unsigned instructions = 0;
};

/* A function is called; an interrupt comes after its return, and another one at the end of the trace. */
std::vector<std::uint8_t> trace_by(bool ete)
{
	etm::PacketStream stream;
	etm::Context user, of_kernel;
	of_kernel.level = 1;
	etm::StreamConfig config;
	config.ete = ete;
	config.return_stack = true;
	stream.start(config);
	stream.enable({program}, user);
	stream.not_taken();
	stream.call({function}, {program + 16});
	stream.ret({program + 16});
	stream.exception(etm::Exception::irq, {program + 20});
	stream.handler({kernel}, of_kernel);
	stream.exception_return({program + 20}, user);
	stream.sync({program + 20}, user);
	stream.direct({program + 28});
	stream.exception(etm::Exception::irq, {program + 32});
	stream.disable();
	stream.stop();
	const auto told = stream.pending();
	return {told.begin(), told.end()};
}

} // namespace

TEST_CASE("A trace unit says what a decoder has to know", "[etm-walk]")
{
	const EtmUnit ete = unit_of({}), etmv4 = unit_of(etm::etmv4);
	CHECK(ete.is_ete());
	CHECK_FALSE(ete.is_etmv4());
	CHECK(etmv4.is_etmv4());
	CHECK_FALSE(etmv4.is_ete());
	CHECK(ete.configr == etm::bits::rs);
	CHECK(ete.traceid == 0x12);
	CHECK(ete.idr0 == etm::Features{}.idr0);
	CHECK(ete.idr1 == etm::Features{}.idr1);
	CHECK(ete.idr2 == etm::Features{}.idr2);
	CHECK(ete.idr8 == etm::Features{}.idr8);
	CHECK(etmv4.idr1 == etm::etmv4.idr1);
	CHECK(etmv4.devarch == etm::etmv4.devarch);
}

TEST_CASE("What is no trace unit that we know is refused", "[etm-walk]")
{
	const std::string all =
		"configr 0x1 idr0 0x1 idr1 0x4100f420 idr2 0x1 idr8 0x0 devarch 0x47724a13 traceid 0x10";
	CHECK_NOTHROW(EtmUnit::parse(all));
	CHECK_THROWS(EtmUnit::parse("0x1"));
	CHECK_THROWS(EtmUnit::parse(all.substr(0, all.find(" traceid"))));
	CHECK_THROWS(EtmUnit::parse(
		"configr 0x1 idr0 0x1 idr1 0x4100f320 idr2 0x1 idr8 0x0 devarch 0x47724a13 traceid 0x10"));
	CHECK_THROWS(EtmUnit::parse(
		"configr 0x1 idr0 0x1 idr1 0x4100f420 idr2 0x1 idr8 0x0 devarch 0x47724a14 traceid 0x10"));
	CHECK_THROWS(EtmUnit::read("/nonexistent"));
}

TEST_CASE("A trace of an ETE or an ETMv4 is the steps that were done", "[etm-walk]")
{
	constexpr std::uint32_t nop = 0xd503'201f, not_equal = 0x5400'0041, call = 0x9400'0005, ret = 0xd65f'03c0,
				eret = 0xd69f'03e0, forward = 0x1400'0002;
	const Code of_program(program, {nop, not_equal, nop, call, nop, forward, nop, nop, nop, ret}),
		of_kernel(kernel, {nop, nop, eret});
	const etm::Features features = GENERATE(etm::Features{}, etm::etmv4);
	/* A full buffer cut the packets of the last interrupt, so many bytes before their end; another session follows. */
	const std::size_t cut = GENERATE(range(0, 5));
	CAPTURE(features.is_ete(), cut);
	Heard once;
	once.steps = {{0, program}, {program + 12, function}, {function + 4, program + 16}, {program + 20, kernel},
		{kernel + 8, program + 20}, {program + 20, program + 28}, {program + 32, 0}};
	auto expected = once.steps;
	auto trace = trace_by(features.is_ete());
	if (cut) {
		const auto next = trace;
		trace.resize(trace.size() - cut);
		trace.insert(trace.end(), next.begin(), next.end());
		expected.resize(expected.size() - 2);
		expected.emplace_back(program + 20, 0);
		expected.insert(expected.end(), once.steps.begin(), once.steps.end());
	}
	Heard heard;
	EtmWalk walk(heard, unit_of(features));
	walk.load(of_program.path);
	walk.load(of_kernel.path);
	walk.run(trace);
	CHECK(heard.errors == std::vector<std::string>{});
	CHECK(heard.steps == expected);
	CHECK(heard.instructions == (cut ? 11 + 12 : 12));
}
