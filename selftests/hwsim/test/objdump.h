/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs objdump of binutils, with which the classifiers are compared. */
#ifndef HWSIM_TEST_OBJDUMP_H
#define HWSIM_TEST_OBJDUMP_H

#include <catch2/catch_test_macros.hpp>

#include <cstdio>
#include <memory>
#include <string>

/* Calls each() with every line of the output, including its newline. */
template <class Each>
void for_lines_of(const std::string &command, Each each)
{
	std::unique_ptr<std::FILE, int (*)(std::FILE *)> pipe(popen(command.c_str(), "r"), pclose);
	REQUIRE(pipe);
	char text[512];
	while (std::fgets(text, sizeof text, pipe.get()))
		each(text);
}

#endif
