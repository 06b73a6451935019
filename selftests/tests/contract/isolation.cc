// SPDX-License-Identifier: GPL-2.0-only
/* No byte of one user's trace reaches another. */
#include <cstring>
#include <format>

#include "shared/fixture.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

/* Checks every byte of an AUX area before anything was traced. */
bool all_zero(const AuxRing &aux)
{
	for (std::byte byte : aux.view(0, aux.size()).first)
		if (byte != std::byte{0})
			return false;
	return true;
}

} // namespace

TEST_CASE("Users of one unit by turns never see each other's trace, however they leave", "[synth][isolation]")
{
	need_synthetic();
	for (unsigned output : every_output())
		for (int round = 0; round < 24; round++) {
			std::uint32_t seed = 100 + static_cast<std::uint32_t>(round);

			/* One user leaves trace in the unit: trace not yet handed over, or more than there was room for. */
			{
				Setup setup;
				setup.output = output;
				setup.seed = seed;
				setup.record = 64u << (round % 7);
				setup.mode = round & 1 ? AuxMode::overwrite : AuxMode::full_trace;
				setup.aux_bytes = round & 2 ? 16 * KiB : 128 * KiB;
				Tracer leaving(setup);
				leaving.enable();
				leaving.emit(round & 4 ? 3 * KiB : 200 * KiB);
				if (round & 8)
					leaving.aux.unmap();
				else if (round & 16)
					leaving.disable();
			}
			/* The next user gets only his own trace, from the first byte on. */
			Setup setup;
			setup.output = output;
			setup.seed = ~seed;
			setup.mode = round & 1 ? AuxMode::full_trace : AuxMode::overwrite;
			Tracer coming(setup);
			INFO(describe(setup) << ", round " << round);
			CHECK(all_zero(coming.aux));
			coming.enable();
			coming.emit_all(1024);
			coming.finish();
			REQUIRE(coming.verifier.streams().size() == 1);
			CHECK(coming.verifier.streams()[0].first_seq == 0);
			CHECK(coming.verifier.totals().records == 17);
			/* Nothing has been written behind his trace. */
			std::uint64_t head = coming.aux.head();
			auto behind = coming.aux.view(0, coming.aux.size()).first.subspan(head);
			for (std::byte byte : behind)
				if (byte != std::byte{0}) {
					FAIL_CHECK("bytes behind aux_head are not zero");
					break;
				}
		}
}
