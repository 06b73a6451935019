/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a test binary talks: KTAP on standard output, one line for each test case, and kselftest's exit codes; and it looks
 * into the kernel log after every test case: a WARN or worse fails the test that was running.
 */
#ifndef AUXPMU_TESTS_REPORT_H
#define AUXPMU_TESTS_REPORT_H

namespace auxpmu::test
{

/* main() of a test binary: Catch2's options, --pmu and --bytes; 0 passed, 1 failed, 4 skipped. */
int run(int argc, char **argv);

} // namespace auxpmu::test

#endif /* AUXPMU_TESTS_REPORT_H */
