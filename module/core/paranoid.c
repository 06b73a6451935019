// SPDX-License-Identifier: GPL-2.0-only
/*
 * paranoid=1, see paranoid.h: wraps the operations of a backend, with checks before and after each.
 *
 * A violation is counted and logged (complaint.c); if trace is in doubt, position reports a gap,
 * and the record says PARTIAL. Each wrapper runs in the context of the operation it wraps, NMI
 * included. What it remembers from arm to position belongs to the session's owner.
 */
#include <linux/compiler.h>
#include <linux/delay.h>
#include <linux/hardirq.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "core/paranoid.h"
#include "core/paranoid_checks.h"

static bool paranoid;
module_param(paranoid, bool, 0644);
MODULE_PARM_DESC(paranoid, "check what backends do that register from now on (default 0)");

DEFINE_STATIC_KEY_FALSE(auxpmu_paranoid);

/* Bytes behind a window that are checked. */
#define BEHIND		256

/* Bytes before and behind the memory of a unit; enough to keep its alignment. */
#define FENCE		256
#define FENCE_BYTE	0x5a

/*
 * Windows in a row that were passed without an interrupt. A unit may pass window.irq just before it
 * is stopped for another reason, with IRQs off; but hardly three times in a row.
 */
#define UNHEARD		3

/* Of one CPU, from arm to position. */
struct paranoid_unit {
	u64 interrupts;		/* number counted when it was armed */
	unsigned int unheard;
	u64 behind;		/* position of @bytes */
	u64 length;
	u8 bytes[BEHIND];
};

struct auxpmu_paranoid {
	struct auxpmu_ops ops;
	struct paranoid_unit __percpu *units;
};

static const struct auxpmu_ops *paranoid_real(const struct auxpmu *pmu)
{
	return pmu->desc->ops;
}

/* Context. */

static struct paranoid_context paranoid_context_now(void)
{
	return (struct paranoid_context){ preempt_count(), irqs_disabled() };
}

/* An operation that may sleep is about to be called. */
static struct paranoid_context paranoid_enter_sleepable(void)
{
	might_sleep();
	return paranoid_context_now();
}

struct paranoid_context auxpmu_paranoid_enter(void)
{
	if (!in_nmi())
		lockdep_assert_irqs_disabled();
	return paranoid_context_now();
}

void auxpmu_paranoid_leave(struct auxpmu *pmu, const char *op, struct paranoid_context before)
{
	struct paranoid_context after = paranoid_context_now();

	if (after.irqs_off != before.irqs_off) {
		auxpmu_complain(pmu, AUXPMU_IRQS_CHANGED, op, before.irqs_off, after.irqs_off);
		if (before.irqs_off)
			local_irq_disable();
		else
			local_irq_enable();
	}
	if (after.preempt != before.preempt) {
		preempt_count_set(before.preempt);
		auxpmu_complain(pmu, AUXPMU_PREEMPT_CHANGED, op, before.preempt, after.preempt);
	}
}

/*
 * The memory of a unit. A guard page behind it would catch a wrong write at once, but in NMI that
 * kills the machine. A fence shows the write when the unit is disarmed, and the machine goes on.
 */

void *auxpmu_unit_alloc(const struct auxpmu *pmu, int cpu)
{
	size_t size = pmu->desc->unit_size;
	u8 *memory;

	if (!pmu->paranoid)
		return size ? kzalloc_node(size, GFP_KERNEL, cpu_to_node(cpu)) : NULL;
	memory = kzalloc_node(FENCE + size + FENCE, GFP_KERNEL, cpu_to_node(cpu));
	if (!memory)
		return NULL;
	memset(memory, FENCE_BYTE, FENCE);
	memset(memory + FENCE + size, FENCE_BYTE, FENCE);
	return memory + FENCE;
}

