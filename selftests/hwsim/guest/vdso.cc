// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The vDSO of this process, for a decoder: an ELF file whose headers say where it is mapped, which is in each process the same only where
 * addresses are not random. Programs of arm64 return from signals by it.
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
	/* behind its code are the headers of sections, and nothing else of it is mapped */
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
