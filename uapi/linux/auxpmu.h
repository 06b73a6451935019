/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What user space may know of auxpmu: the config layout of the synthetic PMU, the format of the
 * trace it writes, and the names under which the framework shows itself in debugfs. Everything else
 * is the perf ABI.
 *
 * Plain C99 and C++: fixed-width types come from <linux/types.h>, so the kernel, C and C++ include
 * it unchanged.
 */
#ifndef AUXPMU_UAPI_H
#define AUXPMU_UAPI_H

#include <linux/types.h>

/* Where the framework shows itself; a PMU's own folder is AUXPMU_DEBUGFS "/" name. */
#define AUXPMU_DEBUGFS		"/sys/kernel/debug/auxpmu"
#define AUXPMU_SYNTH_NAME	"auxpmu_synth"
/* Where units are modelled: a folder each. */
#define AUXPMU_CONFIGFS		"/sys/kernel/config/auxpmu"

/*
 * The synthetic PMU: attr.config. A field is { first bit, last bit }; sysfs format/ and the
 * driver's own extraction are generated from these very numbers. Bits outside every field must be
 * zero.
 */

/*
 * KiB of trace per millisecond, written from a timer, up to AUXPMU_SYNTH_RATE_MAX; 0 means
 * AUXPMU_SYNTH_RATE_DEFAULT.  Never takes more than half of a CPU.
 */
#define AUXPMU_SYNTH_RATE_LO		0
#define AUXPMU_SYNTH_RATE_HI		15
#define AUXPMU_SYNTH_RATE_DEFAULT	1
#define AUXPMU_SYNTH_RATE_MAX		1024

/* How the unit writes: enum auxpmu_synth_output. */
#define AUXPMU_SYNTH_OUTPUT_LO		16
#define AUXPMU_SYNTH_OUTPUT_HI		17

/* log2(record size / 64): 0 is 64 bytes, 6 is 4096 bytes; 7 is refused. */
#define AUXPMU_SYNTH_RECORD_LO		18
#define AUXPMU_SYNTH_RECORD_HI		20

/* Payload: enum auxpmu_synth_pattern. */
#define AUXPMU_SYNTH_PATTERN_LO		21
#define AUXPMU_SYNTH_PATTERN_HI		22

/* The pages the unit needs: enum auxpmu_synth_pages. */
#define AUXPMU_SYNTH_PAGES_LO		23
#define AUXPMU_SYNTH_PAGES_HI		24

/*
 * No timer: trace is written at start and when asked through debugfs (see "emit" below) only.
 * Excludes rate.
 */
#define AUXPMU_SYNTH_MANUAL_LO		25
#define AUXPMU_SYNTH_MANUAL_HI		25

/* attr.config1: goes into every record and into the payload; any value. */
#define AUXPMU_SYNTH_SEED_LO		0
#define AUXPMU_SYNTH_SEED_HI		31

/* attr.config2: address of the program that is traced, see struct auxpmu_record; any value. */
#define AUXPMU_SYNTH_PROGRAM_LO		0
#define AUXPMU_SYNTH_PROGRAM_HI		63

enum auxpmu_synth_output {
	/* Anywhere in the buffer; stops and interrupts at region ends only, as ToPA does. */
	AUXPMU_SYNTH_SCATTER = 0,
	/* One contiguous window at a time, as BTS, SPE and TRBE. */
	AUXPMU_SYNTH_WINDOW = 1,
	/* Trace RAM of its own, copied into the AUX area, as ETB and ETF. */
	AUXPMU_SYNTH_COPY = 2,
};

enum auxpmu_synth_pattern {
	AUXPMU_SYNTH_COUNTER = 0,	/* payload word i is base + i */
	AUXPMU_SYNTH_CONSTANT = 1,	/* payload word i is base */
	AUXPMU_SYNTH_RANDOM = 2,	/* payload word i is auxpmu_mix64(base + i) */
};

enum auxpmu_synth_pages {
	AUXPMU_SYNTH_PAGES_LARGE = 0,	/* large chunks if they can be had, else single pages */
	AUXPMU_SYNTH_PAGES_ANY = 1,	/* no wish; large chunks are used as single pages */
	AUXPMU_SYNTH_PAGES_HALF = 2,	/* each half of the buffer one chunk, or mmap fails */
	AUXPMU_SYNTH_PAGES_WHOLE = 3,	/* the whole buffer one chunk, or mmap fails */
};

