// SPDX-License-Identifier: GPL-2.0-or-later
/* The stream of packets: what OpenCSD's decoder reads from random programs, and which packets it consists of. */
#include <catch2/catch_test_macros.hpp>

#include "etm_script.h"
#include "etm_words.h"

using namespace hwsim::arm64::etm;

TEST_CASE("programs at random are executed by OpenCSD as they were told", "[etm]")
{
	std::size_t instructions = 0, bytes = 0;
	for (std::uint64_t seed = 1; seed <= 150; seed++) {
		CAPTURE(seed);
		EtmScript script(seed);
		script.run(1500);
		EtmScript::Words heard;
		REQUIRE_NOTHROW(heard = script.heard());
		const auto &said = script.said();
		for (std::size_t i = 0; i < std::min(said.size(), heard.size()); i++)
			if (said[i] != heard[i]) {
				std::string around;
				for (std::size_t j = i < 6 ? 0 : i - 6; j < i; j++)
					around += said[j] + "; ";
				FAIL("word " << i << " of " << said.size() << ": said " << said[i] << ", heard "
					     << heard[i] << ", behind " << around);
			}
		REQUIRE(said.size() == heard.size());
		instructions += said.size();
		bytes += script.bytes();
	}
	CHECK(instructions > 150'000);
	CHECK(bytes > 100'000);
}

namespace
{

/* A stream, and its packets in short words. */
struct Fixture {
	explicit Fixture(const StreamConfig &config = {}) : words({.ete = config.ete}) { stream.start(config); }

	std::string said()
	{
		stream.stop();
		const std::string text = words.add(stream.pending());
		stream.taken();
		return text;
	}
	/* Up to the first address, which all traces have. */
	void begin(const Context &in = {})
	{
		stream.enable({0x40'1000}, in);
		CHECK(said() == "sync info on 401000+context ");
	}

	PacketStream stream;
	EtmWords words;
};

constexpr Context user = {}, kernel = {.level = 1, .vmid = {}, .context_id = {}};

} // namespace

TEST_CASE("a stretch begins with Trace On, the first one with a synchronization", "[etm]")
{
	Fixture f;
	f.begin();
	f.stream.not_taken();
	f.stream.disable();
	f.stream.enable({0x40'2000}, user);
	CHECK(f.said() == "N on 402000+context ");
	f.stream.indirect({0x40'5000}); /* to where nothing is traced */
	f.stream.disable();
	f.stream.enable({0x40'2000}, kernel);
	CHECK(f.said() == "E on 402000+context ");
}

TEST_CASE("only branches that a decoder cannot follow have an address", "[etm]")
{
	Fixture f;
	f.begin();
	f.stream.direct({0x40'2000});
	f.stream.call({0x40'3000}, {0x40'2004});
	f.stream.executed();
	f.stream.not_taken();
	f.stream.indirect({0x40'4000});
	f.stream.ret({0x40'2004});
	f.stream.indirect_call({0x40'4000}, {0x40'2008});
	CHECK(f.said() == "EEEN E 404000 E 402004 E =404000 ");
}

TEST_CASE("with branch broadcasting all have", "[etm]")
{
	Fixture f({.return_stack = true, .broadcast = true, .cycle_threshold = {}});
	f.begin();
	f.stream.direct({0x40'2000});
	f.stream.not_taken();
	f.stream.call({0x40'3000}, {0x40'2004});
	f.stream.ret({0x40'2004});
	CHECK(f.said() == "E 402000 NE 403000 E 402004 ");
}

TEST_CASE("the return stack has its depth, and is empty behind a synchronization and a gap", "[etm]")
{
	Fixture f({.return_stack = true, .return_depth = 2, .cycle_threshold = {}});
	f.begin();
	for (const std::uint64_t at : {0x40'1100, 0x40'1200, 0x40'1300})
		f.stream.call({0x40'2000}, {at});
	f.stream.ret({0x40'1300});
	f.stream.ret({0x40'1200});
	f.stream.ret({0x40'1100});
	CHECK(f.said() == "EEEEEE 401100 ");
	f.stream.call({0x40'2000}, {0x40'1100});
	f.stream.ret({0x40'1104}); /* elsewhere: the entry stays */
	f.stream.ret({0x40'1100});
	CHECK(f.said() == "EE 401104 E ");
	f.stream.call({0x40'2000}, {0x40'1100});
	f.stream.sync({0x40'2000}, user);
	f.stream.ret({0x40'1100});
	CHECK(f.said() == "E sync info 402000+context E 401100 ");
	f.stream.call({0x40'2000}, {0x40'1100});
	f.stream.disable();
	f.stream.enable({0x40'2000}, user);
	f.stream.ret({0x40'1100});
	CHECK(f.said() == "E on 402000+context E =401100 ");
}

TEST_CASE("an exception says where it returns to, and the handler has its context", "[etm]")
{
	Fixture f;
	f.begin();
	f.stream.not_taken();
	f.stream.exception(Exception::irq, {0x40'1008});
	f.stream.handler({0xffff'8000'1000'0280}, kernel);
	f.stream.exception_return({0x40'1008}, user);
	CHECK(f.said() == "N exception 401008 ffff800010000280+context E 401008+context return ");
	f.stream.exception(Exception::irq, {0x40'1008});
	f.stream.disable(); /* the kernel is not traced */
	CHECK(f.said() == "exception =401008 ");
}

TEST_CASE("one address is enough for an exception at the target of a branch", "[etm]")
{
	Fixture f;
	f.begin();
	f.stream.indirect({0x40'2000});
	f.stream.exception(Exception::instruction_fault, {0x40'2000});
	CHECK(f.said() == "E exception-at-target 402000 ");
	f.stream.indirect({0x40'2000});
	f.stream.exception(Exception::irq, {0x40'2004});
	CHECK(f.said() == "E =402000 exception 402004 ");
	Fixture with_stack({.return_stack = true, .cycle_threshold = {}});
	with_stack.begin();
	with_stack.stream.indirect({0x40'2000});
	with_stack.stream.exception(Exception::irq, {0x40'2000});
	CHECK(with_stack.said() == "E 402000 exception =402000 ");
}

TEST_CASE("ETE has no packets of exception returns", "[etm]")
{
	Fixture f({.ete = true, .cycle_threshold = {}});
	f.begin(kernel);
	f.stream.exception_return({0x40'1008}, user);
	CHECK(f.said() == "E 401008+context ");
}

TEST_CASE("a context is told when it is another one", "[etm]")
{
	Fixture f;
	f.begin();
	f.stream.context(user);
	f.stream.context({.level = 0, .vmid = {}, .context_id = 5});
	f.stream.context({.level = 0, .vmid = {}, .context_id = 5});
	f.stream.sync({0x40'1000}, {.level = 0, .vmid = {}, .context_id = 5});
	CHECK(f.said() == "context sync info 401000+context ");
}

TEST_CASE("cycles are told from the threshold on, and are unknown at first", "[etm]")
{
	Fixture f({.cycle_threshold = 10});
	f.begin();
	f.stream.cycles(3);
	f.stream.direct({0x40'1000});
	f.stream.cycles(9);
	f.stream.not_taken();
	f.stream.cycles(1);
	f.stream.indirect({0x40'1004});
	f.stream.cycles(0x1000);
	f.stream.not_taken();
	f.stream.cycles(11);
	f.stream.exception(Exception::irq, {0x40'1008});
	CHECK(f.said() == "E cycles:0 NE 401004 cycles:10 N cycles:0 exception 401008 cycles:11 ");
	f.stream.disable();
	f.stream.enable({0x40'2000}, user);
	f.stream.cycles(20);
	f.stream.not_taken();
	CHECK(f.said() == "on 402000+context N cycles:0 ");
}

TEST_CASE("the time stands behind what came before", "[etm]")
{
	Fixture f({.ete = true, .cycle_threshold = {}, .timestamp_markers = true});
	f.begin();
	f.stream.indirect({0x40'1004});
	f.stream.timestamp(0x1234);
	f.stream.not_taken();
	CHECK(f.said() == "E 401004 marker time N ");
	f.stream.timestamp(0x1234'5678'9abc);
	CHECK(f.stream.pending().size() == 1 + 8);
	f.said();
	f.stream.timestamp(0x1234'5678'9abd); /* one byte differs */
	CHECK(f.stream.pending().size() == 1 + 2);
}

TEST_CASE("a synchronization is due after so many bytes", "[etm]")
{
	Fixture f({.cycle_threshold = {}, .sync_period = 256});
	f.begin();
	while (!f.stream.sync_due()) {
		f.stream.event(1);
		CHECK(f.stream.pending().size() < 256);
	}
	CHECK(f.stream.pending().size() == 256 - 12 - 3 - 1 - 6);
	f.stream.sync({0x40'1000}, user);
	CHECK_FALSE(f.stream.sync_due());
}

TEST_CASE("what is behind an overflow is of no use until a synchronization", "[etm]")
{
	Fixture f;
	f.begin();
	f.stream.not_taken();
	f.stream.indirect({0x40'2000});
	f.stream.begin_overflow();
	CHECK(f.stream.overflowing());
	f.stream.indirect({0x40'3000});
	f.stream.exception(Exception::irq, {0x40'2000});
	f.stream.handler({0xffff'8000'1000'0280}, kernel);
	f.stream.timestamp(5);
	f.stream.end_overflow({0x40'4000}, user);
	f.stream.not_taken();
	CHECK(f.said() == "overflow sync info on 404000+context N ");
	f.stream.begin_overflow();
	f.stream.disable();
	f.stream.end_overflow();
	CHECK(f.said() == "overflow ");
	f.stream.enable({0x40'4000}, user);
	CHECK(f.said() == "sync info on 404000+context ");
	f.stream.begin_overflow();
	f.stream.enable({0x40'5000}, user);
	CHECK(f.said().empty());
	f.stream.end_overflow({0x40'5000}, user);
	CHECK(f.said() == "overflow sync info on 405000+context ");
	f.stream.not_taken();
	f.stream.begin_overflow();
	f.stream.end_overflow();
	CHECK(f.said() == "overflow ");
}