/* Check the fence at @fence, which is @at bytes from the unit's memory, and repair it. */
static void paranoid_check_fence(struct auxpmu *pmu, const char *op, u8 *fence, s64 at)
{
	const u8 *wrong = memchr_inv(fence, FENCE_BYTE, FENCE);

	if (!wrong)
		return;
	auxpmu_complain(pmu, AUXPMU_FENCE, op, at + (wrong - fence), pmu->desc->unit_size);
	memset(fence, FENCE_BYTE, FENCE);
}

static void paranoid_check_fences(const struct auxpmu_unit *unit, const char *op)
{
	size_t size = unit->pmu->desc->unit_size;
	u8 *memory = unit->private;

	paranoid_check_fence(unit->pmu, op, memory - FENCE, -FENCE);
	paranoid_check_fence(unit->pmu, op, memory + size, size);
}

void auxpmu_unit_free(struct auxpmu_unit *unit)
{
	if (!unit->private)
		return;
	if (!unit->pmu->paranoid) {
		kfree(unit->private);
		return;
	}
	paranoid_check_fences(unit, "unit_exit");
	kfree(unit->private - FENCE);
}

/* What lies behind a window. */

/*
 * Does the memory at @position follow that of the byte before? Where a chunk ends, only by chance.
 */
static bool paranoid_lies_together(const struct auxpmu_buffer *buffer, u64 position)
{
	u64 run;

	return auxpmu_buffer_run(buffer, position - 1, &run) + 1 ==
	       auxpmu_buffer_run(buffer, position, &run);
}

/*
 * How many bytes behind the window, from @behind on, can be checked: contiguous ones that a unit
 * running on would overwrite. A unit that was given an address instead of descriptors runs on
 * behind the chunk, into memory that may be anybody's.
 */
static u64 paranoid_bytes_behind(const struct auxpmu_unit *unit, u64 behind)
{
	const struct auxpmu_needs *needs = &auxpmu_unit_event(unit)->needs;
	const struct auxpmu_window *window = &unit->window;
	u64 run, written = behind - window->from;

	if (unit->copies || window->to == AUXPMU_NO_LIMIT)
		return 0;
	if (unit->rules.contiguous && !needs->map && !paranoid_lies_together(unit->buffer, behind))
		return 0;
	/* After a lap, the window's own bytes begin. */
	if (written >= unit->buffer->size)
		return 0;
	auxpmu_buffer_run(unit->buffer, behind, &run);
	return min3(run, unit->buffer->size - written, (u64)BEHIND);
}

/* While the unit is armed nobody but a misbehaving consumer writes there. */
static void paranoid_note_behind(const struct auxpmu_unit *unit, struct paranoid_unit *watch)
{
	u64 run;

	watch->behind = unit->window.to + unit->rules.spare;
	watch->length = paranoid_bytes_behind(unit, watch->behind);
	if (watch->length)
		memcpy(watch->bytes, auxpmu_buffer_run(unit->buffer, watch->behind, &run),
		       watch->length);
}

/* The first byte that has changed there; @watch->length if none has. */
static u64 paranoid_changed_behind(const struct auxpmu_unit *unit,
				   const struct paranoid_unit *watch)
{
	u64 run, n = 0;
	const u8 *now;

	if (!watch->length)
		return 0;
	now = auxpmu_buffer_run(unit->buffer, watch->behind, &run);
	while (n < watch->length && now[n] == watch->bytes[n])
		n++;
	return n;
}

static bool paranoid_wrote_behind(const struct auxpmu_unit *unit, struct paranoid_unit *watch)
{
	u64 at = paranoid_changed_behind(unit, watch);

	if (at == watch->length)
		return false;
	watch->length = 0;
	auxpmu_complain(unit->pmu, AUXPMU_WROTE_BEHIND, "arm", at, unit->rules.spare);
	return true;
}

/* Interrupts. */

/*
 * Has the unit passed its interrupt? Not checked for a unit with memory of its own, which alone
 * knows when to interrupt, nor for one with a sink, which may be polled.
 */
