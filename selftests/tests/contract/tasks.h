/* SPDX-License-Identifier: GPL-2.0-only */
/* The other role of the test program, which the exec tests execute. */
#ifndef AUXPMU_TESTS_TASKS_H
#define AUXPMU_TESTS_TASKS_H

namespace auxpmu::test
{

/* argv[1] that selects this role: "PROGRAM ROLE CPU BYTES FD" emits, with the inherited emitter, and exits. */
inline constexpr const char *exec_role = "--exec-role";
int run_exec_role(int argc, char **argv);

} // namespace auxpmu::test

#endif /* AUXPMU_TESTS_TASKS_H */
