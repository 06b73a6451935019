// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Boots another kernel from this one, as kexec -l and reboot do, without an initramfs; or loads a kernel to be booted when this one
 * crashes.
 *
 *   kexec [--crash] IMAGE COMMAND-LINE
 */
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <linux/kexec.h>
#include <linux/reboot.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const bool crash = argc > 1 && !std::strcmp(argv[1], "--crash");
	if (crash) {
		argc--;
		argv++;
	}
	const int image = argc == 3 ? ::open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	const unsigned long how = KEXEC_FILE_NO_INITRAMFS | (crash ? KEXEC_FILE_ON_CRASH : 0);

	if (image < 0) {
		std::perror("kexec: the image");
		return 1;
	}
	if (::syscall(SYS_kexec_file_load, image, -1, std::strlen(argv[2]) + 1, argv[2], how)) {
		std::perror("kexec: kexec_file_load");
		return 1;
	}
	if (crash)
		return 0;
	::syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_KEXEC, nullptr);
	std::perror("kexec: reboot");
	return 1;
}
