// SPDX-License-Identifier: GPL-2.0-only
/* Address filters: exactly the part of the synthetic unit's program that they name is traced, whatever happens meanwhile. */
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <format>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract/tasks.h"
#include "shared/fixture.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

constexpr std::uint64_t kernel_program = 0xffffffff82000000;
constexpr std::uint64_t program_page = 0x600000000000; /* far from where the kernel puts mappings of its own choice */

void need_filters()
{
	need_synthetic();
	if (!pmu().has_field("program"))
		SKIP("this unit has no program");
}

/* The blocks of a program that lie wholly or partly in bytes [first, last] are traced, or stop the trace. */
struct Part {
	unsigned first, last;
	bool stop = false;
};

Program program_of(std::initializer_list<Part> parts)
{
	Program program;
	bool only = false;

	for (const Part &part : parts)
		only |= !part.stop;
	program.fill(only ? Block::left_out : Block::traced);
	for (bool stops : {false, true})
		for (const Part &part : parts)
			if (part.stop == stops)
				for (unsigned ip = 0; ip < 4096; ip += AUXPMU_PROGRAM_BLOCK)
					if (part.first <= ip && ip <= part.last)
						program[ip / AUXPMU_PROGRAM_BLOCK] =
							stops ? Block::stops : Block::traced;
	return program;
}

void expect_program(Tracer &tracer, const Program &program)
{
	auto expectation = make_expectation(tracer.setup);

	expectation.program = program;
	tracer.expect(expectation);
}

/* A file of one page, removed with its owner. */
class Library
{
public:
	Library()
	{
		file = UniqueFd(::mkstemp(path));
		if (!file || ::ftruncate(file.get(), 4096))
			throw std::runtime_error("no temporary file");
	}
	~Library() { ::unlink(path); }

	/* Maps it as code and returns where. */
	Mapping map(std::uint64_t at = program_page) const
	{
		void *where = ::mmap(reinterpret_cast<void *>(at), 4096, PROT_READ | PROT_EXEC,
			MAP_PRIVATE | MAP_FIXED_NOREPLACE, file.get(), 0);

		if (where == MAP_FAILED)
			throw std::runtime_error("the library cannot be mapped");
		return Mapping(where, 4096);
	}
	std::string filter(unsigned offset, unsigned bytes) const
	{
		return std::format("filter {:#x}/{:#x}@{}", offset, bytes, path);
	}

private:
	char path[32] = "/tmp/auxpmu-filter-XXXXXX";
	UniqueFd file;
};

} // namespace

TEST_CASE("What filters name of the kernel is traced, all of it and nothing else", "[synth][filters]")
{
	need_filters();
	static const struct {
		std::string text;
		std::initializer_list<Part> parts;
	} cases[] = {
		{"filter 0xffffffff82000000/0x1000", {{0, 4095}}},
		{"filter 0xffffffff82000100/0x80", {{0x100, 0x17f}}},
		{"filter 0xffffffff82000ff0/0x1000", {{0xff0, 0xfff}}},
		{"filter 0xffffffff82000010/16,filter 0xffffffff82000200/1,filter 0xffffffff82000f00/0x100",
			{{0x10, 0x1f}, {0x200, 0x200}, {0xf00, 0xfff}}},
		{"stop 0xffffffff82000800/0x10", {{0x800, 0x80f, true}}},
		{"filter 0xffffffff82000000/0x400,stop 0xffffffff82000200/0x10", {{0, 0x3ff}, {0x200, 0x20f, true}}},
	};
	for (unsigned output : every_output())
		for (const auto &one : cases) {
			Setup setup;

			setup.output = output;
			setup.program = kernel_program;
			INFO(one.text);
			Tracer tracer(setup);
			Program program = program_of(one.parts);
			expect_program(tracer, program);
			tracer.event.set_filter(one.text).value();
			/* Starts and stops lie anywhere in the program. */
			for (unsigned round = 0; round < 8; round++) {
				tracer.enable();
				tracer.pump(64 * 200, 64 * 50);
				tracer.pump(64 * 37, 64 * 37);
				tracer.disable();
				tracer.drain();
			}
			tracer.finish();

			/* The test executes the program step by step: exactly this many records are expected. */
			std::uint64_t step = 0, expected = 0;
			for (unsigned round = 0; round < 8; round++) {
				bool halted = false;

				step++; /* a START record is always made */
				expected++;
				for (unsigned n = 0; n < 237; n++) {
					Block block = program[step++ % AUXPMU_PROGRAM_BLOCKS];

					halted |= block == Block::stops;
					expected += !halted && block == Block::traced;
				}
			}
			CHECK(tracer.verifier.totals().records == expected);
		}
}

