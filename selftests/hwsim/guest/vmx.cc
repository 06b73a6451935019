// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program to be traced: it runs the same recursion before, during and after the life of a virtual machine. KVM enters VMX operation on
 * every processor with the first virtual machine, and leaves it with the last one. Prints how often the recursive function is entered
 * in TIMES of the three recursions.
 *
 *   vmx DEPTH TIMES
 */
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "start.h"

extern "C" [[gnu::noinline]] unsigned fibonacci(unsigned n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

namespace
{

/* How often fibonacci() is entered by a call of fibonacci(n), that call included. */
unsigned long entries(unsigned n)
{
	return n < 2 ? 1 : 1 + entries(n - 1) + entries(n - 2);
}

unsigned recur(unsigned depth)
{
	asm volatile(""
		: "+r"(depth)); /* fibonacci() has no side effects; without this the compiler would call it once */
	return fibonacci(depth);
}

} // namespace

int main(int argc, char **argv)
{
	wait_for_start();
	if (argc != 3)
		return 2;
	const auto depth = static_cast<unsigned>(std::atoi(argv[1]));
	const auto times = static_cast<unsigned long>(std::atoi(argv[2]));
	const int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	unsigned value = recur(depth);
	const int machine = ioctl(kvm, KVM_CREATE_VM, 0);
	if (machine < 0) {
		std::perror("vmx: a virtual machine");
		return 1;
	}
	value += recur(depth);
	close(machine);
	value += recur(depth);
	std::printf("value %u entries %lu\n", value, entries(depth) * times);
	return 0;
}
