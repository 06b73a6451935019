// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fragments free memory into single pages: allocates nearly all of it, frees every second page, prints a line, and keeps the rest until it
 * is killed. The pages it keeps are locked, so that compaction does not move them (vm.compact_unevictable_allowed=0).
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace
{

constexpr std::size_t page = 4096, step = 1 << 20, left = 10 << 20;

std::size_t free_bytes()
{
	std::FILE *file = std::fopen("/proc/meminfo", "r");
	char line[128];
	unsigned long kib = 0;
	while (file && std::fgets(line, sizeof line, file))
		if (std::sscanf(line, "MemFree: %lu", &kib) == 1)
			break;
	if (file)
		std::fclose(file);
	return kib << 10;
}

} // namespace

int main()
{
	const std::size_t most = free_bytes();
	char *const all = static_cast<char *>(
		mmap(nullptr, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
	if (all == MAP_FAILED || madvise(all, most, MADV_NOHUGEPAGE) || mlock2(all, most, MLOCK_ONFAULT)) {
		std::perror("fragment");
		return 1;
	}
	std::size_t taken = 0;
	for (; taken + step <= most && free_bytes() > left; taken += step)
		for (std::size_t at = taken; at < taken + step; at += page)
			all[at] = 1;
	for (std::size_t at = 0; at < taken; at += 2 * page)
		if (madvise(all + at, page, MADV_DONTNEED_LOCKED)) {
			std::perror("fragment");
			return 1;
		}
	std::printf("%zu MiB in single pages\n", (taken / 2) >> 20);
	std::fflush(stdout);
	pause();
	return 0;
}