TEST_CASE("Trace begins at an address and ends at another, and again", "[synth][filters]")
{
	need_filters();
	struct Point {
		unsigned at;
		bool starts;
	};
	static const struct {
		std::string text;
		std::initializer_list<Point> points;
		unsigned first = 0, last = 4095; /* of what else has to be */
	} cases[] = {
		{"start 0xffffffff82000100,stop 0xffffffff82000180", {{0x100, true}, {0x180, false}}},
		{"start 0xffffffff82000208", {{0x200, true}}},
		{"stop 0xffffffff82000300", {{0x300, false}}},
		{"start 0xffffffff82000800,stop 0xffffffff82000100", {{0x800, true}, {0x100, false}}},
		{"start 0xffffffff82000100,stop 0xffffffff82000180,filter 0xffffffff82000140/0x80",
			{{0x100, true}, {0x180, false}}, 0x140, 0x1bf},
		{"stop 0xffffffff82000100,start 0xffffffff82000100", {{0x100, false}, {0x100, true}}},
	};
	constexpr unsigned blocks = 300, size = AUXPMU_PROGRAM_BLOCK * AUXPMU_PROGRAM_BLOCKS;
	for (unsigned output : every_output())
		for (const auto &one : cases) {
			Setup setup;

			setup.output = output;
			setup.program = kernel_program;
			INFO(describe(setup) << ", " << one.text);
			Tracer tracer(setup);
			tracer.event.set_filter(one.text).value();
			std::vector<std::uint32_t> expected, found;
			std::uint32_t ip = 0;
			for (unsigned round = 0; round < 3; round++) {
				bool on = std::ranges::none_of(one.points, &Point::starts);

				tracer.enable();
				tracer.emit_all(setup.record * blocks);
				tracer.disable();
				/* The START record stands for a block, which no filter looks at. */
				ip = (ip + AUXPMU_PROGRAM_BLOCK) % size;
				for (unsigned n = 0; n < blocks; n++, ip = (ip + AUXPMU_PROGRAM_BLOCK) % size) {
					for (const Point &point : one.points)
						if (point.at == ip)
							on = point.starts;
					if (on && one.first <= ip && ip <= one.last)
						expected.push_back(ip);
				}
			}
			Spans spans = tracer.aux.readable();
			REQUIRE(spans.second.empty());
			for (auto rest = spans.first; !rest.empty(); rest = rest.subspan(setup.record)) {
				auxpmu_record record;

				std::memcpy(&record, rest.data(), sizeof(record));
				if (record.kind == AUXPMU_RECORD_DATA)
					found.push_back(record.ip);
			}
			REQUIRE(!expected.empty());
			CHECK(found == expected);
		}
}

TEST_CASE("More filters than the unit has, or ones it cannot have, are refused, and the old ones stay",
	"[synth][filters]")
{
	need_filters();
	Setup setup;

	setup.program = kernel_program;
	Tracer tracer(setup);
	expect_program(tracer, program_of({{0x100, 0x1ff}}));
	tracer.event.set_filter("filter 0xffffffff82000100/0x100").value();
	auto number = std::stoul(
		read_small_file(std::format("/sys/bus/event_source/devices/{}/nr_addr_filters", pmu().name()))
			.value_or("0"));
	REQUIRE(number > 0);
	REQUIRE(number <= 8);
	std::string many;
	for (unsigned long n = 0; n <= number; n++)
		many += std::format("filter {:#x}/16,", 0xffffffff82000000 + 64 * n);
	struct Wrong {
		std::string text;
		int code;
	};
	for (const Wrong &one : {Wrong{many, EOPNOTSUPP}, Wrong{many + many + many + many, EOPNOTSUPP},
		     Wrong{"start 0xffffffff82000000/16", EOPNOTSUPP}, Wrong{"start 0x1000", EINVAL},
		     Wrong{"stop 0x1000", EINVAL}, Wrong{"filter 0x1000/16", EINVAL},
		     Wrong{"filter 0xffffffff82000000/0xffffffffffffffff", EINVAL},
		     Wrong{"filter 0x10/16@/bin/sh", EOPNOTSUPP}, Wrong{"rubbish", EINVAL}}) {
		INFO(one.text);
		auto outcome = tracer.event.set_filter(one.text);
		REQUIRE_FALSE(outcome);
		CHECK(outcome.error().code == one.code);
	}
	tracer.enable();
	tracer.pump(64 * 600, 64 * 100);
	tracer.finish();
	CHECK(tracer.verifier.totals().records > 32);
}

TEST_CASE("A filter on a file is in force where and as soon as the file is mapped", "[synth][filters]")
{
	need_filters();
	pin(0);
	Library library;
	Setup setup;

	setup.target = Target::task_on_cpu(0, 0);
	setup.program = program_page;
	/* The core tracks mappings, and with them filters, only if an event requests mmap records. */
	setup.mappings = true;
	Tracer tracer(setup);
	expect_program(tracer, program_of({{0x40, 0x7f}}));
	tracer.event.set_filter(library.filter(0x40, 0x40)).value();
	tracer.enable();
	tracer.emit_all(64 * 512);
	tracer.drain();
	/* The file is not mapped: only START records are written. */
	CHECK(tracer.verifier.totals().records == tracer.verifier.totals().starts);
	Mapping mapping = library.map();
	tracer.emit_all(64 * 512);
	tracer.disable();
	tracer.drain();
	std::uint64_t traced = tracer.verifier.totals().records - tracer.verifier.totals().starts;
	/* Two rounds of four blocks; a START takes one block, filtered or not, for its record. */
	CHECK(traced <= 8);
	CHECK(traced + tracer.verifier.totals().starts > 8);
	tracer.finish();
}

