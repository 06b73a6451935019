/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Delays a test program, so that tracing can begin with its main() but after its exec: if HWSIM_START names a pipe, the program waits
 * until something is written to it. If HWSIM_ROUND and HWSIM_GO name pipes, it writes to the one after each round of its work, and waits
 * for the other before the next.
 */
#ifndef HWSIM_GUEST_START_H
#define HWSIM_GUEST_START_H

#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

inline void wait_for_byte(const char *path)
{
	const int file = open(path, O_RDONLY);
	char byte;
	if (file < 0 || read(file, &byte, 1) < 0)
		_exit(2);
	close(file);
}

inline void wait_for_start()
{
	const char *path = std::getenv("HWSIM_START");
	if (!path)
		return;
	unsetenv("HWSIM_START");
	wait_for_byte(path);
}

/* Returns false at once if nobody has asked for it. */
inline bool wait_after_round()
{
	const char *round = std::getenv("HWSIM_ROUND"), *go = std::getenv("HWSIM_GO");
	if (!round || !go)
		return false;
	const int file = open(round, O_WRONLY);
	if (file < 0 || write(file, "\n", 1) != 1)
		_exit(2);
	close(file);
	wait_for_byte(go);
	return true;
}

#endif
