/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interface of hwsim_ring0: executes a program of its user in ring 0, by single steps or traced by
 * Intel PT.
 */
#ifndef HWSIM_FUZZ_RING0_H
#define HWSIM_FUZZ_RING0_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* The next instruction: registers that are operands, and its bytes, as many as can be read. */
struct ring0_step {
	__u64 ip, ax, cx, dx, cr3;
	__u8 code[15];
	__u8 available;
};

struct ring0_range {
	__u64 begin, end;
};

/* Each pointer has a count: of results, first the room for them, then how many there are. */
struct ring0_run {
	__u64 entry;		/* where the program begins, on the kernel's stack */
	__u64 exit;		/* filled in: where the program has to end */
	__u64 gates;		/* 256 addresses of handlers; 0 for the kernel's own */
	__u64 code, nr_code;	/* struct ring0_range: where steps may read */
	__u64 refused, nr_refused; /* WRMSRs that have to fault, also in steps */
	__u64 steps, nr_steps;	/* struct ring0_step, filled in; 0: traced */
	__u64 trace, trace_size; /* bytes, filled in */
	__u64 single_range;	/* output is to one range, not by a table */
	__u64 status;		/* filled in: IA32_RTIT_STATUS at the end */
	__u64 cr3;		/* filled in: what it was at the beginning */
};

#define RING0_WHERE _IOWR('0', 0, struct ring0_run) /* fills in "exit", no more */
#define RING0_RUN _IOWR('0', 1, struct ring0_run)

#ifdef __KERNEL__
extern char ring0_exit[];
#endif

#endif
