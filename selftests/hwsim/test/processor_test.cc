// SPDX-License-Identifier: GPL-2.0-or-later
/* What the processor around the trace unit provides: CPUID and the performance interrupt. */
#include <catch2/catch_test_macros.hpp>

#include <map>
#include <string>

#include "../x86/cpuid.h"
#include "../x86/local_apic.h"

using namespace hwsim::x86;

namespace
{

/* Memory-mapped registers of four bytes each, and the messages that were written. */
class ApicMemory final : public hwsim::GuestMemory
{
public:
	bool read(std::uint64_t address, std::span<std::uint8_t> to) override
	{
		const auto at = words.find(address);
		if (at == words.end() || to.size() != 4)
			return false;
		std::memcpy(to.data(), &at->second, 4);
		return true;
	}
	bool write(std::uint64_t address, std::span<const std::uint8_t> from) override
	{
		std::memcpy(&words[address], from.data(), 4);
		return true;
	}
	bool read_linear(std::uint64_t, std::span<std::uint8_t>) override { return false; }
	bool write_linear(std::uint64_t, std::span<const std::uint8_t>) override { return false; }

	std::map<std::uint64_t, std::uint32_t> words;
};

constexpr std::uint32_t nmi = 0x400;

} // namespace

TEST_CASE("a performance interrupt goes to the APIC's own address, once")
{
	ApicMemory memory;
	memory.words[LocalApic::base + LocalApic::apic_id] = 3u << 24;
	memory.words[LocalApic::base + LocalApic::lvtpc] = nmi;
	LocalApic apic(memory);
	CHECK(apic.performance_interrupt());
	CHECK(memory.words[0xfee0'3000] == nmi);
	CHECK(memory.words[LocalApic::base + LocalApic::lvtpc] == (nmi | LocalApic::masked));
	memory.words.erase(0xfee0'3000);
	CHECK_FALSE(apic.performance_interrupt());
	CHECK_FALSE(memory.words.contains(0xfee0'3000));
}

TEST_CASE("a machine may have two types of cores, which differ in what their trace units can do")
{
	const Cores alike = find_cores("icelake").value();
	CHECK(cpuid(alike.of(0), {}, 0x14, 0, {}) == cpuid(alike.of(1), {}, 0x14, 0, {}));
	const Cores cores = find_cores("icelake+goldmont").value();
	for (const unsigned leaf : {0u, 1u})
		for (const unsigned processor : {0u, 1u, 2u, 5u}) {
			const Profile &type = *find_profile(processor % 2 ? "goldmont" : "icelake");
			CHECK(cpuid(cores.of(processor), {}, 0x14, leaf, {}) == cpuid(type, {}, 0x14, leaf, {}));
		}
	/* PTWRITE differs; other leaves are the same for both types. */
	CHECK(cores.of(0).pt.ptwrite);
	CHECK_FALSE(cores.of(1).pt.ptwrite);
	for (const unsigned leaf : {1u, 7u, 0xau, 0x15u})
		CHECK(cpuid(cores.of(1), {}, leaf, 0, {}) == cpuid(cores.of(0), {}, leaf, 0, {}));
	CHECK(find_cores("skylake+broadwell"));
	for (const char *name :
		{"", "+", "skylake+", "+skylake", "skylake+none", "skylake+icelake+goldmont", "broadwell+skylake"}) {
		INFO(name);
		CHECK_FALSE(find_cores(name));
	}
}

TEST_CASE("every profile enumerates what it has, and hides what is switched off")
{
	for (const Profile &profile : profiles()) {
		INFO(std::string(profile.name));
		/* Leaf 1CH: architectural last branch records; the leaves before it are empty. */
		const bool records = profile.name == "alderlake-n";
		CHECK(cpuid(profile, {}, 0, 0, {.eax = 5}).eax == (records ? 0x1c : 0x15));
		CHECK(cpuid(profile, {.pmu = false}, 0, 0, {.eax = 5}).eax == 0x15);
		CHECK((cpuid(profile, {}, 7, 0, {}).edx >> 19 & 1) == records);
		CHECK((cpuid(profile, {.pmu = false}, 7, 0, {.edx = 1 << 19}).edx >> 19 & 1) == 0);
		CHECK(cpuid(profile, {}, 0x1c, 0, {.eax = 1}) ==
			(records ? CpuidResult{.eax = 0b1011, .ebx = 7, .ecx = 7} : CpuidResult{}));
		CHECK(cpuid(profile, {.pmu = false}, 0x1c, 0, {.eax = 1}) == CpuidResult{});
		for (unsigned leaf = 0x16; leaf < 0x1c; leaf++)
			CHECK(cpuid(profile, {}, leaf, 0, {.eax = 1}) == CpuidResult{});
		CHECK(cpuid(profile, {}, 1, 0, {}).eax == profile.signature);
		CHECK((cpuid(profile, {}, 1, 0, {}).edx >> 21 & 1) == 0);
		CHECK((cpuid(profile, {.bts = true}, 1, 0, {}).edx >> 21 & 1) == 1);
		CHECK(cpuid(profile, {}, 7, 0, {.ebx = 1}).ebx == (1u | 1u << 25));
		CHECK(cpuid(profile, {.pt = false}, 7, 0, {.ebx = 1}).ebx == 1);
		CHECK(cpuid(profile, {}, 7, 1, {.ebx = 1}).ebx == 1);
		CHECK((cpuid(profile, {}, 0xa, 0, {}).eax & 0xff) == profile.pmu.version);
		CHECK(cpuid(profile, {.pmu = false}, 0xa, 0, {}) == CpuidResult{});
		/* VMX */
		CHECK((cpuid(profile, {}, 1, 0, {}).ecx >> 5 & 1) == 1);
		/* AnyThread deprecation; PDCM, whatever QEMU says. */
		CHECK((cpuid(profile, {}, 0xa, 0, {}).edx >> 15) == (profile.pmu.version >= 5));
		CHECK((cpuid(profile, {}, 1, 0, {}).ecx >> 15 & 1) == 1);
		CHECK((cpuid(profile, {.pmu = false}, 1, 0, {.ecx = ~0u}).ecx >> 15 & 1) == 0);
		const CpuidResult pt = cpuid(profile, {}, 0x14, 0, {});
		CHECK((pt.ecx & 1) == 1);
		CHECK((pt.ebx >> 3 & 1) == profile.pt.mtc);
		CHECK((cpuid(profile, {}, 0x14, 1, {}).eax & 7) == profile.pt.address_ranges);
		CHECK(cpuid(profile, {.pt = false}, 0x14, 0, {}) == CpuidResult{});
		/* The TSC runs at bus_ratio * 100 MHz, so that cycles, CBR and MSR_PLATFORM_INFO agree. */
		CHECK(profile.tsc_ticks_per_ns * 10 == profile.bus_ratio);
	}
	CHECK(find_profile("no such") == nullptr);
	CHECK_FALSE(cpuid_differs(0x80000008));
}
