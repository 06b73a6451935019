// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that records when it was where: it reads the TSC before and after each call of moment(). A trace of the program must place
 * moment() between these two times.
 *
 *   moments FILE COUNT [ptwrite]     FILE: EAX and EBX of CPUID 15H, then a line for each call. With "ptwrite" the first time of each call
 *                                    is also written into the trace. To be built with -mptwrite.
 */
#include <cpuid.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <x86intrin.h>

/*
 * Not mangled, because the decoder is given this name, and reached by an indirect call, which has a packet of its own. It does not begin
 * with RET: a decoder may read past that, and see the next time packet, before it reports the function.
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

/* Executes more blocks than pass between two checks for a time packet. */
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
