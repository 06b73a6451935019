// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Gives the scheduler work: threads that allocate memory, processes that fork and exec, signals.
 *
 *   tasks [PROGRAM]        children execute PROGRAM, /bin/true by default
 *   tasks leaf             does nothing; for such a child
 */
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "start.h"

namespace
{

volatile std::sig_atomic_t signals;

void count(int)
{
	signals = signals + 1;
}

void allocate(unsigned seed)
{
	for (int i = 0; i < 1000; i++) {
		seed = seed * 1103515245 + 12345;
		if (seed & 0x10000)
			getppid();
		std::vector<char> block(seed % 5000 + 1);
		block.front() = static_cast<char>(seed);
	}
}

/* A child that signals its parent and becomes another program. */
void spawn(const char *program)
{
	const pid_t child = fork();
	if (!child) {
		kill(getppid(), SIGUSR1);
		execl(program, program, "leaf", nullptr);
		_exit(1);
	}
	while (waitpid(child, nullptr, 0) < 0)
		;
}

} // namespace

int main(int argc, char **argv)
{
	const char *program = argc > 1 ? argv[1] : "/bin/true";
	if (!std::strcmp(program, "leaf"))
		return 0;
	wait_for_start();
	std::signal(SIGUSR1, count);
	std::vector<std::thread> threads;
	for (unsigned i = 1; i <= 3; i++)
		threads.emplace_back(allocate, i);
	for (int i = 0; i < 5; i++)
		spawn(program);
	for (std::thread &thread : threads)
		thread.join();
	std::printf("tasks done, signals %d\n", static_cast<int>(signals));
	return 0;
}
