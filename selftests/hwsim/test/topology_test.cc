// SPDX-License-Identifier: GPL-2.0-or-later
/* Topologies: what is read, what is refused with which message; and that trace goes where they say. */
#include <catch2/catch_test_macros.hpp>

#include <filesystem>
#include <fstream>

#include "../arm64/coresight.h"
#include "../tools/deframer.h"
#include "memory_fake.h"

using namespace hwsim::arm64;
using Kind = Topology::Kind;

namespace
{

std::string refusal(const std::string &text, unsigned cpus = 2)
{
	try {
		Topology::read(text, cpus);
	} catch (const std::exception &error) {
		return error.what();
	}
	return "";
}

void unlock(Component &component)
{
	CHECK(component.write(management::lar, management::unlock));
}

/* Starts a TMC, sends it trace from a processor, and returns how many bytes it has captured so far. */
std::uint64_t captured_by(Coresight &machine, unsigned page, unsigned cpu, std::uint8_t id)
{
	auto &sink = dynamic_cast<Tmc &>(*machine.at(page));
	unlock(sink);
	sink.write(tmc::reg::rsz, 4096);
	sink.write(tmc::reg::ctl, tmc::capture);
	const std::vector<std::uint8_t> bytes(1000, 5);
	machine.input_of(cpu)->receive(id, bytes);
	sink.write(tmc::reg::ffcr, tmc::flush | tmc::stop_on_flush);
	const std::uint64_t before = sink.statistics().bytes;
	sink.write(tmc::reg::ctl, 0);
	return before;
}

} // namespace

TEST_CASE("A line for each processor, ports in their order, pages in the order of lines", "[topology]")
{
	const Topology read = Topology::read("# all\n"
					     "etm etm@ each memory skip-power-up out=funnel0 # two of them\n"
					     "\n"
					     "funnel funnel0 out=etr0\n"
					     "etr etr0 scatter-gather\n",
		2);
	REQUIRE(read.nodes.size() == 4);
	CHECK((read.nodes[0].name == "etm0" && read.nodes[1].name == "etm1"));
	CHECK((read.nodes[1].cpu == 1u && read.nodes[1].page == 1u));
	CHECK((read.nodes[1].skip_power_up && !read.nodes[2].skip_power_up));
	CHECK((read.nodes[0].outputs[0].port == 0 && read.nodes[1].outputs[0].port == 1));
	CHECK(read.nodes[0].outputs[0].node == 2);
	CHECK((read.nodes[2].page == 2u && read.nodes[3].page == 3u && read.pages() == 4));
	CHECK((read.nodes[3].scatter_gather && !read.nodes[3].save_restore));
	CHECK(read.of_cpu(Kind::etm, 1) == &read.nodes[1]);
	CHECK(read.of_cpu(Kind::ete, 1) == nullptr);
}

TEST_CASE("Trace units by system registers have no page", "[topology]")
{
	const Topology read = Topology::read("ete ete@ each\ntrbe trbe@ each\netm x cpu=0 out=f:3\nfunnel f\n", 2);
	CHECK(read.pages() == 1);
	CHECK(read.nodes[4].outputs[0].port == 3);
}

TEST_CASE("What is wrong in a topology is said in a sentence", "[topology]")
{
	CHECK(refusal("etm e cpu=0\ncti c\n") == "line 2 of the topology: no component cti");
	CHECK(refusal("etr\n") == "line 1 of the topology: etr takes a name");
	CHECK(refusal("etr a\netb a\n") == "line 2 of the topology: there are two components a");
	CHECK(refusal("etm e cpu=2\n") == "line 1 of the topology: there are 2 processors, none is 2");
	CHECK(refusal("etm e\n") == "line 1 of the topology: e takes cpu=");
	CHECK(refusal("etr e cpu=0\n") == "line 1 of the topology: e belongs to no processor");
	CHECK(refusal("funnel f scatter-gather\n") == "line 1 of the topology: f is not scatter-gather");
	CHECK(refusal("etm e cpu=0 skip-power-up\n") == "line 1 of the topology: e is not skip-power-up");
	CHECK(refusal("funnel f out=g\n") == "the topology has no g, where f leads");
	CHECK(refusal("funnel f out=e\nfunnel g out=e\netr e\n") == "the topology: e has no input left for g");
	CHECK(refusal("funnel f out=g:8\nfunnel g\n") == "the topology: g has no input left for f");
	CHECK(refusal("etb b out=e\netr e\n") == "the topology: b does not lead to e");
	CHECK(refusal("funnel f out=c\ncatu c\n") == "the topology: f does not lead to c");
}

