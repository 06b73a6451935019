// SPDX-License-Identifier: GPL-2.0-or-later
/* The trace unit: what it traces of a program that is told to it block by block, as its registers control it. */
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <functional>

#include "../arm64/trace_unit.h"
#include "etm_words.h"

using namespace hwsim;
using namespace hwsim::arm64;
namespace reg = etm::reg;
namespace bits = etm::bits;

namespace
{

constexpr std::uint64_t kernel_code = 0xffff'8000'8001'0000;
constexpr std::uint8_t el0 = 0, el1 = 1;
constexpr std::uint64_t e0tre = 1, e1tre = 2, not_el1 = std::uint64_t{2} << bits::exlevel_ns;
/* TRCVICTLR: event 1, which is always active; the start/stop logic is started. */
constexpr std::uint64_t view = bits::ssstatus | 1;

/* What OpenCSD needs to know. */
::TraceUnit described(const etm::Features &features, std::uint64_t configr)
{
	return {features.is_ete(), static_cast<std::uint32_t>(configr), features.idr0, features.idr1, features.idr2,
		features.idr8, features.devarch};
}

struct Machine final : TraceSink, TraceProcessor, arm64::Clock {
	explicit Machine(std::uint64_t configr = 0, const etm::Features &features = {})
		: described_as(described(features, configr)), words(described_as),
		  unit(features, *this, *this, *this, faults)
	{
		set(reg::configr, configr);
		set(reg::victlr, view);
		if (features.has_os_lock())
			set(reg::oslar, 0);
		unit.set_os_lock(false);
		unit.set_filter_control(e0tre | e1tre);
	}
	void set(std::uint32_t offset, std::uint64_t value) { CHECK(unit.write(offset, value)); }
	void switch_on() { set(reg::prgctlr, 1); }
	void switch_off() { set(reg::prgctlr, 0); }

	/* Runs a block of this many instructions that ends with this kind of branch; the program goes on at "to". */
	void run(std::uint64_t pc, unsigned instructions, Branch kind, Place to, bool taken = true)
	{
		BasicBlock block;
		block.length = instructions * 4;
		block.last = block.length - 4;
		block.kind = kind;
		block.level = level;
		block.mode = mode_a64;
		if (!begun)
			unit.arrive({pc, level, mode_a64});
		begun = true;
		unit.straight(block, pc, pc + block.length);
		if (kind == Branch::barrier)
			unit.barrier(pc + block.last, to);
		else if (is_branch(kind))
			unit.transfer({kind, taken, pc + block.last, pc + block.length, level, to});
		level = to.level;
		unit.arrive(to);
	}
	void run(std::uint64_t pc, unsigned instructions, Branch kind, std::uint64_t to, bool taken = true)
	{
		run(pc, instructions, kind, Place{to, level, mode_a64}, taken);
	}
	void interrupt(std::uint64_t from, const Place &to)
	{
		unit.interrupt({from, level, mode_a64}, to);
		level = to.level;
		unit.arrive(to);
	}
	/* The packets since the last call; first the unit passes to the sink what it holds back. */
	std::string said()
	{
		unit.synchronize_buffer();
		const std::string text = words.add(bytes);
		bytes.clear();
		return text;
	}

	/* The sink */
	bool enabled() const override { return on; }
	std::size_t take(std::span<const std::uint8_t> data) override
	{
		const std::size_t size = std::min(data.size(), room);
		bytes.insert(bytes.end(), data.begin(), data.begin() + static_cast<std::ptrdiff_t>(size));
		room -= size;
		return size;
	}
	std::size_t gone() const override { return in_vain; }
	bool wait() override
	{
		waits++;
		return waited();
	}
	void trigger() override { triggers++; }
	/* The processor */
	std::uint32_t context_id() override { return context; }
	std::uint32_t virtual_context_id() override { return virtual_context; }
	etm::Exception exception_type(std::uint64_t) override { return etm::Exception::irq; }
	void begins(std::uint64_t at) override { beginnings.push_back(at); }
	void lost() override { losses++; }
	void resumed() override { resumptions++; }
	std::uint64_t counter() override { return time += 100; }

