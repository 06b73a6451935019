// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that says when it was where: before each call of moment() it reads the TSC, and behind it again. What traces it has to have it there in
 * between.
 *
 *   moments FILE COUNT [ptwrite]     FILE: CPUID 15H, EAX and EBX; then a line for each call. With the word the first of each two times is written
 *                                    into the trace, too. To be built with -mptwrite.
 */
#include <cpuid.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <x86intrin.h>

/*
 * With a name that a decoder is told, and reached by an indirect call, which has a packet of its own. Not a RET at once: a decoder may look beyond
 * that, and see the next time, before it tells of it.
 */
extern "C" [[gnu::noinline]] void moment()
{
	asm volatile("nop");
}

namespace
{

void (*volatile call)() = moment;

struct Between {
	std::uint64_t before, after;
};

/* Of more blocks than pass until the time is looked at. */
void work()
{
	volatile unsigned value = 0;

	for (int n = 0; n < 200; n++)
		value = value + (value % 3 ? 1u : 2u);
}

Between once(bool ptwrite)
{
	Between times;

	times.before = __rdtsc();
	if (ptwrite)
		asm volatile("ptwrite %0" : : "r"(times.before));
	call();
	times.after = __rdtsc();
	return times;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	std::FILE *file = std::fopen(argv[1], "w");
	std::vector<Between> all(static_cast<std::size_t>(std::atoi(argv[2])));
	unsigned a, b, c, d;
	if (!file || !__get_cpuid(0x15, &a, &b, &c, &d))
		return 1;
	for (Between &one : all) {
		one = once(argc > 3);
		work();
	}
	std::fprintf(file, "%u %u\n", a, b);
	for (const Between &one : all)
		std::fprintf(file, "%llu %llu\n", static_cast<unsigned long long>(one.before),
			static_cast<unsigned long long>(one.after));
	return std::fclose(file) ? 1 : 0;
}
