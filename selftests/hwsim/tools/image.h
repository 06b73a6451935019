/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Image: the code that libipt walks along. */
#ifndef HWSIM_TOOLS_IMAGE_H
#define HWSIM_TOOLS_IMAGE_H

#include <cstdint>
#include <elf.h>
#include <fstream>
#include <intel-pt.h>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace hwsim
{

using Bytes = std::vector<std::uint8_t>;

inline Bytes read_file(const std::string &path)
{
	std::ifstream file(path, std::ios::binary);
	if (!file)
		throw std::runtime_error("cannot read " + path);
	return {std::istreambuf_iterator<char>(file), {}};
}

using Image = std::unique_ptr<pt_image, void (*)(pt_image *)>;
inline Image new_image()
{
	return {pt_image_alloc(nullptr), pt_image_free};
}

/* Adds the code of a file where its ELF headers say. */
inline void load(pt_image *image, const std::string &path)
{
	std::ifstream file(path, std::ios::binary);
	Elf64_Ehdr header;
	if (!file.read(reinterpret_cast<char *>(&header), sizeof header))
		throw std::runtime_error("cannot read " + path);
	std::vector<Elf64_Phdr> segments(header.e_phnum);
	file.seekg(static_cast<std::streamoff>(header.e_phoff));
	if (!file.read(reinterpret_cast<char *>(segments.data()),
		    static_cast<std::streamsize>(segments.size() * sizeof segments[0])))
		throw std::runtime_error("no segments in " + path);
	for (const Elf64_Phdr &segment : segments)
		if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X))
			pt_image_add_file(
				image, path.c_str(), segment.p_offset, segment.p_filesz, nullptr, segment.p_vaddr);
}

} // namespace hwsim

#endif
