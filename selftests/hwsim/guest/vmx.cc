// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program to be traced: the same recursion before there is a virtual machine, while there is one, and afterwards. The first machine has
 * KVM enter VMX operation on every processor, and with the last one it leaves it. Prints how often the recursive function is entered
 * in so many of the three.
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

/* Calls of fibonacci() that fibonacci(n) makes, itself included. */
unsigned long entries(unsigned n)
{
	return n < 2 ? 1 : 1 + entries(n - 1) + entries(n - 2);
}

unsigned recur(unsigned depth)
{
	asm volatile("" : "+r"(depth)); /* it has no effects, and a compiler would call it once */
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
