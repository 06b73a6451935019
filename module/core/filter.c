// SPDX-License-Identifier: GPL-2.0-only
/*
 * Address filters: checks what the core parsed, and turns it into ranges of addresses that a
 * backend puts into registers.
 *
 * The core does not limit the number of filters (and writes beyond event->addr_filter_ranges if
 * there are too many), and the validate callback is not told the event. So there is one callback
 * for each number of filters and each kind that hardware may have.
 */
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/perf_event.h>

#include "core/filter.h"

/* Without a size a filter is of one address. */
static unsigned long filter_last(unsigned long first, unsigned long size)
{
	return size ? first + size - 1 : first;
}

static enum auxpmu_filter filter_what(const struct perf_addr_filter *filter)
{
	switch (filter->action) {
	case PERF_ADDR_FILTER_ACTION_START:
		return AUXPMU_FILTER_START_AT;
	case PERF_ADDR_FILTER_ACTION_STOP:
		return filter->size ? AUXPMU_FILTER_STOP : AUXPMU_FILTER_STOP_AT;
	default:
		return AUXPMU_FILTER_ONLY;
	}
}

/* A filter on the kernel's addresses, or on those of a file. */
static int filter_check_place(const struct perf_addr_filter *filter)
{
	if (filter_last(filter->offset, filter->size) < filter->offset)
		return -EINVAL;
	if (!filter->path.dentry && filter->offset < TASK_SIZE_MAX)
		return -EINVAL;
	return 0;
}

static bool filter_is_known(const struct perf_addr_filter *filter, bool stop, bool points)
{
	switch (filter_what(filter)) {
	case AUXPMU_FILTER_ONLY:
		return filter->size;
	case AUXPMU_FILTER_STOP:
		return stop;
	case AUXPMU_FILTER_START_AT:
		return points && !filter->size;
	case AUXPMU_FILTER_STOP_AT:
		return points;
	}
	return false;
}

static int filter_check(const struct list_head *filters, unsigned int most, bool stop, bool points)
{
	const struct perf_addr_filter *filter;
	unsigned int nr = 0;
	int ret;

	list_for_each_entry(filter, filters, entry) {
		if (!filter_is_known(filter, stop, points))
			return -EOPNOTSUPP;
		ret = filter_check_place(filter);
		if (ret)
			return ret;
		if (++nr > most)
			return -EOPNOTSUPP;
	}
	return 0;
}

/* check_@_name_@_most: for at most @_most filters, which may stop the trace, and be points. */
#define CHECK(_name, _most, _stop, _points)                          \
	static int check_##_name##_##_most(struct list_head *filters) \
	{                                                             \
		return filter_check(filters, _most, _stop, _points);  \
	}

CHECK(only, 1, false, false)
CHECK(only, 2, false, false)
CHECK(only, 3, false, false)
CHECK(only, 4, false, false)
CHECK(only, 5, false, false)
CHECK(only, 6, false, false)
CHECK(only, 7, false, false)
CHECK(only, 8, false, false)

CHECK(stop, 1, true, false)
CHECK(stop, 2, true, false)
CHECK(stop, 3, true, false)
CHECK(stop, 4, true, false)
CHECK(stop, 5, true, false)
CHECK(stop, 6, true, false)
CHECK(stop, 7, true, false)
CHECK(stop, 8, true, false)

CHECK(points, 1, false, true)
CHECK(points, 2, false, true)
CHECK(points, 3, false, true)
CHECK(points, 4, false, true)
CHECK(points, 5, false, true)
CHECK(points, 6, false, true)
CHECK(points, 7, false, true)
CHECK(points, 8, false, true)

CHECK(all, 1, true, true)
CHECK(all, 2, true, true)
CHECK(all, 3, true, true)
CHECK(all, 4, true, true)
CHECK(all, 5, true, true)
CHECK(all, 6, true, true)
CHECK(all, 7, true, true)
CHECK(all, 8, true, true)

typedef int (*check_fn)(struct list_head *filters);

/* By whether they may stop the trace, and whether they may be points. */
static const check_fn checks[2][2][AUXPMU_FILTERS_MAX] = {
	{
		{ check_only_1, check_only_2, check_only_3, check_only_4,
		  check_only_5, check_only_6, check_only_7, check_only_8 },
		{ check_points_1, check_points_2, check_points_3, check_points_4,
		  check_points_5, check_points_6, check_points_7, check_points_8 },
	},
	{
		{ check_stop_1, check_stop_2, check_stop_3, check_stop_4,
		  check_stop_5, check_stop_6, check_stop_7, check_stop_8 },
		{ check_all_1, check_all_2, check_all_3, check_all_4,
		  check_all_5, check_all_6, check_all_7, check_all_8 },
	},
};

check_fn auxpmu_filter_validate(const struct auxpmu_desc *desc)
{
	return checks[desc->filters_stop][desc->filters_points][desc->nr_addr_filters - 1];
}

/* Is its file not mapped (yet), or not that far? */
static bool filter_is_nowhere(const struct perf_addr_filter *filter,
			      const struct perf_addr_filter_range *placed)
{
	return filter->size ? !placed->size : filter->path.dentry && !placed->start;
}

void auxpmu_filter_sync(struct perf_event *event)
{
	const struct perf_addr_filters_head *head = perf_event_addr_filters(event);
	const struct perf_addr_filter_range *placed = event->addr_filter_ranges;
	struct auxpmu_event *aux = auxpmu_event(event);
	const struct perf_addr_filter *filter;
	unsigned int nr = 0;

	list_for_each_entry(filter, &head->list, entry) {
		struct auxpmu_range *range = &aux->ranges[nr];

		range->what = filter_what(filter);
		range->first = placed[nr].start;
		range->last = filter_last(placed[nr].start, placed[nr].size);
		if (filter_is_nowhere(filter, &placed[nr])) {
			range->first = 1;
			range->last = 0;
		}
		nr++;
	}
	aux->nr_ranges = nr;
}
