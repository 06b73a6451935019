/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's fixed-width types for the host's unit tests: as much of <linux/types.h> as the pure C of module/ needs.
 */
#ifndef UNIT_SHIM_LINUX_TYPES_H
#define UNIT_SHIM_LINUX_TYPES_H

/* The C library's headers expect __u32 and similar types from here. */
#include_next <linux/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#endif