/*
 * The trace itself: records of one fixed size per event (a power of two from 64 to 4096 bytes),
 * this header and then payload words. Native byte order.
 *
 * A stream is what one kernel event object wrote: an event as opened, or one inherited child of it
 * on one CPU. Within a stream seq counts 0, 1, 2, ... over every record ever made, in every
 * start..stop, whether or not it reached the AUX area: a gap in seq is lost trace. "crc" is the
 * CRC-32 of IEEE 802.3 (zlib's crc32()) over the header bytes in front of it. The payload needs no
 * checksum, since each word follows from the header. A record lies at a multiple of its size in the
 * AUX area.
 *
 * What is traced is a program of AUXPMU_PROGRAM_BLOCKS blocks, each AUXPMU_PROGRAM_BLOCK bytes, at
 * the address in attr.config2. It runs through them one after the other, round and round; each
 * block executed is one record, whose "ip" says which, unless address filters leave it out. A
 * stream begins at block 0.
 *
 * Where the unit had to step over bytes (a window must start aligned, a chunk has no room for one
 * more record) the bytes stepped over are zero up to the next multiple of 64 and then one record of
 * kind AUXPMU_RECORD_PAD that covers the rest: its size is any multiple of 64; stream, cpu, time
 * and crc are as in any record; all else, seq included, is zero and does not count.
 */
#define AUXPMU_RECORD_MAGIC	0x4d505841u	/* "AXPM" in memory on a little-endian machine */
#define AUXPMU_RECORD_MIN	64u
#define AUXPMU_RECORD_MAX	4096u

#define AUXPMU_PROGRAM_BLOCK	16u
#define AUXPMU_PROGRAM_BLOCKS	256u

enum auxpmu_record_kind {
	AUXPMU_RECORD_START = 1,	/* first of a start..stop; its payload is as for DATA */
	AUXPMU_RECORD_DATA = 2,
	AUXPMU_RECORD_PAD = 3,
};

struct auxpmu_record {
	__u32 magic;
	__u32 size;		/* bytes of the whole record, header included */
	__u16 kind;		/* enum auxpmu_record_kind */
	__u16 pattern;		/* enum auxpmu_synth_pattern */
	__u32 cpu;		/* that wrote it */
	__u64 stream;		/* unique since the module was loaded; never 0 */
	__u64 parent;		/* stream of the event it was inherited from, or 0 */
	__u64 seq;
	__u64 time;		/* ns, the kernel's local_clock(): monotonic on one CPU */
	__u32 seed;		/* attr.config1 */
	__u32 ip;		/* of what was traced: offset in the program */
	__u32 reserved;		/* zero */
	__u32 crc;
};

/* splitmix64's finalizer: a bijection of 64-bit words. */
static inline __u64 auxpmu_mix64(__u64 x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/* The "base" of a record's payload, from which each of its 64-bit words follows. */
static inline __u64 auxpmu_record_base(__u64 stream, __u64 seq, __u32 seed)
{
	return auxpmu_mix64(auxpmu_mix64(stream ^ ((__u64)seed << 32)) + seq);
}

/*
 * debugfs, AUXPMU_DEBUGFS "/" pmu "/":
 *
 * stats
 *	One line per counter: name, total, then one column per possible CPU, named in the first
 *	line: "counter total cpu0 cpu1 ..."
 * buffers
 *	One line per live AUX buffer:
 *	"bytes=N mode=full|overwrite chunks=N orders=ORDER:COUNT[,...]"
 * faults/NAME
 *	How many times more something goes wrong; 0 unless written.  See docs/testing.md.
 *
 * Of synthetic PMUs only:
 *
 * emit
 *	Write "CPU BYTES": the unit of that CPU writes BYTES (rounded up to whole records) at
 *	once, interrupting, wrapping and stopping as it would on its own.  The write fails with
 *	ENXIO when no event is tracing there, ENOSPC when the buffer became full first.
 * emitted
 *	What the last write to emit got done: "CPU BYTES"
 * bench
 *	Write "BYTES": fills that many bytes of a private 256 KiB area with records of 4096
 *	bytes, and the same with memset().  Read: "BYTES records_ns memset_ns"
 * nmi (x86)
 *	For one user at a time; what is asked for ends when it is closed.  Write "CPU COUNT":
 *	sends that many NMIs to that CPU, each when the one before was handled.  Write "at STEP":
 *	every CPU sends itself an NMI whenever its session is at that step, unless it is in one
 *	already; STEP is request, begin, arm, disarm, end, full or sample, as the trace events
 *	auxpmu:auxpmu_STEP.  Write "off": no more of these.
 */

#endif /* AUXPMU_UAPI_H */
