// SPDX-License-Identifier: GPL-2.0-only
/*
 * Address filters: checks what the core parsed, and turns it into ranges of addresses that a
 * backend puts into registers.
 *
 * The core does not limit the number of filters (and writes beyond event->addr_filter_ranges if
 * there are too many), and the validate callback is not told the event. So there is one callback
 * for each number of filters that hardware may have.
 */
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/perf_event.h>

#include "core/filter.h"

/* A filter on the kernel's addresses, or on those of a file. */
static int filter_check_place(const struct perf_addr_filter *filter)
{
	unsigned long end;

	/* No size: start or stop at a single address, which the framework does not support. */
	if (!filter->size)
		return -EOPNOTSUPP;
	if (check_add_overflow(filter->offset, filter->size - 1, &end))
		return -EINVAL;
	if (!filter->path.dentry && filter->offset < TASK_SIZE_MAX)
		return -EINVAL;
	return 0;
}

static int filter_check(const struct list_head *filters, unsigned int most, bool stop)
{
	const struct perf_addr_filter *filter;
	unsigned int nr = 0;
	int ret;

	list_for_each_entry(filter, filters, entry) {
		if (filter->action == PERF_ADDR_FILTER_ACTION_START ||
		    (filter->action == PERF_ADDR_FILTER_ACTION_STOP && !stop))
			return -EOPNOTSUPP;
		ret = filter_check_place(filter);
		if (ret)
			return ret;
		if (++nr > most)
			return -EOPNOTSUPP;
	}
	return 0;
}

/* check_@_name: for at most @_most filters, which may stop the trace or not. */
#define CHECK(_name, _most, _stop)                          \
	static int check_##_name(struct list_head *filters) \
	{                                                   \
		return filter_check(filters, _most, _stop); \
	}

CHECK(1, 1, false)
CHECK(2, 2, false)
CHECK(3, 3, false)
CHECK(4, 4, false)
CHECK(5, 5, false)
CHECK(6, 6, false)
CHECK(7, 7, false)
CHECK(8, 8, false)
CHECK(stop_1, 1, true)
CHECK(stop_2, 2, true)
CHECK(stop_3, 3, true)
CHECK(stop_4, 4, true)
CHECK(stop_5, 5, true)
CHECK(stop_6, 6, true)
CHECK(stop_7, 7, true)
CHECK(stop_8, 8, true)

typedef int (*check_fn)(struct list_head *filters);

static const check_fn checks[AUXPMU_FILTERS_MAX] = {
	check_1, check_2, check_3, check_4, check_5, check_6, check_7, check_8,
};

static const check_fn stop_checks[AUXPMU_FILTERS_MAX] = {
	check_stop_1, check_stop_2, check_stop_3, check_stop_4,
	check_stop_5, check_stop_6, check_stop_7, check_stop_8,
};

check_fn auxpmu_filter_validate(unsigned int nr, bool stop)
{
	return stop ? stop_checks[nr - 1] : checks[nr - 1];
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

		range->stop = filter->action == PERF_ADDR_FILTER_ACTION_STOP;
		range->first = placed[nr].start;
		range->last = placed[nr].start + placed[nr].size - 1;
		/* A file that is not mapped (yet): the range is empty. */
		if (filter->path.dentry && !placed[nr].start) {
			range->first = 1;
			range->last = 0;
		}
		nr++;
	}
	aux->nr_ranges = nr;
}
