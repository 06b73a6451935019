// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes the vDSO of this process for a decoder, as an ELF file whose headers say where it is mapped. That address is the same in every
 * process only if address space randomization is off. Programs on arm64 return from signal handlers through the vDSO.
 *
 *   vdso > FILE
 */
#include <cstdio>
#include <cstring>
#include <elf.h>
#include <sys/auxv.h>
#include <vector>

int main()
{
	const char *mapped = reinterpret_cast<const char *>(getauxval(AT_SYSINFO_EHDR));
	if (!mapped)
		return 1;
	Elf64_Ehdr header;
	std::memcpy(&header, mapped, sizeof header);
	/* the section headers follow the code, and are the last part of the vDSO that is mapped */
	std::vector<char> file(mapped, mapped + header.e_shoff + header.e_shnum * header.e_shentsize);
	for (unsigned i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr segment;
		char *at = file.data() + header.e_phoff + i * sizeof segment;
		std::memcpy(&segment, at, sizeof segment);
		segment.p_vaddr += reinterpret_cast<Elf64_Addr>(mapped);
		std::memcpy(at, &segment, sizeof segment);
	}
	return std::fwrite(file.data(), file.size(), 1, stdout) == 1 ? 0 : 1;
}
