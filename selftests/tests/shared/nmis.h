/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * NMIs that a test sends, and events that overflow in them.
 */
#ifndef AUXPMU_TESTS_NMIS_H
#define AUXPMU_TESTS_NMIS_H

#include <cstdio>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include "shared/fixture.h"
#include "shared/knob.h"
#include "shared/tracepoint.h"
#include "synth/on_demand.h"

namespace auxpmu::test
{

/* Prints what is sent to the test report, which counts the cases by it (selftests/vm/report.awk). */
inline void say_what_is_sent(const NmiSender &nmi)
{
	std::printf("# sent: %s\n", nmi.kind().c_str());
}

/* An NmiSender; skips the test where NMIs cannot be sent. */
class Nmis : public NmiSender
{
public:
	Nmis() : NmiSender(open()) { say_what_is_sent(*this); }

private:
	static NmiSender open()
	{
		auto sender = NmiSender::open(options().pmu);

		if (!sender)
			SKIP("no NMIs can be sent: " << sender.error().text);
		return std::move(*sender);
	}

	NoThrottling every_sample;
};

/*
 * A group member that overflows in each of these NMIs, with the filter only_sent: x86 has a tracepoint behind each NMI handler,
 * and ours is the one that handles it; on arm64 the NMIs are interrupts of the performance counters.
 */
#if defined(__x86_64__)
inline perf_event_attr at_nmi()
{
	return at_tracepoint("nmi/nmi_handler");
}
constexpr const char *only_sent = "handled==1";
#else
inline perf_event_attr at_nmi()
{
	return at_tracepoint("irq/irq_handler_entry");
}
constexpr const char *only_sent = "name==\"arm-pmu\"";
#endif

} // namespace auxpmu::test

#endif /* AUXPMU_TESTS_NMIS_H */