	bool on = true;
	std::size_t room = SIZE_MAX, in_vain = 0;
	std::function<bool()> waited = [] {
		return false;
	};
	unsigned waits = 0;
	std::vector<std::uint8_t> bytes;
	unsigned triggers = 0, losses = 0, resumptions = 0;
	std::vector<std::uint64_t> beginnings;
	std::uint32_t context = 0, virtual_context = 0;
	std::uint64_t time = 0;
	std::uint8_t level = el0;
	bool begun = false;
	const ::TraceUnit described_as;
	EtmWords words;
	Faults faults;
	arm64::TraceUnit unit;
};

constexpr Place handler = {kernel_code, el1, mode_a64};

/* What OpenCSD executes: ranges of instructions, exceptions and returns from them. */
struct Executed {
	explicit Executed(const ::TraceUnit &of) : decoder(of, true) {}
	void program(std::uint64_t at, std::span<const std::uint32_t> words)
	{
		const auto *bytes = reinterpret_cast<const std::uint8_t *>(words.data());
		decoder.program(at, {bytes, words.size_bytes()});
	}
	std::string text(std::span<const std::uint8_t> trace)
	{
		decoder.process(trace);
		std::ostringstream all;
		all << std::hex;
		for (const ocsd_generic_trace_elem &element : decoder.elements())
			switch (number(element.elem_type)) {
			case OCSD_GEN_TRC_ELEM_INSTR_RANGE:
				all << element.st_addr << "-" << element.en_addr << " ";
				break;
			case OCSD_GEN_TRC_ELEM_EXCEPTION:
				all << "exception ";
				break;
			case OCSD_GEN_TRC_ELEM_EXCEPTION_RET:
				all << "return ";
				break;
			case OCSD_GEN_TRC_ELEM_PE_CONTEXT:
				if (element.context.vmid_valid)
					all << "EL" << element.context.exception_level
					    << ",vmid:" << element.context.vmid << " ";
				break;
			case OCSD_GEN_TRC_ELEM_ADDR_NACC:
				all << "nowhere ";
				break;
			default:
				break;
			}
		return all.str();
	}

	OpenCsd decoder;
};

} // namespace

TEST_CASE("What a program does is told by atoms and addresses", "[trace-unit]")
{
	Machine m;
	m.switch_on();
	m.run(0x40'1000, 4, Branch::conditional, 0x40'1010, false);
	m.run(0x40'1010, 2, Branch::call, 0x40'2000);
	m.run(0x40'2000, 3, Branch::ret, 0x40'1018);
	m.run(0x40'1018, 1, Branch::none, 0x40'101c); /* a block may end anywhere */
	m.run(0x40'101c, 1, Branch::barrier, 0x40'1020);
	m.run(0x40'1020, 1, Branch::indirect_jump, 0x40'3000);
	m.switch_off();
	/* Nothing was executed at the target of the last branch. */
	CHECK(m.said() == "sync info on 401000+context NEE 401018 EE ");
	CHECK(m.unit.at_target());
}

TEST_CASE("Nothing is traced that one of all enables forbids", "[trace-unit]")
{
	Machine m;
	SECTION("TRCPRGCTLR") {}
	SECTION("the OS lock")
	{
		m.unit.set_os_lock(true);
		m.switch_on();
	}
	SECTION("TRFCR_EL1")
	{
		m.unit.set_filter_control(e1tre);
		m.switch_on();
	}
	SECTION("the exception level")
	{
		m.set(reg::victlr, view | std::uint64_t{1} << bits::exlevel_ns);
		m.switch_on();
	}
	SECTION("ViewInst")
	{
		m.set(reg::victlr, bits::ssstatus);
		m.switch_on();
	}
	SECTION("start/stop logic")
	{
		m.set(reg::victlr, 1);
		m.switch_on();
	}
	SECTION("the sink")
	{
		m.on = false;
		m.switch_on();
	}
	m.run(0x40'1000, 4, Branch::indirect_jump, 0x40'5000);
	CHECK_FALSE(m.unit.enabled());
	CHECK(m.said().empty());
}