static bool paranoid_is_due(const struct auxpmu_unit *unit, u64 bytes)
{
	const struct auxpmu_needs *needs = &auxpmu_unit_event(unit)->needs;
	const struct auxpmu_window *window = &unit->window;

	return needs->output != AUXPMU_COPY && !needs->sink &&
	       window->irq != AUXPMU_NO_LIMIT && bytes >= window->irq - window->from;
}

static bool paranoid_interrupt_missing(struct auxpmu_unit *unit, struct paranoid_unit *watch,
				       u64 bytes)
{
	if (local64_read(&core_unit(unit)->stats.interrupts) != watch->interrupts)
		watch->unheard = 0;
	else if (paranoid_is_due(unit, bytes))
		watch->unheard++;
	if (watch->unheard < UNHEARD)
		return false;
	auxpmu_complain(unit->pmu, AUXPMU_NO_INTERRUPT, "arm", watch->unheard, bytes);
	watch->unheard = 0;
	return true;
}

/* Operations. */

static struct paranoid_unit *paranoid_unit_here(const struct auxpmu_unit *unit)
{
	return this_cpu_ptr(unit->pmu->paranoid->units);
}

static int paranoid_unit_init(struct auxpmu_unit *unit)
{
	struct paranoid_context before = paranoid_enter_sleepable();
	int ret = paranoid_real(unit->pmu)->unit_init(unit);

	auxpmu_paranoid_leave(unit->pmu, "unit_init", before);
	return ret;
}

static void paranoid_unit_exit(struct auxpmu_unit *unit)
{
	struct paranoid_context before = paranoid_enter_sleepable();

	paranoid_real(unit->pmu)->unit_exit(unit);
	auxpmu_paranoid_leave(unit->pmu, "unit_exit", before);
}

static int paranoid_event_init(struct perf_event *event, struct auxpmu_event *aux)
{
	struct paranoid_context before = paranoid_enter_sleepable();
	int ret = paranoid_real(auxpmu_of(event))->event_init(event, aux);

	auxpmu_paranoid_leave(auxpmu_of(event), "event_init", before);
	return ret;
}

static void paranoid_event_destroy(struct perf_event *event, struct auxpmu_event *aux)
{
	struct paranoid_context before = paranoid_enter_sleepable();

	paranoid_real(auxpmu_of(event))->event_destroy(event, aux);
	auxpmu_paranoid_leave(auxpmu_of(event), "event_destroy", before);
}

static void paranoid_suit(const struct auxpmu_buffer *buffer, struct auxpmu_window_rules *rules)
{
	struct paranoid_context before = paranoid_context_now();

	paranoid_real(buffer->pmu)->suit(buffer, rules);
	auxpmu_paranoid_leave(buffer->pmu, "suit", before);
}

static int paranoid_buffer_init(struct auxpmu_buffer *buffer, struct perf_event *event)
{
	struct paranoid_context before = paranoid_enter_sleepable();
	int ret = paranoid_real(buffer->pmu)->buffer_init(buffer, event);

	auxpmu_paranoid_leave(buffer->pmu, "buffer_init", before);
	return ret;
}

static void paranoid_buffer_fini(struct auxpmu_buffer *buffer)
{
	struct paranoid_context before = paranoid_enter_sleepable();

	paranoid_real(buffer->pmu)->buffer_fini(buffer);
	auxpmu_paranoid_leave(buffer->pmu, "buffer_fini", before);
}

static int paranoid_add(struct auxpmu_unit *unit)
{
	struct paranoid_context before = auxpmu_paranoid_enter();
	int ret = paranoid_real(unit->pmu)->add(unit);

	auxpmu_paranoid_leave(unit->pmu, "add", before);
	return ret;
}

