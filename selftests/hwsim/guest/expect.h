/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts the checks of a test program, section by section, and those that failed; prints the first failures of each section.
 */
#ifndef HWSIM_GUEST_EXPECT_H
#define HWSIM_GUEST_EXPECT_H

#include <cstdarg>
#include <cstdio>

inline unsigned tried, wrong, told;

[[gnu::format(printf, 2, 3)]] inline void expect(bool right, const char *what, ...)
{
	tried++;
	if (right)
		return;
	wrong++;
	/* The first five failures of a section are enough. */
	if (told++ >= 5)
		return;
	va_list arguments;
	va_start(arguments, what);
	std::printf("wrong: ");
	std::vprintf(what, arguments);
	std::printf("\n");
	va_end(arguments);
}

template <class Of>
void section(const char *name, Of of)
{
	const unsigned before = tried, wrong_before = wrong;
	told = 0;
	of();
	std::printf("%s: tried %u, wrong %u\n", name, tried - before, wrong - wrong_before);
}

#endif
