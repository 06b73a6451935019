/* SPDX-License-Identifier: GPL-2.0-only */
/* An idle task, for events that exist only for their rings. */
#ifndef AUXPMU_TESTS_IDLE_H
#define AUXPMU_TESTS_IDLE_H

#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include "shared/fixture.h"

namespace auxpmu::test
{

class Idle
{
public:
	Idle() : pid(spawn([] { return ::pause() == 0; })) {}
	~Idle()
	{
		::kill(pid, SIGKILL);
		::waitpid(pid, nullptr, 0);
	}
	Idle(const Idle &) = delete;

	const pid_t pid;
};

} // namespace auxpmu::test

#endif /* AUXPMU_TESTS_IDLE_H */
