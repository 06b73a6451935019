/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The output of a test binary: KTAP on standard output, one line for each test case, and kselftest's exit codes. After every
 * test case it checks the kernel log: a WARN or worse fails the test that was running.
 */
#ifndef AUXPMU_TESTS_REPORT_H
#define AUXPMU_TESTS_REPORT_H

namespace auxpmu::test
{

/* main() of a test binary, with Catch2's options, --pmu and --bytes. Exit codes: 0 passed, 1 failed, 4 skipped. */
int run(int argc, char **argv);

} // namespace auxpmu::test

#endif /* AUXPMU_TESTS_REPORT_H */
