/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of a program: the file that its code is, and what of it lies where. */
#ifndef HWSIM_FUZZ_MEMORY_H
#define HWSIM_FUZZ_MEMORY_H

#include <vector>

#include "program.h"

namespace hwsim::fuzz
{

/* The file of the code, as long as a run lasts. */
class CodeFile
{
public:
	CodeFile(const Program &program, const std::vector<unsigned> &kept);
	~CodeFile();
	CodeFile(const CodeFile &) = delete;
};

/* In this process, while there is such a file. The process ends if it cannot be. */
void map_memory_of(const Program &program);

} // namespace hwsim::fuzz

#endif
