// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A libdebuginfod without a network: perf and gdb find that there is no client, and go on. The real one brings some 35 libraries along (TLS,
 * Kerberos, LDAP), which take most of the time in which perf starts on an emulated processor. The names and their versions are those of
 * elfutils' debuginfod.h and libdebuginfod.map; without a client nobody calls any but the first two.
 */
#include <cerrno>

extern "C" {
void *debuginfod_begin();
void debuginfod_end(void *client);
int debuginfod_find_debuginfo();
int debuginfod_find_executable();
int debuginfod_find_source();
int debuginfod_find_section();
int debuginfod_find_metadata();
int debuginfod_add_http_header();
void debuginfod_set_progressfn();
void debuginfod_set_user_data();
void debuginfod_set_verbose_fd();
void *debuginfod_get_user_data();
const char *debuginfod_get_url();
const char *debuginfod_get_headers();
}

void *debuginfod_begin()
{
	return nullptr;
}

void debuginfod_end(void *) {}

int debuginfod_find_debuginfo()
{
	return -ENOSYS;
}

int debuginfod_find_executable()
{
	return -ENOSYS;
}

int debuginfod_find_source()
{
	return -ENOSYS;
}

int debuginfod_find_section()
{
	return -ENOSYS;
}

int debuginfod_find_metadata()
{
	return -ENOSYS;
}

int debuginfod_add_http_header()
{
	return -ENOSYS;
}

void debuginfod_set_progressfn() {}

void debuginfod_set_user_data() {}

void debuginfod_set_verbose_fd() {}

void *debuginfod_get_user_data()
{
	return nullptr;
}

const char *debuginfod_get_url()
{
	return nullptr;
}

const char *debuginfod_get_headers()
{
	return nullptr;
}
