/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * auxpmu for user space: the config layout of the synthetic PMU, the format of the trace it writes,
 * and the framework's files in debugfs. Everything else is the perf ABI.
 *
 * Plain C99 and C++: fixed-width types come from <linux/types.h>, so the kernel, C and C++ include
 * it unchanged.
 */
#ifndef AUXPMU_UAPI_H
#define AUXPMU_UAPI_H

#include <linux/types.h>

/* The framework's debugfs folder; a PMU's own is AUXPMU_DEBUGFS "/" name. */
#define AUXPMU_DEBUGFS		"/sys/kernel/debug/auxpmu"
#define AUXPMU_SYNTH_NAME	"auxpmu_synth"
/* The configfs folder in which units are modelled, one folder each. */
#define AUXPMU_CONFIGFS		"/sys/kernel/config/auxpmu"

/*
 * The synthetic PMU: attr.config. A field is { first bit, last bit }; sysfs format/ and the
 * driver's own extraction are generated from these very numbers. Bits outside every field must be
 * zero.
 */

/*
 * KiB of trace per millisecond, written by a timer, up to AUXPMU_SYNTH_RATE_MAX; 0: the unit's own
 * rate, AUXPMU_SYNTH_RATE_DEFAULT unless modelled. Never takes more than half of a CPU.
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
 * No timer: the unit writes trace only at start and through debugfs (see "emit" below). Excludes
 * rate.
 */
#define AUXPMU_SYNTH_MANUAL_LO		25
#define AUXPMU_SYNTH_MANUAL_HI		25

/* attr.config1: goes into every record and into the payload; any value. */
#define AUXPMU_SYNTH_SEED_LO		0
#define AUXPMU_SYNTH_SEED_HI		31

/* attr.config2: address of the program that is traced, see below; any value. */
#define AUXPMU_SYNTH_PROGRAM_LO		0
#define AUXPMU_SYNTH_PROGRAM_HI		63

enum auxpmu_synth_output {
	/* Anywhere in the buffer; stops and interrupts at region ends only, as ToPA does. */
	AUXPMU_SYNTH_SCATTER = 0,
	/* One window of contiguous memory at a time, as BTS and a flat ETR. */
	AUXPMU_SYNTH_WINDOW = 1,
	/* Own trace RAM, copied into the AUX area, as ETB and ETF. */
	AUXPMU_SYNTH_COPY = 2,
	/* One window of virtual memory at a time, as SPE and TRBE. */
	AUXPMU_SYNTH_VIRTUAL = 3,
};

enum auxpmu_synth_pattern {
	AUXPMU_SYNTH_COUNTER = 0,	/* payload word i is base + i */
	AUXPMU_SYNTH_CONSTANT = 1,	/* payload word i is base */
	AUXPMU_SYNTH_RANDOM = 2,	/* payload word i is auxpmu_mix64(base + i) */
};

enum auxpmu_synth_pages {
	AUXPMU_SYNTH_PAGES_LARGE = 0,	/* large chunks if there are any, else single pages */
	AUXPMU_SYNTH_PAGES_ANY = 1,	/* single pages; large chunks count as single pages */
	AUXPMU_SYNTH_PAGES_HALF = 2,	/* each half of the buffer one chunk, or mmap fails */
	AUXPMU_SYNTH_PAGES_WHOLE = 3,	/* the whole buffer one chunk, or mmap fails */
};

/*
 * The trace itself: records of one fixed size per event (a power of two from 64 to 4096 bytes),
 * this header and then payload words. Native byte order.
 *
 * A stream is what one kernel event object wrote: an event as opened, or one inherited child of it.
 * Within a stream seq counts every record ever made (0, 1, 2, ...), in all sessions, whether or not
 * it reached the AUX area: a gap in seq is lost trace. "crc" is the CRC-32 of IEEE 802.3 (zlib's
 * crc32()) over the header bytes in front of it. The payload needs no checksum, since each word
 * follows from the header. A record lies at a multiple of its size in the AUX area.
 *
 * The unit traces a program of AUXPMU_PROGRAM_BLOCKS blocks of AUXPMU_PROGRAM_BLOCK bytes, at the
 * address in attr.config2. It executes one block after the other, round and round; each executed
 * block is one record, whose "ip" says which, unless address filters leave it out. A stream begins
 * at block 0.
 *
 * If the unit has to step over bytes (a window must start aligned, or a chunk has no room for one
 * more record), the framework pads them: zeros up to the next multiple of 64, and one record of
 * kind AUXPMU_RECORD_PAD for the rest. Its size is any multiple of 64; magic, stream, cpu, time and
 * crc are as in any record; all else is zero, and the record has no seq.
 */
#define AUXPMU_RECORD_MAGIC	0x4d505841u	/* "AXPM" in memory on a little-endian machine */
#define AUXPMU_RECORD_MIN	64u
#define AUXPMU_RECORD_MAX	4096u

#define AUXPMU_PROGRAM_BLOCK	16u
#define AUXPMU_PROGRAM_BLOCKS	256u

enum auxpmu_record_kind {
	AUXPMU_RECORD_START = 1,	/* first of a session; its payload is as for DATA */
	AUXPMU_RECORD_DATA = 2,
	AUXPMU_RECORD_PAD = 3,
};

struct auxpmu_record {
	__u32 magic;
	__u32 size;		/* bytes of the whole record, header included */
	__u16 kind;		/* enum auxpmu_record_kind */
	__u16 pattern;		/* enum auxpmu_synth_pattern */
	__u32 cpu;		/* on which it was written */
	__u64 stream;		/* unique since the module was loaded; never 0 */
	__u64 parent;		/* stream of the event it was inherited from, or 0 */
	__u64 seq;
	__u64 time;		/* ns, the kernel's local_clock(): monotonic on one CPU */
	__u32 seed;		/* attr.config1 */
	__u32 ip;		/* offset of the block in the program */
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
 *	How many more times this fault happens; 0 unless written.  See docs/testing.md.
 *
 * Of synthetic PMUs only:
 *
 * emit
 *	Write "CPU BYTES": the unit of that CPU writes BYTES (rounded up to whole records) at
 *	once, and interrupts, wraps and stops as it would by itself.  The write fails with ENXIO
 *	if no event is tracing there, with ENOSPC if the buffer became full first.
 * idle
 *	write: "CPU": as if this CPU had been idle and its unit without power meanwhile.
 * emitted
 *	How much the last write to emit has written: "CPU BYTES"
 * bench
 *	Write "BYTES": writes that many bytes into a private 256 KiB area, over and over, once as
 *	records of 4096 bytes and once with memset().  Read: "BYTES records_ns memset_ns"
 * nmi (x86, arm64)
 *	Can be open once at a time; closing it ends everything.  Write "CPU COUNT": sends
 *	that many NMIs to that CPU, each when the one before was handled.  Write "at STEP": every
 *	CPU sends itself an NMI whenever its session is at that step, unless it is in NMI already.
 *	STEP is request, begin, arm, disarm, end, full or sample, as in the trace events
 *	auxpmu:auxpmu_STEP.  Write "off": no more of these.  Read: "NMI"; or on arm64, where they
 *	are interrupts of the performance counters, "pseudo-NMI" or, if the kernel takes these as
 *	ordinary interrupts, "interrupt": such a one waits for interrupts to be on.
 */

#endif /* AUXPMU_UAPI_H */
