/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of a program: the file with its code, and what is mapped where. */
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

/* Maps it in this process, while there is a CodeFile. Ends the process if that fails. */
void map_memory_of(const Program &program);

} // namespace hwsim::fuzz

#endif