TEST_CASE("All topologies that come along can be read, and lead to a sink", "[topology]")
{
	unsigned count = 0;
	for (const auto &file : std::filesystem::directory_iterator(TOPOLOGIES)) {
		INFO(file.path());
		std::ifstream in(file.path());
		const std::string text{std::istreambuf_iterator<char>(in), {}};
		for (const unsigned cpus : {1u, 2u, 4u}) {
			FakeMemory memory(1 << 16);
			Coresight machine(Topology::read(text, cpus), memory);
			const Topology &read = machine.topology;
			for (unsigned cpu = 0; cpu < cpus; cpu++)
				CHECK((!read.of_cpu(Kind::etm, cpu) || machine.input_of(cpu)));
			CHECK((read.of_cpu(Kind::etm, 0) || read.of_cpu(Kind::trbe, 0)));
		}
		count++;
	}
	CHECK(count >= 7);
}

TEST_CASE("Trace goes through funnels whose input is open, and to the outputs of a replicator that do not leave it out",
	"[topology]")
{
	FakeMemory memory(1 << 16);
	Coresight machine(
		Topology::read("etm a@ each out=f\nfunnel f out=r\nreplicator r out=x out=y\netr x\netb y\n", 2),
		memory);
	constexpr unsigned funnel = 0, replicator = 1, etr = 2, etb = 3;
	constexpr std::uint8_t id = 0x23;
	unlock(*machine.at(funnel));
	unlock(*machine.at(replicator));
	CHECK(captured_by(machine, etr, 1, id) == 0);
	machine.at(funnel)->write(0, 1 << 1);
	CHECK(captured_by(machine, etr, 0, id) == 0);
	CHECK(captured_by(machine, etr, 1, id) >= 1000);
	CHECK(captured_by(machine, etb, 1, id) >= 1000);
	machine.at(replicator)->write(4, 1 << (id / 16));
	const std::uint64_t before = captured_by(machine, etb, 1, id);
	CHECK(captured_by(machine, etb, 1, id) == before);
	CHECK(captured_by(machine, etb, 1, 0x33) > before);
	machine.at(replicator)->write(0, 0xff);
	const std::uint64_t of_etr = captured_by(machine, etr, 1, id);
	CHECK(captured_by(machine, etr, 1, id) == of_etr);
}

TEST_CASE("A funnel that is closed takes nothing, so that it waits in the trace unit", "[topology]")
{
	FakeMemory memory(1 << 16);
	Coresight machine(Topology::read("etm a cpu=0 out=f\nfunnel f out=x\netr x\n", 1), memory);
	AtbPort port(machine, machine.input_of(0));
	const std::vector<std::uint8_t> bytes(10, 1);
	CHECK(port.enabled());
	CHECK(port.take(bytes) == 0);
	unlock(*machine.at(0));
	machine.at(0)->write(0, 1);
	CHECK(port.take(bytes) == 10);
	CHECK(machine.tmc_statistics().discarded == 10);
	CHECK_FALSE(AtbPort(machine, nullptr).enabled());
}

