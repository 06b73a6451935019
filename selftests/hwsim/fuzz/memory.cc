// SPDX-License-Identifier: GPL-2.0-or-later
#include "memory.h"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace hwsim::fuzz
{
namespace
{

void map(std::uint64_t at, std::size_t size, int rights, int flags, int fd, std::size_t offset)
{
	void *there = reinterpret_cast<void *>(at);
	if (mmap(there, size, rights, flags | MAP_FIXED, fd, static_cast<off_t>(offset)) != there)
		_exit(2);
}
void map_code(std::uint64_t at, int rights, unsigned file_page)
{
	map(at, page_size, rights, MAP_SHARED, code_fd, file_page * page_size);
}
void map_memory(std::uint64_t at, std::size_t size, int rights)
{
	map(at, size, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

} // namespace

void map_memory_of(const Program &program)
{
	constexpr int all = PROT_READ | PROT_WRITE | PROT_EXEC;
	for (std::size_t i = 0; i < std::size(arenas); i++)
		for (unsigned page = 0; page < arenas[i].pages; page++)
			map_code(arenas[i].base + page * page_size, program.protection[i][page],
				arenas[i].file_page + page);
	map_code(base_arena.base, all, base_arena.file_page);
	map_code(remapped, all, remapped_file_page);
	map_memory(fresh, fresh_size, PROT_READ | PROT_WRITE);
	map_memory(denied, denied_size, PROT_NONE);
	map_memory(stack, stack_size, PROT_READ | PROT_WRITE);
	map_memory(other_stack, other_stack_size, PROT_READ | PROT_WRITE);
}

CodeFile::CodeFile(const Program &program, const std::vector<unsigned> &kept)
{
	const int fd = memfd_create("code", 0);
	const std::vector<std::uint8_t> image = program.image(kept);
	if (fd < 0 || write(fd, image.data(), image.size()) != static_cast<ssize_t>(image.size()) ||
		dup2(fd, code_fd) < 0) {
		std::perror("the file of the code");
		std::exit(1);
	}
	close(fd);
}

CodeFile::~CodeFile()
{
	close(code_fd);
}

} // namespace hwsim::fuzz
