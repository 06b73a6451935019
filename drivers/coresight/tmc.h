/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace memory controllers (CoreSight TMC TRM, DDI 0461; SoC-600 TRM, 100806): as sinks, which put
 * trace into memory (ETR) or RAM (ETF, ETB), and an ETF as a link, which passes it on.
 *
 * An ETR of one event alone, of one CPU at a time, writes into that event's AUX area (area.h), one
 * window after the other.
 *
 * Else a sink goes round in memory of its own, from which the framework copies. It has to be
 * stopped to be read: an ETR goes on in other memory then, an ETF or ETB when its RAM has been
 * read. Meanwhile the funnel in front of it, which all its trace comes through, is closed, so that
 * trace waits in the trace units instead of being lost; or they overflow, and the trace says so.
 */
#ifndef ETM_TMC_H
#define ETM_TMC_H

#include <linux/kobject.h>
#include <linux/sysfs.h>
#include <linux/types.h>

#include "auxpmu.h"

struct area;
struct auxpmu_unit;
struct component;

enum tmc_kind { TMC_ETB, TMC_ETR, TMC_ETF };

#define TMC_MEMORIES	2

/* Bytes of a sink's name with its number. */
#define TMC_NAME	24

/**
 * struct tmc - a TMC
 * @component: its registers
 * @catu: which translates its addresses, or NULL; set when the paths are found, as @gate
 * @gate: the funnel that all its trace comes through, or NULL
 * @reached: there is a path to it
 * @kind: which
 * @save_restore: of SoC-600: its pointers and its status stay as they were
 * @scatters: its memory may be scattered, by tables
 * @name: as in sysfs sinks/
 * @attr: that one there
 * @id: its number for perf, not 0
 * @desc: what the framework knows of it
 * @sink: what the framework made of it
 * @users: events that use it as a sink; guarded by the bus's lock, as @links
 * @links: paths for which it is a link
 * @bytes: of its RAM, or of each of an ETR's memories
 * @memory: where its trace is, or is read to; an ETR has two of them
 * @address: those of an ETR's memories for devices
 * @touched: bytes at the beginning of each that the CPU may have in its caches
 * @burst: words of an ETR's accesses to memory, less one
 * @now: which of them it uses
 * @held_in: which of them holds what it held
 * @running: it takes trace
 * @dead: the machine goes down: it must not be started
 * @held: bytes that it held when it was stopped
 * @oldest: offset of the oldest of them
 * @gap: trace is missing in front of them, or among them
 * @missed: trace was lost since, before what it will hold next
 * @window: bytes of the memory in an AUX area that it was started with last
 * @lost: bytes of the frame there that is not whole
 */
struct tmc {
	struct component *component;
	struct component *catu;
	struct component *gate;
	bool reached;
	enum tmc_kind kind;
	bool save_restore;
	bool scatters;
	char name[TMC_NAME];
	struct kobj_attribute attr;
	u32 id;
	struct auxpmu_sink_desc desc;
	struct auxpmu_sink *sink;
	unsigned int users;
	unsigned int links;
	u64 bytes;
	u8 *memory[TMC_MEMORIES];
	dma_addr_t address[TMC_MEMORIES];
	u64 touched[TMC_MEMORIES];
	u32 burst;
	bool running;
	bool dead;
	unsigned int now;
	unsigned int held_in;
	u64 held;
	u64 oldest;
	bool gap;
	bool missed;
	u64 window;
	u64 lost;
};

/* Bytes of trace that come together: a frame of the formatter. */
#define TMC_FRAME	16

/* Make those of all components that are ours, and free them. May sleep. 0 or an errno. */
int tmcs_make(void);
void tmcs_free(void);

/*
 * As a sink: lend it to one more event, or take it back. Bus lock held. 0, or -EBUSY: it is a link,
 * or a debugger has it.
 */
int tmc_lend(struct tmc *tmc);
void tmc_take_back(struct tmc *tmc);

/* An ETR whose accesses are not copied: it may write into AUX areas. May sleep. */
bool tmc_reaches_areas(const struct tmc *tmc);

/* Do its windows in them go through chunks, by tables? */
bool tmc_has_tables(const struct tmc *tmc);

/* See area_make(). */
struct area *tmc_make_area(const struct tmc *tmc, const struct auxpmu_buffer *buffer);

/*
 * In the AUX area of @unit: as the operations of a unit, but that the bus is held for the second.
 * IRQs off.
 */
int tmc_start_in_area(struct tmc *tmc, const struct auxpmu_unit *unit);
void tmc_stop_in_area(struct tmc *tmc, const struct auxpmu_unit *unit);
void tmc_position_in_area(const struct tmc *tmc, struct auxpmu_position *position);
u64 tmc_progress_in_area(const struct tmc *tmc);

/* The machine was suspended: tell it anew what it was told, but for what a start does. Likewise. */
void tmc_restore(struct tmc *tmc);

/* An ETF as a link: switch it on for one more path, or off. Likewise. */
int tmc_link(struct tmc *tmc);
void tmc_unlink(struct tmc *tmc);

/* The kernel is gone but for this: stop all. IRQs off, and any lock may be held. */
void tmc_end_all(void);

#endif /* ETM_TMC_H */