static void paranoid_del(struct auxpmu_unit *unit)
{
	struct paranoid_context before = auxpmu_paranoid_enter();

	paranoid_real(unit->pmu)->del(unit);
	auxpmu_paranoid_leave(unit->pmu, "del", before);
}

static int paranoid_arm(struct auxpmu_unit *unit)
{
	struct paranoid_unit *watch = paranoid_unit_here(unit);
	struct paranoid_context before = auxpmu_paranoid_enter();
	int ret;

	paranoid_note_behind(unit, watch);
	watch->interrupts = local64_read(&core_unit(unit)->stats.interrupts);
	ret = paranoid_real(unit->pmu)->arm(unit);
	auxpmu_paranoid_leave(unit->pmu, "arm", before);
	return ret;
}

static void paranoid_disarm(struct auxpmu_unit *unit)
{
	struct paranoid_context before = auxpmu_paranoid_enter();

	paranoid_real(unit->pmu)->disarm(unit);
	auxpmu_paranoid_leave(unit->pmu, "disarm", before);
}

/* A unit that is stopped does not move: position() has to say the same a moment later. */
static bool paranoid_moved(struct auxpmu_unit *unit, u64 bytes)
{
	struct auxpmu_position again = {};

	udelay(PARANOID_MOMENT);
	paranoid_real(unit->pmu)->position(unit, &again);
	if (again.bytes == bytes)
		return false;
	auxpmu_complain(unit->pmu, AUXPMU_MOVED, "disarm", bytes, again.bytes);
	return true;
}

static void paranoid_position(struct auxpmu_unit *unit, struct auxpmu_position *position)
{
	struct paranoid_unit *watch = paranoid_unit_here(unit);
	struct paranoid_context before = auxpmu_paranoid_enter();

	paranoid_real(unit->pmu)->position(unit, position);
	position->gap |= paranoid_moved(unit, position->bytes);
	auxpmu_paranoid_leave(unit->pmu, "position", before);
	position->gap |= paranoid_wrote_behind(unit, watch);
	position->gap |= paranoid_interrupt_missing(unit, watch, position->bytes + position->lost);
	paranoid_check_fences(unit, "disarm");
}

/* Can the first and the last byte be read? */
static bool paranoid_is_there(const struct auxpmu_span *span)
{
	u8 byte;

	return !span->length ||
	       (!copy_from_kernel_nofault(&byte, span->data, 1) &&
		!copy_from_kernel_nofault(&byte, span->data + span->length - 1, 1));
}

unsigned int auxpmu_paranoid_spans(struct auxpmu *pmu, const char *op,
				   const struct auxpmu_span spans[2], unsigned int nr)
{
	unsigned int n;

	for (n = 0; n < min(nr, 2u); n++) {
		if (paranoid_is_there(&spans[n]))
			continue;
		auxpmu_complain(pmu, AUXPMU_BAD_ADDRESS, op, n, spans[n].length);
		return 0;
	}
	return nr;
}

static unsigned int paranoid_spans(struct auxpmu_unit *unit, struct auxpmu_span spans[2])
{
	struct paranoid_context before = auxpmu_paranoid_enter();
	unsigned int nr = paranoid_real(unit->pmu)->spans(unit, spans);

	auxpmu_paranoid_leave(unit->pmu, "spans", before);
	return auxpmu_paranoid_spans(unit->pmu, "spans", spans, nr);
}

static u64 paranoid_progress(struct auxpmu_unit *unit)
{
	struct paranoid_context before = auxpmu_paranoid_enter();
	u64 progress = paranoid_real(unit->pmu)->progress(unit);

	auxpmu_paranoid_leave(unit->pmu, "progress", before);
	return progress;
}

static bool paranoid_irq_pending(struct auxpmu_unit *unit)
{
	struct paranoid_context before = auxpmu_paranoid_enter();
	bool pending = paranoid_real(unit->pmu)->irq_pending(unit);

	auxpmu_paranoid_leave(unit->pmu, "irq_pending", before);
	return pending;
}

