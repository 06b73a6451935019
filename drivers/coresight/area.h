/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * AUX areas that an ETR writes into by itself: as it sees their memory, and the tables through
 * which it does, its own (scatter-gather; CoreSight TMC TRM, DDI 0461) or those of a CATU (SoC-600
 * TRM, 100806).
 *
 * Without tables the ETR gets one chunk at a time. With tables it sees the area twice in a row, so
 * that it can begin anywhere and go on round the end.
 */
#ifndef ETM_AREA_H
#define ETM_AREA_H

#include <linux/sizes.h>
#include <linux/types.h>

#include "auxpmu.h"

struct area;
struct component;

/* The address at which a CATU's input begins. */
#define AREA_INPUT		SZ_1M

/*
 * No window of an ETR is shorter, since it cannot stop at its end, and is looked at now and then; a
 * shorter area is not worth it.
 */
#define AREA_WINDOW_LEAST	SZ_128K

/**
 * struct area_user - an ETR
 * @name: for the log
 * @component: itself
 * @catu: which translates its addresses, or NULL
 * @scatters: it has tables of its own
 */
struct area_user {
	const char *name;
	const struct component *component;
	const struct component *catu;
	bool scatters;
};

/**
 * struct area_aim - a part of an area as an ETR's memory
 * @base: its base address, or that of its table
 * @catu_table: the base address of the CATU's table
 * @first: the address at which it begins to write
 */
struct area_aim {
	dma_addr_t base;
	dma_addr_t catu_table;
	dma_addr_t first;
};

/* Has the device to be spared, since the kernel would copy what it writes elsewhere? May sleep. */
bool area_is_out_of_reach(const struct component *component);

/*
 * Let @user write into @buffer, if it can: NULL otherwise. May sleep. The caller frees it, also
 * when the buffer's map is gone.
 */
struct area *area_make(const struct area_user *user, const struct auxpmu_buffer *buffer);
void area_free(struct area *area);

/* That of @unit, whose buffer's private has one for each CPU. Any context. */
static inline struct area *area_of(const struct auxpmu_unit *unit)
{
	struct area *const *areas = unit->buffer->private;

	return areas[unit->cpu];
}

/*
 * Let the ETR, which is off, go round in @length bytes from @offset on, maybe round the end, whole
 * pages of 4 KiB. Any context.
 */
void area_aim(struct area *area, const struct auxpmu_buffer *buffer, u64 offset, u64 length,
	      struct area_aim *aim);

/*
 * Bytes from @offset on to the address @pointer, up to which an ETR with tables of its own has
 * written; U64_MAX: that is not in the area. Any context.
 */
u64 area_find(const struct area *area, const struct auxpmu_buffer *buffer, u64 offset,
	      dma_addr_t pointer);

/* The CPU is about to read @length bytes from @offset on, maybe round the end. Any context. */
void area_take(const struct area *area, const struct auxpmu_buffer *buffer, u64 offset, u64 length);

/* The ETR does not stop: nobody else may ever get the memory. Any context. */
void area_abandon(struct area *area, const struct auxpmu_buffer *buffer);

#endif /* ETM_AREA_H */
