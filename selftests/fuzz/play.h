/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plays a program: operation by operation, each by the actor that it names, with what the kernel says counted in a Tally.
 * Whatever the program does to its process ends with that process, so each is played in one of its own.
 */
#ifndef AUXPMU_FUZZ_PLAY_H
#define AUXPMU_FUZZ_PLAY_H

#include <sys/types.h>

#include "machine.h"
#include "program.h"
#include "tally.h"

namespace auxpmu::fuzz
{

/*
 * echo: each operation is told of before it is begun.  Does not return.  user: whose memory it takes; with all capabilities if
 * the program is root's, with none else.
 */
[[noreturn]] void play(const Program &program, const Machine &machine, Tally &tally, uid_t user, bool echo);

/* What a process executes that a program's actor has become. */
int play_executed();

} // namespace auxpmu::fuzz

#endif /* AUXPMU_FUZZ_PLAY_H */
