/* SPDX-License-Identifier: GPL-2.0-only */
/* Address filters: from the perf core to the ranges that a backend puts into registers. */
#ifndef AUXPMU_FILTER_H
#define AUXPMU_FILTER_H

#include "auxpmu.h"

/* pmu::addr_filters_validate for the filters of @desc, which are 1 to AUXPMU_FILTERS_MAX. */
int (*auxpmu_filter_validate(const struct auxpmu_desc *desc))(struct list_head *filters);

/*
 * pmu::addr_filters_sync: note where the event's filters now lie. IRQs off, under the core's lock.
 */
void auxpmu_filter_sync(struct perf_event *event);

#endif /* AUXPMU_FILTER_H */