TEST_CASE("The watermark of a TMC is an interrupt where the topology has it so", "[topology]")
{
	FakeMemory memory(1 << 16);
	std::vector<std::pair<unsigned, bool>> told;
	Coresight machine(Topology::read("etm a cpu=0 out=r\nreplicator r out=x out=y\netb x interrupt\netb y\n", 1),
		memory, [&told](unsigned number, bool asserted) { told.emplace_back(number, asserted); });
	constexpr unsigned replicator = 0, first = 1, second = 2;
	CHECK(machine.topology.nodes[2].interrupt == 0);
	CHECK_FALSE(machine.topology.nodes[3].interrupt);
	unlock(*machine.at(replicator));
	for (const unsigned etb : {first, second}) {
		unlock(*machine.at(etb));
		machine.at(etb)->write(tmc::reg::mode, static_cast<std::uint32_t>(tmc::Mode::software_fifo));
		machine.at(etb)->write(tmc::reg::bufwm, machine.at(etb)->read(tmc::reg::rsz) - 1);
		machine.at(etb)->write(tmc::reg::ctl, tmc::capture);
	}
	AtbPort(machine, machine.input_of(0)).take(std::vector<std::uint8_t>(1000, 1));
	CHECK(told == std::vector<std::pair<unsigned, bool>>{{0, true}});
	machine.at(first)->write(tmc::reg::ctl, 0);
	CHECK(told == std::vector<std::pair<unsigned, bool>>{{0, true}, {0, false}});
	CHECK_THROWS(Topology::read("funnel f interrupt\n", 1));
}

TEST_CASE("A topology says what processors there are", "[topology]")
{
	CHECK_FALSE(Topology::read("funnel f\n", 1).el2);
	CHECK(Topology::read("processors el2\nfunnel f\n", 1).el2);
	CHECK_FALSE(Topology::read("processors el2\n", 1).midr);
	CHECK(Topology::read("processors midr=0x410fd493 el2\n", 1).midr == 0x410f'd493);
	for (const char *wrong : {"processors\n", "processors el3\n", "processors midr=0x1ffffffff\n",
		     "processors midr=a510\n", "processors el2 each\n"})
		CHECK_THROWS(Topology::read(wrong, 1));
}

TEST_CASE("A replicator gives both outputs the same, however little one of them takes", "[topology]")
{
	FakeMemory memory(1 << 18);
	Coresight machine(Topology::read("etm a cpu=0 out=r\nreplicator r out=x out=y\netr x\netb y\n", 1), memory);
	constexpr unsigned replicator = 0, etr = 1, etb = 2;
	for (const unsigned page : {replicator, etr, etb})
		unlock(*machine.at(page));
	machine.at(etr)->write(tmc::reg::rsz, 0x8000);
	machine.at(etr)->write(tmc::reg::ctl, tmc::capture);
	machine.at(etb)->write(tmc::reg::mode, static_cast<std::uint32_t>(tmc::Mode::software_fifo));
	machine.at(etb)->write(tmc::reg::ctl, tmc::capture);
	AtbPort port(machine, machine.input_of(0));
	port.set_id(0x10);
	std::size_t taken = 0;
	for (unsigned i = 0; i < 200; i++)
		taken += port.take(std::vector<std::uint8_t>(1000, 1));
	/* The ETB is full, so that neither takes more. */
	CHECK(taken > 50'000);
	CHECK(taken < 70'000);
	machine.at(etr)->write(tmc::reg::ffcr, tmc::stop_on_flush);
	machine.at(etr)->write(tmc::reg::ffcr, tmc::stop_on_flush | tmc::flush);
	hwsim::Deframer reader;
	reader.process(std::span(memory.bytes).first(machine.at(etr)->read(tmc::reg::rwp)));
	std::size_t found = 0;
	for (std::uint8_t id = 1; id < 0x70; id++)
		found += reader.of(id).size();
	CHECK(found == taken);
}

TEST_CASE("There are no more interrupts than the machine has", "[topology]")
{
	std::string text;
	for (unsigned n = 0; n < 33; n++)
		text += "etb b" + std::to_string(n) + " interrupt\n";
	CHECK_THROWS(Topology::read(text, 1));
}
