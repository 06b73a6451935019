/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Delays a test program, so that tracing can begin with its main() but after its exec: if HWSIM_START names a pipe, the program waits
 * until something is written to it.
 */
#ifndef HWSIM_GUEST_START_H
#define HWSIM_GUEST_START_H

#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

inline void wait_for_start()
{
	const char *path = std::getenv("HWSIM_START");
	if (!path)
		return;
	unsetenv("HWSIM_START");
	const int file = open(path, O_RDONLY);
	char byte;
	if (file < 0 || read(file, &byte, 1) < 0)
		_exit(2);
	close(file);
}

#endif
