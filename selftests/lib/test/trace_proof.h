/* SPDX-License-Identifier: GPL-2.0-only */
/* Code shared by the tests of the trace verifier: what it is to expect of a trace made in memory, and what it reports. */
#ifndef AUXPMU_LIB_TEST_TRACE_PROOF_H
#define AUXPMU_LIB_TEST_TRACE_PROOF_H

#include <cstddef>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "synth/trace_verifier.h"
#include "trace_writer.h"

namespace auxpmu
{

inline TraceExpectation expect(const TraceWriter &writer)
{
	TraceExpectation expectation;

	expectation.record_size = writer.size;
	expectation.pattern = writer.pattern;
	expectation.seed = writer.seed;
	return expectation;
}

/* The error of the verifier for a trace; empty if it accepts the trace. */
inline std::string wrong_with(const TraceWriter &writer, const TraceExpectation &expectation)
{
	TraceVerifier verifier(expectation);

	const bool right = verifier.feed(writer.bytes) && verifier.complete();

	CHECK(right == verifier.error().empty());
	return verifier.error();
}

/* Removes count records from this index on from a trace whose records are all of one size. */
inline void drop(TraceWriter &writer, std::ptrdiff_t index, std::ptrdiff_t count = 1)
{
	auto first = writer.bytes.begin() + index * writer.size;

	writer.bytes.erase(first, first + count * writer.size);
}

} // namespace auxpmu

#endif /* AUXPMU_LIB_TEST_TRACE_PROOF_H */
