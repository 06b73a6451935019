// SPDX-License-Identifier: GPL-2.0-only
/*
 * A backend to start from: a trace unit with the registers of a simple one, modelled in memory.
 *
 * The unit writes records of 32 bytes from BASE on, interrupts when it reaches THRESHOLD and stops
 * at LIMIT; its clock is a timer.  docs/writing-a-backend.md walks through this file.
 */
#include <linux/err.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/timer.h>

#include <auxpmu.h>
#include <kernels.h>

#define EXAMPLE_RECORD		32
#define EXAMPLE_RECORDS_A_TICK	256

/* The registers, and what makes them move. */
struct example_unit {
	struct auxpmu_unit *unit;
	struct timer_list clock;
	bool enable;
	u64 base;
	u64 pointer;
	u64 threshold;
	u64 limit;
	u64 count;
};

static bool periodic;
module_param(periodic, bool, 0444);
MODULE_PARM_DESC(periodic, "trace begins with the clock's next tick, not at once (default 0)");

static struct auxpmu *example;

/* The hardware's side: one record. */
static void example_write(struct example_unit *mine)
{
	u64 room;
	u64 *record = auxpmu_buffer_run(mine->unit->buffer, mine->pointer, &room);

	record[0] = mine->count++;
	record[1] = ~record[0];
	record[2] = mine->unit->cpu;
	record[3] = 0;
	mine->pointer += EXAMPLE_RECORD;
}

/* The hardware's side: some time has passed. A softirq: the framework requires IRQs off. */
static void example_clock(struct timer_list *timer)
{
	struct example_unit *mine = container_of(timer, struct example_unit, clock);
	unsigned long flags;
	unsigned int n;

	local_irq_save(flags);
	for (n = 0; n < EXAMPLE_RECORDS_A_TICK; n++) {
		if (!mine->enable || mine->pointer == mine->limit)
			break;
		example_write(mine);
		if (mine->pointer == mine->threshold)
			/* Events may open before auxpmu_register() has returned. */
			auxpmu_interrupt(mine->unit->pmu);
	}
	if (mine->unit->event)
		mod_timer(timer, jiffies + 1);
	local_irq_restore(flags);
}

static int example_unit_init(struct auxpmu_unit *unit)
{
	struct example_unit *mine = unit->private;

	mine->unit = unit;
	timer_setup(&mine->clock, example_clock, TIMER_PINNED);
	return 0;
}

static void example_unit_exit(struct auxpmu_unit *unit)
{
	struct example_unit *mine = unit->private;

	timer_delete_sync(&mine->clock);
}

static int example_event_init(struct perf_event *event, struct auxpmu_event *aux)
{
	if (event->attr.config || auxpmu_more_config(&event->attr))
		return -EINVAL;
	aux->needs.output = AUXPMU_WINDOW;
	aux->needs.rules.start_align = EXAMPLE_RECORD;
	aux->needs.rules.atom = EXAMPLE_RECORD;
	return 0;
}

static int example_add(struct auxpmu_unit *unit)
{
	struct example_unit *mine = unit->private;

	mod_timer(&mine->clock, jiffies + 1);
	return 0;
}

/* Switch on; the unit writes the first record at once, unless it is periodic. */
static int example_arm(struct auxpmu_unit *unit)
{
	struct example_unit *mine = unit->private;

	mine->base = unit->window.from;
	mine->pointer = mine->base;
	mine->threshold = unit->window.irq;
	mine->limit = unit->window.to;
	mine->enable = true;
	if (unit->starting && !periodic)
		example_write(mine);
	return 0;
}

static void example_disarm(struct auxpmu_unit *unit)
{
	struct example_unit *mine = unit->private;

	mine->enable = false;
}

static void example_position(struct auxpmu_unit *unit, struct auxpmu_position *position)
{
	struct example_unit *mine = unit->private;

	position->bytes = mine->pointer - mine->base;
}

static bool example_irq_pending(struct auxpmu_unit *unit)
{
	struct example_unit *mine = unit->private;

	return mine->pointer >= mine->threshold;
}

static const struct auxpmu_ops example_ops = {
	.version = AUXPMU_OPS_VERSION,
	.unit_init = example_unit_init,
	.unit_exit = example_unit_exit,
	.event_init = example_event_init,
	.add = example_add,
	.arm = example_arm,
	.disarm = example_disarm,
	.position = example_position,
	.irq_pending = example_irq_pending,
};

static struct auxpmu_desc example_desc = {
	.name = "auxpmu_example",
	.ops = &example_ops,
	.unit_size = sizeof(struct example_unit),
	.yields = AUXPMU_YIELDS_START,
};

static int __init example_init(void)
{
	if (periodic)
		example_desc.yields = AUXPMU_YIELDS_WORK;
	example = auxpmu_register(&example_desc);
	return PTR_ERR_OR_ZERO(example);
}

static void __exit example_exit(void)
{
	auxpmu_unregister(example);
}

module_init(example_init);
module_exit(example_exit);
AUXPMU_IMPORT_NS();
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("An example of an auxpmu backend");