TEST_CASE("Filters may change while the unit traces; what is made from then on obeys the new ones", "[synth][filters]")
{
	need_filters();
	Setup setup;

	setup.program = kernel_program;
	Tracer tracer(setup);
	constexpr unsigned changes = 64;
	auto first_of = [](unsigned change) {
		return change * 48 % 2048;
	};
	auto filter = [&](unsigned change) {
		tracer.event.set_filter(std::format("filter {:#x}/0x20", kernel_program + first_of(change))).value();
	};

	filter(0);
	tracer.enable();
	for (unsigned change = 1; change <= changes; change++) {
		tracer.emit_all(64 * 256);
		filter(change);
	}
	tracer.disable();

	/* The core stops and starts the event for each change, so a START record stands between old and new. */
	Spans spans = tracer.aux.readable();
	REQUIRE(spans.second.empty());
	unsigned starts = 0, records = 0;
	for (auto rest = spans.first; !rest.empty(); rest = rest.subspan(setup.record)) {
		auxpmu_record record;

		std::memcpy(&record, rest.data(), sizeof(record));
		records++;
		starts += record.kind == AUXPMU_RECORD_START;
		if (record.kind == AUXPMU_RECORD_START)
			continue;
		INFO("behind START " << starts << ": ip " << record.ip);
		REQUIRE(record.ip >= first_of(starts - 1));
		REQUIRE(record.ip < first_of(starts - 1) + 0x20);
	}
	CHECK(starts == changes + 1);
	/* After each change the program made one round and passed both blocks, except one that a START may have taken. */
	CHECK(records - starts >= changes);
	CHECK(records - starts <= 2 * changes);
}

TEST_CASE("Filters that are taken away leave nothing behind: all is traced again", "[synth][filters]")
{
	need_filters();
	constexpr unsigned blocks = 512;
	for (unsigned output : every_output())
		for (const char *text : {"filter 0xffffffff82000100/0x80", "stop 0xffffffff82000800/0x10",
			     "filter 0xffffffff82000000/0x400,stop 0xffffffff82000200/0x10"}) {
			Setup setup;

			setup.output = output;
			setup.program = kernel_program;
			INFO(describe(setup) << ", " << text);

			/* The filter is set and removed before anything is traced: the verifier expects every block. */
			{
				Tracer before(setup);

				before.event.set_filter(text).value();
				before.event.set_filter("").value();
				before.enable();
				before.pump(setup.record * blocks, setup.record * blocks);
				before.finish();
				CHECK(before.verifier.totals().records == blocks + 1);
			}

			/* The filter is removed while tracing: look behind the START with which the core removes it. */
			Tracer tracer(setup);
			tracer.event.set_filter(text).value();
			tracer.enable();
			tracer.emit_all(setup.record * blocks);
			tracer.event.set_filter("").value();
			tracer.emit_all(setup.record * blocks);
			tracer.disable();
			Spans spans = tracer.aux.readable();
			REQUIRE(spans.second.empty());
			unsigned starts = 0, filtered = 0, behind = 0;
			std::uint32_t next = 0;
			for (auto rest = spans.first; !rest.empty(); rest = rest.subspan(setup.record)) {
				auxpmu_record record;

				std::memcpy(&record, rest.data(), sizeof(record));
				starts += record.kind == AUXPMU_RECORD_START;
				if (record.kind != AUXPMU_RECORD_START) {
					(starts == 1 ? filtered : behind)++;
					if (starts == 2)
						REQUIRE(record.ip == next);
				}
				next = (record.ip + AUXPMU_PROGRAM_BLOCK) %
				       (AUXPMU_PROGRAM_BLOCK * AUXPMU_PROGRAM_BLOCKS);
			}
			CHECK(starts == 2);
			CHECK(filtered > 0);
			CHECK(filtered < blocks);
			CHECK(behind == blocks);
		}
}

TEST_CASE("Children inherit the filters of their parent", "[synth][filters]")
{
	need_filters();
	pin(0);
	Library library;
	Mapping mapping = library.map();
	Setup setup;

	setup.target = Target::task_on_cpu(0, 0);
	setup.inherit = true;
	setup.program = program_page;
	Tracer tracer(setup);
	expect_program(tracer, program_of({{0x80, 0x8f}}));
	tracer.event.set_filter(library.filter(0x80, 0x10)).value();
	tracer.enable();
	for (int n = 0; n < 8; n++)
		CHECK(succeeded(spawn([&] { return emitter().emit(0, 64 * 256).error == 0; })));
	tracer.disable();
	tracer.drain();
	INFO(tracer.verifier.error());
	CHECK(tracer.verifier.ok());
	/* Each child's program made one round. */
	CHECK(tracer.verifier.streams().size() >= 9);
	CHECK(tracer.verifier.totals().records - tracer.verifier.totals().starts >= 8);
}
