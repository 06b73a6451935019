// SPDX-License-Identifier: GPL-2.0-only
#include "work.h"

#include <cstring>

#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit/handle.h"

namespace auxpmu::fuzz
{

std::uint64_t watched = 0;

void work(std::uint64_t what, std::uint64_t amount)
{
	volatile std::uint64_t sum = 0;

	switch (what) {
	case 0:
		for (std::uint64_t n = 0; n < amount * 500; n++)
			sum = sum + n;
		break;
	case 1:
		for (std::uint64_t n = 0; n < amount; n++)
			::syscall(SYS_getppid);
		break;
	case 2: {
		const std::size_t bytes = (1 + amount / 4) * page_size();
		void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory != MAP_FAILED) {
			std::memset(memory, 1, bytes);
			::munmap(memory, bytes);
		}
		break;
	}
	case 3:
		for (std::uint64_t n = 0; n < amount; n++)
			::sched_yield();
		break;
	default:
		for (std::uint64_t n = 0; n < 1 + amount / 64; n++) {
			const pid_t child = ::fork();

			if (!child) {
				::syscall(SYS_getppid);
				::_exit(0);
			}
			if (child > 0)
				::waitpid(child, nullptr, 0);
		}
	}
	watched = sum;
}

} // namespace auxpmu::fuzz
