// SPDX-License-Identifier: GPL-2.0-or-later
/* AtbPort: how long a trace unit waits for a path that is closed. */
#include <catch2/catch_test_macros.hpp>

#include <thread>

#include "../arm64/coresight.h"
#include "memory_fake.h"

using namespace hwsim::arm64;

namespace
{

bool may()
{
	return true;
}
bool may_not()
{
	return false;
}

} // namespace

TEST_CASE("A processor whose path is closed waits for the one that has closed it, as long as that takes", "[atb-port]")
{
	FakeMemory memory(1 << 16);
	Coresight machine(Topology::read("etm a@ each out=f\nfunnel f out=x\netr x\n", 2), memory);
	CHECK(machine.at(0)->write(management::lar, management::unlock));
	constexpr unsigned self = 0, other = 1, turn = 50, too_long = 2000;
	AtbPort port(machine, self, may);
	const auto use = [&machine](unsigned cpu, unsigned times, bool stores = true) {
		const std::lock_guard guard(machine.lock);
		for (unsigned i = 0; i < times; i++)
			machine.used(cpu, stores);
	};
	/* Nobody has closed it, or this processor itself. */
	CHECK_FALSE(port.wait());
	use(self, 1);
	use(other, 1, false);
	CHECK_FALSE(port.wait());
	use(other, 1);
	CHECK_FALSE(AtbPort(machine, machine.input_of(self)).wait());
	CHECK(AtbPort(machine, self, may_not).wait());
	CHECK(machine.waited().begun == 0);
	{
		const std::jthread opens([&] {
			use(other, turn);
			const std::lock_guard guard(machine.lock);
			machine.at(0)->write(0, 1);
			machine.used(other, true);
		});
		CHECK(port.wait());
	}
	CHECK(port.wait());
	machine.at(0)->write(0, 0);
	{
		/* It has had its time, and has left the path closed. */
		const std::jthread forgets([&](const std::stop_token &stop) {
			while (!stop.stop_requested())
				use(other, too_long);
		});
		CHECK_FALSE(port.wait());
	}
	CHECK(machine.waited().begun > 0);
	CHECK(machine.waited().timed_out == 0);
	/* It does nothing at all any more. */
	CHECK_FALSE(port.wait());
	CHECK(machine.waited().timed_out == 1);
}
