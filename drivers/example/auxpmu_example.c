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

#define EXAMPLE_RECORD		32
#define EXAMPLE_RECORDS_A_TICK	256

/* The registers, and what makes them move. */
struct example_unit {
	struct auxpmu_session *session;
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
static void example_write(struct example_unit *unit)
{
	u64 room;
	u64 *record = auxpmu_buffer_run(unit->session->buffer, unit->pointer, &room);

	record[0] = unit->count++;
	record[1] = ~record[0];
	record[2] = unit->session->cpu;
	record[3] = 0;
	unit->pointer += EXAMPLE_RECORD;
}

/* The hardware's side: some time has passed.  Softirq; IRQs off is what the framework asks for. */
static void example_clock(struct timer_list *timer)
{
	struct example_unit *unit = container_of(timer, struct example_unit, clock);
	unsigned long flags;
	unsigned int n;

	local_irq_save(flags);
	for (n = 0; n < EXAMPLE_RECORDS_A_TICK; n++) {
		if (!unit->enable || unit->pointer == unit->limit)
			break;
		example_write(unit);
		if (unit->pointer == unit->threshold)
			/* Events may open before auxpmu_register() has returned. */
			auxpmu_interrupt(unit->session->pmu);
	}
	if (unit->session->event)
		mod_timer(timer, jiffies + 1);
	local_irq_restore(flags);
}

static int example_unit_init(struct auxpmu_session *session)
{
	struct example_unit *unit = session->unit;

	unit->session = session;
	timer_setup(&unit->clock, example_clock, TIMER_PINNED);
	return 0;
}

static void example_unit_exit(struct auxpmu_session *session)
{
	struct example_unit *unit = session->unit;

	timer_delete_sync(&unit->clock);
}

static int example_event_init(struct perf_event *event, struct auxpmu_event *aux)
{
	if (event->attr.config || event->attr.config1 || event->attr.config2)
		return -EINVAL;
	aux->needs.output = AUXPMU_WINDOW;
	aux->needs.rules.start_align = EXAMPLE_RECORD;
	aux->needs.rules.unit = EXAMPLE_RECORD;
	return 0;
}

static int example_add(struct auxpmu_session *session)
{
	struct example_unit *unit = session->unit;

	mod_timer(&unit->clock, jiffies + 1);
	return 0;
}

/* Switching on traces what happens from then on: one record at once, unless it is periodic. */
static int example_arm(struct auxpmu_session *session)
{
	struct example_unit *unit = session->unit;

	unit->base = session->window.from;
	unit->pointer = unit->base;
	unit->threshold = session->window.irq;
	unit->limit = session->window.to;
	unit->enable = true;
	if (session->starting && !periodic)
		example_write(unit);
	return 0;
}

static void example_disarm(struct auxpmu_session *session)
{
	struct example_unit *unit = session->unit;

	unit->enable = false;
}

static void example_position(struct auxpmu_session *session, struct auxpmu_position *position)
{
	struct example_unit *unit = session->unit;

	position->bytes = unit->pointer - unit->base;
}

static bool example_irq_pending(struct auxpmu_session *session)
{
	struct example_unit *unit = session->unit;

	return unit->pointer >= unit->threshold;
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