static int paranoid_online(struct auxpmu_unit *unit)
{
	struct paranoid_context before = paranoid_enter_sleepable();
	int ret = paranoid_real(unit->pmu)->online(unit);

	auxpmu_paranoid_leave(unit->pmu, "online", before);
	return ret;
}

static void paranoid_offline(struct auxpmu_unit *unit)
{
	struct paranoid_context before = paranoid_enter_sleepable();

	paranoid_real(unit->pmu)->offline(unit);
	auxpmu_paranoid_leave(unit->pmu, "offline", before);
}

static void paranoid_invalidate(struct auxpmu_unit *unit)
{
	struct paranoid_context before = auxpmu_paranoid_enter();

	paranoid_real(unit->pmu)->invalidate(unit);
	auxpmu_paranoid_leave(unit->pmu, "invalidate", before);
}

static void paranoid_pad(struct auxpmu_unit *unit, void *data, u64 length)
{
	struct paranoid_context before = auxpmu_paranoid_enter();

	paranoid_real(unit->pmu)->pad(unit, data, length);
	auxpmu_paranoid_leave(unit->pmu, "pad", before);
}

static void paranoid_put_barrier(struct auxpmu_unit *unit, void *data, u64 length)
{
	struct paranoid_context before = auxpmu_paranoid_enter();

	paranoid_real(unit->pmu)->put_barrier(unit, data, length);
	auxpmu_paranoid_leave(unit->pmu, "put_barrier", before);
}

/* Operations that a backend leaves out stay NULL. */
static void paranoid_make_ops(struct auxpmu_ops *ops, const struct auxpmu_ops *of)
{
	*ops = (struct auxpmu_ops){
		.version = of->version,
		.unit_init = of->unit_init ? paranoid_unit_init : NULL,
		.unit_exit = of->unit_exit ? paranoid_unit_exit : NULL,
		.event_init = paranoid_event_init,
		.event_destroy = of->event_destroy ? paranoid_event_destroy : NULL,
		.suit = of->suit ? paranoid_suit : NULL,
		.buffer_init = of->buffer_init ? paranoid_buffer_init : NULL,
		.buffer_fini = of->buffer_fini ? paranoid_buffer_fini : NULL,
		.add = of->add ? paranoid_add : NULL,
		.del = of->del ? paranoid_del : NULL,
		.arm = paranoid_arm,
		.disarm = paranoid_disarm,
		.position = paranoid_position,
		.spans = of->spans ? paranoid_spans : NULL,
		.irq_pending = of->irq_pending ? paranoid_irq_pending : NULL,
		.progress = of->progress ? paranoid_progress : NULL,
		.online = of->online ? paranoid_online : NULL,
		.offline = of->offline ? paranoid_offline : NULL,
		.invalidate = of->invalidate ? paranoid_invalidate : NULL,
		.pad = of->pad ? paranoid_pad : NULL,
		.put_barrier = of->put_barrier ? paranoid_put_barrier : NULL,
	};
}

int auxpmu_paranoid_make(struct auxpmu *pmu)
{
	struct auxpmu_paranoid *made;

	pmu->ops = pmu->desc->ops;
	if (!READ_ONCE(paranoid))
		return 0;
	made = kzalloc(sizeof(*made), GFP_KERNEL);
	if (!made)
		return -ENOMEM;
	made->units = alloc_percpu(struct paranoid_unit);
	if (!made->units) {
		kfree(made);
		return -ENOMEM;
	}
	paranoid_make_ops(&made->ops, pmu->desc->ops);
	pmu->paranoid = made;
	pmu->ops = &made->ops;
	static_branch_enable(&auxpmu_paranoid);
	return 0;
}

void auxpmu_paranoid_free(struct auxpmu *pmu)
{
	if (!pmu->paranoid)
		return;
	free_percpu(pmu->paranoid->units);
	kfree(pmu->paranoid);
}