TEST_CASE("A program's system call ends its trace, which begins anew behind it", "[trace-unit]")
{
	Machine m;
	m.set(reg::victlr, view | not_el1);
	m.switch_on();
	m.run(0x40'1000, 1, Branch::jump, 0x40'1100);
	m.interrupt(0x40'1104, handler);
	CHECK_FALSE(m.unit.enabled());
	CHECK(m.said() == "sync info on 401000+context E exception 401104 ");
	m.run(kernel_code, 8, Branch::far, Place{0x40'1104, el0, mode_a64});
	m.run(0x40'1104, 2, Branch::conditional, 0x40'110c, false);
	CHECK(m.said() == "on 401104+context "); /* the atom of the last block waits */
	m.switch_off();
	CHECK(m.said() == "N ");
}

TEST_CASE("With the kernel a handler is where the exception has led to, and the return leads back", "[trace-unit]")
{
	Machine m;
	m.switch_on();
	m.run(0x40'1000, 1, Branch::jump, 0x40'1100);
	m.interrupt(0x40'1104, handler);
	m.run(kernel_code, 8, Branch::far, Place{0x40'1104, el0, mode_a64});
	m.run(0x40'1104, 2, Branch::conditional, 0x40'110c, false);
	m.switch_off();
	CHECK(m.said() ==
		"sync info on 401000+context E exception 401104 ffff800080010000+context E 401104+context N ");
}

TEST_CASE("An ETMv4 tells of returns from exceptions", "[trace-unit]")
{
	Machine m(0, etm::etmv4);
	m.switch_on();
	m.run(0x40'1000, 1, Branch::jump, 0x40'1100);
	m.interrupt(0x40'1104, handler);
	m.run(kernel_code, 8, Branch::far, Place{0x40'1104, el0, mode_a64});
	m.run(0x40'1104, 2, Branch::conditional, 0x40'110c, false);
	m.switch_off();
	CHECK(m.said() ==
		"sync info on 401000+context E exception 401104 ffff800080010000+context E 401104+context return N ");
}

TEST_CASE("OpenCSD executes the same of a trace by an ETE and by an ETMv4", "[trace-unit]")
{
	constexpr std::uint32_t nop = 0xd503'201f, not_equal = 0x5400'0041, call = 0x9400'03fd, ret = 0xd65f'03c0,
				eret = 0xd69f'03e0, forward = 0x1400'0002;
	static constexpr std::uint32_t main[] = {nop, not_equal, nop, call, nop, forward, nop, nop},
				       function[] = {nop, ret}, of_kernel[] = {nop, nop, eret};
	const etm::Features features = GENERATE(etm::Features{}, etm::etmv4);
	const std::uint64_t configr = GENERATE(std::uint64_t{0}, bits::rs | bits::cid | bits::ts);
	Machine m(configr, features);
	m.switch_on();
	m.run(0x40'1000, 2, Branch::conditional, 0x40'1008, false);
	m.run(0x40'1008, 2, Branch::call, 0x40'2000);
	m.run(0x40'2000, 2, Branch::ret, 0x40'1010);
	m.interrupt(0x40'1014, handler);
	m.run(kernel_code, 3, Branch::far, Place{0x40'1014, el0, mode_a64});
	m.run(0x40'1014, 1, Branch::jump, 0x40'101c);
	m.interrupt(0x40'1020, handler);
	m.switch_off();
	m.unit.synchronize_buffer();
	Executed executed(m.described_as);
	executed.program(0x40'1000, main);
	executed.program(0x40'2000, function);
	executed.program(kernel_code, of_kernel);
	CHECK(executed.text(m.bytes) == "401000-401008 401008-401010 402000-402008 401010-401014 exception "
					"ffff800080010000-ffff80008001000c return 401014-401018 40101c-401020 "
					"exception ");
}

TEST_CASE("An ETMv4 has an OS lock of its own, and no trace filter", "[trace-unit]")
{
	Machine m(0, etm::etmv4);
	m.unit.set_filter_control(0);
	m.unit.set_os_lock(true);
	m.switch_on();
	m.run(0x40'1000, 1, Branch::jump, 0x40'1100);
	CHECK(m.unit.enabled());
	m.set(reg::oslar, 1);
	CHECK_FALSE(m.unit.enabled());
	m.unit.set_os_lock(false);
	m.run(0x40'1100, 1, Branch::jump, 0x40'1200);
	CHECK_FALSE(m.unit.enabled());
	m.set(reg::oslar, 0);
	m.run(0x40'1200, 1, Branch::jump, 0x40'1300);
	CHECK(m.unit.enabled());
}

TEST_CASE("A trace unit has the trace ID that it is given", "[trace-unit]")
{
	Machine m;
	CHECK(m.unit.trace_id() == 0);
	m.set(reg::traceidr, 0x92);
	CHECK(m.unit.trace_id() == 0x12);
}

TEST_CASE("A switch of tasks is told where it takes effect", "[trace-unit]")
{
	const bool host = GENERATE(false, true);
	Machine m(host ? bits::vmid | bits::vmidopt : bits::cid, host ? etm::Features{}.with_el2() : etm::Features{});
	constexpr std::uint64_t cx = 1 << 3;
	m.unit.set_filter_control(e0tre | e1tre | (host ? cx : 0));
	m.level = host ? 2 : el1;
	m.switch_on();
	m.run(kernel_code, 4, Branch::barrier, kernel_code + 16);
	(host ? m.virtual_context : m.context) = 77;
	m.run(kernel_code + 16, 4, Branch::barrier, kernel_code + 32);
	m.run(kernel_code + 32, 4, Branch::barrier, kernel_code + 48);
	m.switch_off();
	CHECK(m.said() == "sync info on ffff800080010000+context EE context E ");
}

TEST_CASE("An include range is traced, whole blocks of it, and where straight code comes into it", "[trace-unit]")
{
	Machine m;
	m.set(reg::acvr, 0x40'2000);
	m.set(reg::acvr + 8, 0x40'2ffc);
	m.set(reg::viiectlr, 1);
	m.switch_on();
	m.run(0x40'1000, 1, Branch::jump, 0x40'2000);
	m.run(0x40'2000, 1, Branch::indirect_jump, 0x40'2100);
	m.run(0x40'2100, 1, Branch::indirect_jump, 0x40'3000); /* its target is outside */
	CHECK_FALSE(m.unit.enabled());
	m.run(0x40'3000, 1, Branch::jump, 0x40'1ff0);
	m.run(0x40'1ff0, 6, Branch::jump, 0x40'2200);
	CHECK(m.beginnings == std::vector<std::uint64_t>{0x40'2000});
	m.switch_off();
	CHECK(m.said() == "sync info on 402000+context E 402100 E on 402000+context E ");
}

TEST_CASE("An exclude range is not traced", "[trace-unit]")
{
	Machine m;
	m.set(reg::acvr + 16, 0x40'2000);
	m.set(reg::acvr + 24, 0x40'2ffc);
	m.set(reg::viiectlr, 2 << 16);
	m.switch_on();
	m.run(0x40'1000, 1, Branch::jump, 0x40'2000);
	CHECK_FALSE(m.unit.enabled());
	m.run(0x40'2000, 1, Branch::indirect_jump, 0x40'3000);
	m.run(0x40'3000, 1, Branch::jump, 0x40'3100);
	m.switch_off();
	CHECK(m.said() == "sync info on 401000+context E on 403000+context E ");
}

TEST_CASE("A range is one for the levels and contexts that its comparators take", "[trace-unit]")
{
	Machine m;
	m.set(reg::acvr, 0x40'2000);
	m.set(reg::acvr + 8, 0x40'2ffc);
	m.set(reg::viiectlr, 1);
	SECTION("not this exception level")
	{
		m.set(reg::acatr, std::uint64_t{1} << bits::comparator_exlevel_ns);
		m.switch_on();
		m.run(0x40'2000, 1, Branch::jump, 0x40'2100);
		CHECK_FALSE(m.unit.enabled());
	}
	SECTION("a context identifier, but for its lowest byte")
	{
		m.set(reg::acatr, bits::compares_cid);
		m.set(reg::cidcvr, 0x1200);
		m.set(reg::cidcctlr0, 1);
		m.context = 0x1100;
		m.switch_on();
		m.run(0x40'2000, 1, Branch::jump, 0x40'2100);
		CHECK_FALSE(m.unit.enabled());
		m.context = 0x12ff;
		m.run(0x40'2100, 1, Branch::jump, 0x40'2200);
		CHECK(m.unit.enabled());
	}
}

TEST_CASE("Tracing starts at one address and stops behind the block of another one", "[trace-unit]")
{
	Machine m;
	m.set(reg::victlr, 1);
	m.set(reg::acvr, 0x40'2004);
	m.set(reg::acvr + 8, 0x40'3004);
	m.set(reg::vissctlr, 2 << 16 | 1);
	m.switch_on();
	m.run(0x40'1000, 1, Branch::jump, 0x40'2000);
	CHECK_FALSE(m.unit.enabled());
	m.run(0x40'2000, 4, Branch::jump, 0x40'2800);
	CHECK(m.beginnings == std::vector<std::uint64_t>{0x40'2004});
	m.run(0x40'2800, 1, Branch::jump, 0x40'3000);
	m.run(0x40'3000, 4, Branch::jump, 0x40'1000);
	CHECK_FALSE(m.unit.enabled());
	m.switch_off();
	CHECK(m.said() == "sync info on 402004+context EEE ");
	CHECK_FALSE((*m.unit.read(reg::victlr) & bits::ssstatus));
}

TEST_CASE("A cycle is an instruction", "[trace-unit]")
{
	Machine m(bits::cci);
	m.set(reg::ccctlr, 4);
	m.switch_on();
	m.run(0x40'1000, 10, Branch::jump, 0x40'2000); /* the first count is unknown */
	m.run(0x40'2000, 3, Branch::jump, 0x40'2100);  /* below the threshold */
	m.run(0x40'2100, 9, Branch::jump, 0x40'2200);
	m.switch_off();
	const std::string text = m.said();
	CHECK(text.find("cycles:12") != text.npos);
}

TEST_CASE("A timestamp follows what begins, and comes again where a counter asks for it", "[trace-unit]")
{
	Machine m(bits::ts);
	m.set(reg::cntctlr, 1 | bits::rldself);
	m.set(reg::cntrldvr, 1);
	m.set(reg::rsctlr + 8, 2 << 16 | 1);
	m.set(reg::tsctlr, 2);
	m.switch_on();
	for (unsigned i = 0; i < 1000; i++)
		m.run(0x40'1000, 1, Branch::jump, 0x40'1000);
	m.switch_off();
	const std::string text = m.said();
	CHECK(text.starts_with("sync info on 401000+context time "));
	/* One at the beginning, and one for each 256 blocks. */
	CHECK(m.unit.statistics().timestamps == 1 + 3);
}

TEST_CASE("A trace synchronizes as often as TRCSYNCPR says, at the last P0 element", "[trace-unit]")
{
	Machine m;
	m.set(reg::syncpr, 8);
	m.switch_on();
	for (unsigned i = 0; i < 400; i++)
		m.run(0x40'1000, 1, Branch::indirect_jump, 0x40'1000 + (i % 2) * 0x10'0000);
	m.switch_off();
	CHECK(m.unit.statistics().syncs >= 2);
	CHECK_NOTHROW(m.said());
}

TEST_CASE("A sink that is switched on is given a synchronization first", "[trace-unit]")
{
	Machine m;
	m.switch_on();
	m.run(0x40'1000, 1, Branch::jump, 0x40'1100);
	m.on = false;
	m.unit.sink_changed();
	CHECK_FALSE(m.unit.enabled());
	m.on = true;
	m.unit.sink_changed();
	m.run(0x40'1100, 1, Branch::jump, 0x40'1200);
	m.run(0x40'1200, 1, Branch::jump, 0x40'1300);
	m.switch_off();
	CHECK(m.said() == "sync info on 401000+context E sync info on 401200+context E ");
}

TEST_CASE("What a full sink does not take waits; what is too much is lost, and the trace says so", "[trace-unit]")
{
	Machine m;
	m.room = 100;
	m.switch_on();
	const auto run_far = [&m](unsigned times) {
		for (unsigned i = 0; i < times; i++)
			m.run(0x40'1000, 1, Branch::indirect_jump, 0x40'1000 + (i % 2) * 0x100'0000);
	};
	run_far(500);
	CHECK(m.losses == 0);
	run_far(2000);
	CHECK(m.losses == 1);
	CHECK(m.resumptions == 0);
	m.room = SIZE_MAX;
	run_far(200);
	CHECK(m.losses == 1);
	CHECK(m.resumptions == 1);
	CHECK(m.unit.statistics().lost == 0);
	m.switch_off();
	const std::string text = m.said();
	CHECK(text.find("overflow sync info on ") != text.npos);
}

TEST_CASE("A trace unit does not overflow while the host is waited for", "[trace-unit]")
{
	Machine m;
	m.room = 0;
	const auto run_far = [&m] {
		for (unsigned i = 0; i < 2500; i++)
			m.run(0x40'1000, 1, Branch::indirect_jump, 0x40'1000 + (i % 2) * 0x100'0000);
	};
	m.switch_on();
	m.waited = [] {
		return true;
	};
	run_far();
	CHECK(m.losses == 0);
	CHECK(m.bytes.empty());
	CHECK(m.waits > 0);
	m.waited = [&m] {
		m.room = SIZE_MAX;
		return true;
	};
	m.switch_off();
	CHECK(m.losses == 0);
	CHECK(m.unit.statistics().lost == 0);
	CHECK(m.bytes.size() == m.unit.statistics().bytes);
	CHECK(m.said().find("overflow") == std::string::npos);
}

TEST_CASE("What is left when the trace unit is switched off is lost", "[trace-unit]")
{
	Machine m;
	m.room = 10;
	m.switch_on();
	m.run(0x40'1000, 1, Branch::indirect_jump, 0x40'2000);
	m.switch_off();
	CHECK(m.losses == 1);
	CHECK(m.unit.statistics().lost > 0);
}

TEST_CASE("What memory does not take is lost, and what is behind it waits", "[trace-unit]")
{
	Machine m;
	m.switch_on();
	m.run(0x40'1000, 1, Branch::indirect_jump, 0x40'2000);
	m.said();
	const std::uint64_t before = m.unit.statistics().bytes;
	m.room = 0;
	m.in_vain = 1;
	m.run(0x40'2000, 1, Branch::indirect_jump, 0x41'0000);
	m.unit.synchronize_buffer();
	CHECK(m.losses == 1);
	CHECK(m.unit.statistics().lost == 1);
	m.room = SIZE_MAX;
	m.in_vain = 0;
	m.unit.synchronize_buffer();
	CHECK(m.losses == 1);
	CHECK(m.unit.statistics().lost == 1);
	CHECK(m.bytes.size() + 1 == m.unit.statistics().bytes - before);
}

TEST_CASE("An overflow on demand comes, and goes", "[trace-unit]")
{
	Machine m;
	m.faults.overflow = 2000;
	m.unit.set_faults(m.faults);
	m.switch_on();
	for (unsigned i = 0; i < 5000; i++)
		m.run(0x40'1000, 1, Branch::indirect_jump, 0x40'1000 + (i % 2) * 0x100'0000);
	m.switch_off();
	CHECK(m.unit.statistics().overflows >= 2);
	CHECK(m.resumptions + 1 >= m.losses);
	CHECK_NOTHROW(m.said());
}

TEST_CASE("Event 0 is told, and is a trigger", "[trace-unit]")
{
	Machine m;
	m.set(reg::acvr, 0x40'2000);
	m.set(reg::acvr + 8, 0x40'2ffc);
	m.set(reg::rsctlr + 8, 5 << 16 | 1);
	m.set(reg::eventctl0r, 2);
	m.set(reg::eventctl1r, bits::atb | 1);
	m.switch_on();
	m.run(0x40'1000, 1, Branch::jump, 0x40'2000);
	CHECK(m.triggers == 0);
	m.run(0x40'2000, 1, Branch::jump, 0x40'3000);
	CHECK(m.triggers == 1);
	m.run(0x40'3000, 1, Branch::jump, 0x40'3100);
	CHECK(m.triggers == 1);
}

TEST_CASE("A host's kernel is traced at EL2, and CONTEXTIDR_EL2 in the place of the VMID", "[trace-unit]")
{
	constexpr std::uint64_t cx = 1 << 3;
	/* B +0x100; NOP, RET; ERET */
	static constexpr std::array<std::uint32_t, 1> first = {0x1400'0040}, kernel_program = {0xd69f'03e0};
	static constexpr std::array<std::uint32_t, 2> second = {0xd503'201f, 0xd65f'03c0};
	const bool seen = GENERATE(false, true), kernel = GENERATE(false, true);
	Machine m(bits::vmid | bits::vmidopt, etm::Features{}.with_el2());
	m.unit.set_filter_control(e0tre | (kernel ? e1tre : 0) | (seen ? cx : 0));
	m.virtual_context = 0x4711;
	m.switch_on();
	m.run(0x40'1000, 1, Branch::jump, 0x40'1100);
	m.interrupt(0x40'1104, Place{kernel_code, 2, mode_a64});
	CHECK(m.unit.enabled() == kernel);
	m.virtual_context = 0x4712;
	m.run(kernel_code, 1, Branch::far, Place{0x40'1104, el0, mode_a64});
	m.run(0x40'1104, 1, Branch::ret, 0x40'1000);
	m.switch_off();
	Executed executed(m.described_as);
	executed.program(0x40'1000, first);
	executed.program(0x40'1100, second);
	executed.program(kernel_code, kernel_program);
	const std::string before = seen ? "vmid:4711 " : "vmid:0 ", behind = seen ? "vmid:4712 " : "vmid:0 ";
	const std::string of_kernel = "EL2," + before + "ffff800080010000-ffff800080010004 return ";
	CHECK(executed.text(m.bytes) == "EL0," + before + "401000-401004 401100-401104 exception " +
						(kernel ? of_kernel : "") + "EL0," + behind + "401104-401108 ");
}

TEST_CASE("Code at EL1 of a processor with EL2, a guest's, is not traced", "[trace-unit]")
{
	Machine m(0, etm::Features{}.with_el2());
	m.switch_on();
	m.level = el1;
	m.run(kernel_code, 1, Branch::jump, kernel_code + 0x100);
	CHECK_FALSE(m.unit.enabled());
	CHECK(m.said().empty());
}

TEST_CASE("Without VMIDOPT a host's code is of VMID 0", "[trace-unit]")
{
	Machine m(bits::vmid, etm::Features{}.with_el2());
	constexpr std::uint64_t cx = 1 << 3;
	static constexpr std::array<std::uint32_t, 1> jump = {0x1400'0040};
	m.unit.set_filter_control(e0tre | cx);
	m.virtual_context = 0x4711;
	m.switch_on();
	m.run(0x40'1000, 1, Branch::jump, 0x40'1100);
	m.switch_off();
	Executed executed(m.described_as);
	executed.program(0x40'1000, jump);
	CHECK(executed.text(m.bytes) == "EL0,vmid:0 401000-401004 ");
}

TEST_CASE("A comparator may be of one VM identifier", "[trace-unit]")
{
	const bool same = GENERATE(false, true);
	Machine m(bits::vmid | bits::vmidopt, etm::Features{}.with_el2());
	constexpr std::uint64_t cx = 1 << 3;
	m.unit.set_filter_control(e0tre | cx);
	m.virtual_context = same ? 0x4711 : 0x4712;
	m.set(reg::vmidcvr, 0x4711);
	m.set(reg::acvr, 0x40'1000);
	m.set(reg::acvr + 8, 0x40'1ffc);
	m.set(reg::acatr, bits::compares_vmid);
	m.set(reg::acatr + 8, bits::compares_vmid);
	m.set(reg::viiectlr, 1);
	m.switch_on();
	m.run(0x40'1000, 1, Branch::jump, 0x40'1100);
	CHECK(m.unit.enabled() == same);
}

TEST_CASE("A range has both of its ends", "[trace-unit]")
{
	const std::uint64_t at = GENERATE(0x40'2000u, 0x40'2ffcu, 0x40'1ffcu, 0x40'3000u);
	Machine m;
	m.set(reg::acvr, 0x40'2000);
	m.set(reg::acvr + 8, 0x40'2ffc);
	m.set(reg::viiectlr, 1);
	m.switch_on();
	m.run(at, 1, Branch::indirect_jump, at);
	CHECK(m.unit.enabled() == (at >= 0x40'2000 && at <= 0x40'2ffc));
}

TEST_CASE("An address that starts and stops starts", "[trace-unit]")
{
	Machine m;
	m.set(reg::acvr, 0x40'1000);
	m.set(reg::vissctlr, 1 | 1 << 16);
	m.set(reg::victlr, 1);
	m.switch_on();
	m.run(0x40'1000, 1, Branch::indirect_jump, 0x40'1100);
	CHECK(m.unit.enabled());
}

TEST_CASE("What found no room before is gone when it is switched on again", "[trace-unit]")
{
	Machine m;
	m.room = 0;
	m.switch_on();
	m.run(0x40'1000, 1, Branch::indirect_jump, 0x40'2000);
	m.switch_off();
	CHECK(m.losses == 1);
	m.room = SIZE_MAX;
	m.begun = false;
	m.switch_on();
	m.run(0x40'3000, 1, Branch::indirect_jump, 0x40'4000);
	m.switch_off();
	CHECK(m.said() == "sync info on 403000+context E ");
}
