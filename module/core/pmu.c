// SPDX-License-Identifier: GPL-2.0-only
/*
 * The callbacks of the perf core, for every backend.
 *
 * Decides nothing about trace: start and stop become requests to the session, setup_aux belongs to
 * buffer.c. add() admits one event at a time per PMU and CPU, whatever the core lets through.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/percpu.h>
#include <linux/slab.h>

#include "compat.h"
#include "core/buffer.h"
#include "core/claim.h"
#include "core/filter.h"
#include "core/foreign.h"
#include "core/pmu.h"
#include "core/hotplug.h"
#include "core/sample.h"
#include "core/session.h"
#include "core/sink.h"
#include "inject/fault.h"
#include "internal.h"

static void pmu_event_destroy(struct perf_event *event)
{
	struct auxpmu_event *aux = auxpmu_event(event);
	struct auxpmu *pmu = auxpmu_of(event);

	if (!event->parent)
		auxpmu_claim_put(pmu);
	if (pmu->ops->event_destroy)
		pmu->ops->event_destroy(event, aux);
	event->pmu_private = NULL;
	auxpmu_sink_forget_sharer(core_event(aux));
	kfree(core_event(aux));
	auxpmu_put(pmu);
}

/*
 * Claim the units, if the caller may use them. An inherited event does not outlive its parent's
 * claim.
 */
static int pmu_claim(struct perf_event *event)
{
	if (event->parent)
		return 0;
	return auxpmu_foreign_permit(event) ?: auxpmu_claim_get(auxpmu_of(event));
}

int auxpmu_errno_of(const struct auxpmu_desc *desc, const char *op, int ret)
{
	if (ret <= 0 && ret >= -MAX_ERRNO)
		return ret;
	pr_notice_ratelimited("%s: %s() returned %d, which is no errno; it is 0 or negative\n",
			      desc->name, op, ret);
	return -EINVAL;
}

static const char *pmu_needs_wrong(const struct auxpmu_needs *needs, const struct auxpmu_desc *desc)
{
	if ((unsigned int)needs->output > AUXPMU_COPY)
		return "output is none of enum auxpmu_output";
	if ((unsigned int)needs->pages > AUXPMU_PAGES_WHOLE)
		return "pages is none of enum auxpmu_pages";
	if (needs->barrier && ((needs->output != AUXPMU_COPY && !needs->sink) ||
			       !desc->ops->put_barrier || needs->barrier > PAGE_SIZE ||
			       needs->barrier % needs->rules.atom))
		return "barrier takes AUXPMU_COPY or sink, put_barrier, whole atoms, up to a page";
	if (needs->sink && !desc->no_nmi)
		return "sink is set, and the descriptor does not say no_nmi";
	if (needs->sink && needs->output != AUXPMU_COPY && needs->sink->desc->polled &&
	    !desc->ops->progress)
		return "the sink is polled, and the ops have no progress()";
	if (needs->output == AUXPMU_COPY && !needs->sink && !desc->ops->spans)
		return "output is AUXPMU_COPY, and the ops have no spans()";
	if (needs->output == AUXPMU_COPY && needs->map)
		return "map is set, but a unit that copies never writes into the buffer";
	if (needs->rules.guarded && (needs->output != AUXPMU_WINDOW || !needs->map))
		return "rules.guarded takes AUXPMU_WINDOW and map";
	if (needs->output != AUXPMU_SCATTER && needs->regions)
		return "regions takes AUXPMU_SCATTER";
	if (needs->format & ~(u64)PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK)
		return "format has other bits than PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK";
	return NULL;
}

/* Can the framework serve the needs that the backend's event_init() filled? 0, or an errno. */
static int pmu_check_needs(const struct auxpmu *pmu, struct auxpmu_needs *needs)
{
	const struct auxpmu_window_rules *rules = &needs->rules;
	const char *wrong = pmu_needs_wrong(needs, pmu->desc);

	if (wrong) {
		auxpmu_notice(pmu,
			      "event refused: needs of the backend: %s (output %d, pages %d)",
			      wrong, needs->output, needs->pages);
		return -EINVAL;
	}
	needs->rules.contiguous = needs->output == AUXPMU_WINDOW;
	wrong = auxpmu_window_rules_alone(rules, PAGE_SIZE);
	if (!wrong)
		return 0;
	auxpmu_notice(pmu,
		      "event refused: window rules of the backend: %s (start_align %u, end_align %u, atom %u, spare %u, granule %llu, early %u, least %llu; a page is %lu)",
		      wrong, rules->start_align, rules->end_align, rules->atom, rules->spare,
		      rules->granule, rules->early, rules->least, PAGE_SIZE);
	return -EINVAL;
}

/* A CPU that goes offline meanwhile is add()'s concern. */
static bool pmu_cpu_has_no_unit(const struct perf_event *event)
{
	return event->cpu != -1 &&
	       READ_ONCE(per_cpu_ptr(auxpmu_of(event)->units, event->cpu)->absent);
}

static atomic64_t serials;

static int pmu_event_init(struct perf_event *event)
{
	struct auxpmu *pmu = auxpmu_of(event);
	struct core_event *aux;
	int ret;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (has_branch_stack(event)) {
		auxpmu_notice(pmu, "branch stack refused: take it with another event");
		return -EOPNOTSUPP;
	}
	/*
	 * The core refuses to map such an event. But after it is redirected into another event's
	 * ring, its children could write into that ring from several CPUs at once.
	 */
	if (event->attr.inherit && event->cpu == -1) {
		auxpmu_notice(pmu, "inherit with cpu -1 refused: open one inherited event per CPU; this PMU traces and counts nothing (perf stat)");
		return -EINVAL;
	}

	/*
	 * From 5.5 to 7.3 the core takes a reference on the leader for a member that samples,
	 * pauses or resumes its trace. It then refuses two events of an exclusive PMU without
	 * dropping the reference: neither the leader nor the module is ever freed.
	 */
	if (event->group_leader != event &&
	    (event->attr.aux_sample_size || auxpmu_pauses_leader(&event->attr))) {
		auxpmu_notice(pmu,
			      "aux_sample_size, aux_pause or aux_resume refused: they are for members that do not trace");
		return -EINVAL;
	}

	if (pmu_cpu_has_no_unit(event)) {
		auxpmu_notice(pmu, "event refused: CPU %d has no unit; caps/cpus has those that have one",
			      event->cpu);
		return -ENODEV;
	}
	if (!auxpmu_get(pmu))
		return -ENODEV;
	aux = kzalloc(sizeof(*aux), GFP_KERNEL);
	if (!aux) {
		ret = -ENOMEM;
		goto put;
	}
	aux->pub.pmu = pmu;
	aux->pub.needs.rules.start_align = 1;
	aux->pub.needs.rules.end_align = 1;
	aux->pub.needs.rules.atom = 1;
	/* An inherited event has its parent's attr, and so its needs. */
	aux->serial = event->parent ? core_event(auxpmu_event(event->parent))->serial :
				      atomic64_inc_return(&serials);
	event->pmu_private = &aux->pub;
	ret = auxpmu_errno_of(pmu->desc, "event_init", pmu->ops->event_init(event, &aux->pub));
	if (ret)
		goto free;

	ret = pmu_check_needs(pmu, &aux->pub.needs);
	if (ret)
		goto destroy;
	ret = pmu_claim(event);
	if (ret)
		goto destroy;
	if (aux->pub.needs.sink)
		auxpmu_sink_note_sharer(event);
	event->destroy = pmu_event_destroy;
	return 0;

destroy:
	if (pmu->ops->event_destroy)
		pmu->ops->event_destroy(event, &aux->pub);
free:
	event->pmu_private = NULL;
	kfree(aux);
put:
	auxpmu_put(pmu);
	return ret;
}

/* The unit of this CPU, if it traces for @event. */
static struct core_unit *pmu_session_of(const struct perf_event *event)
{
	struct core_unit *unit = this_cpu_ptr(auxpmu_of(event)->units);

	return unit->pub.event == event ? unit : NULL;
}

static void pmu_start_session(struct core_unit *unit, struct perf_event *event)
{
	/* When filters change, the core stops and starts the event. */
	if (unit->pub.pmu->desc->nr_addr_filters)
		perf_event_addr_filters_sync(event);
	auxpmu_session_request(unit, AUXPMU_REQ_START);
	event->hw.state = auxpmu_session_armed(unit) ? 0 : PERF_HES_STOPPED;
}

static void pmu_start(struct perf_event *event, int flags)
{
	struct core_unit *unit = pmu_session_of(event);

	if (!unit)
		return;
	/* Pause and resume may interrupt start and stop, so they leave hw.state alone. */
	if (flags & PERF_EF_RESUME)
		auxpmu_session_request(unit, AUXPMU_REQ_RESUME);
	else
		pmu_start_session(unit, event);
}

static void pmu_close_session(struct core_unit *unit, struct perf_event *event)
{
	auxpmu_session_request(unit, AUXPMU_REQ_CLOSE);
	event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

/*
 * Without UPDATE the core means to start the event again soon (throttling): keep the transaction,
 * so that samples have trace.
 */
static void pmu_stop(struct perf_event *event, int flags)
{
	struct core_unit *unit = pmu_session_of(event);

	if (!unit)
		return;
	if (flags & PERF_EF_PAUSE) {
		auxpmu_session_request(unit, AUXPMU_REQ_PAUSE);
	} else if (flags & PERF_EF_UPDATE) {
		pmu_close_session(unit, event);
	} else {
		auxpmu_session_request(unit, AUXPMU_REQ_PARK);
		event->hw.state |= PERF_HES_STOPPED;
	}
}

void auxpmu_take_off(struct core_unit *unit)
{
	if (!unit->pub.event)
		return;
	pmu_close_session(unit, unit->pub.event);
	if (unit->pub.pmu->ops->del)
		unit->pub.pmu->ops->del(&unit->pub);
	auxpmu_sink_detach(unit);
	/* auxpmu_resume() must not start an event that is gone. */
	unit->suspended = false;
	unit->pub.event = NULL;
}

static void pmu_del(struct perf_event *event, int flags)
{
	struct core_unit *unit = pmu_session_of(event);

	if (unit)
		auxpmu_take_off(unit);
}

/*
 * The core writes PERF_RECORD_ITRACE_START before it calls add(), and retries a failing add() at
 * each of its ticks. So suppress that record while add() fails. Called under the lock of the
 * event's context, which guards attach_state.
 */
static void pmu_quieten(struct perf_event *event, bool quiet)
{
	unsigned int state = event->attach_state & ~PERF_ATTACH_ITRACE;

	/* Without a ring no record was written yet. */
	if (quiet && READ_ONCE(event->rb))
		state |= PERF_ATTACH_ITRACE;
	WRITE_ONCE(event->attach_state, state);
}

static int pmu_add_unit(struct core_unit *unit)
{
	const struct auxpmu_ops *ops = unit->pub.pmu->ops;
	int ret = auxpmu_sink_attach(unit);

	if (ret || !ops->add)
		return ret;
	ret = ops->add(&unit->pub);
	if (ret)
		auxpmu_sink_detach(unit);
	return ret;
}

static int pmu_add(struct perf_event *event, int flags)
{
	struct core_unit *unit = this_cpu_ptr(auxpmu_of(event)->units);
	int ret;

	if (unit->absent) {
		unit->stats.no_unit++;
		pmu_quieten(event, true);
		return -ENODEV;
	}
	/* PERF_PMU_CAP_EXCLUSIVE does not suffice: exec and inheritance get around it. */
	if (unit->pub.event) {
		unit->stats.busy++;
		return -EBUSY;
	}
	atomic_set(&unit->word, auxpmu_paused(event) ? AUXPMU_PAUSED : 0);
	unit->pub.event = event;
	auxpmu_hotplug_look(unit);
	if (core_fault(unit->pub.pmu, CORE_FAULT_ADD))
		ret = -EIO;
	else
		ret = pmu_add_unit(unit);
	if (ret) {
		unit->pub.event = NULL;
		pmu_quieten(event, true);
		return ret;
	}
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (!(flags & PERF_EF_START))
		return 0;

	pmu_start_session(unit, event);
	if (auxpmu_session_started(unit)) {
		pmu_quieten(event, unit->pub.pmu->desc->tell_once);
		return 0;
	}
	/*
	 * For a child the core looks at attach_state of its parent, which must not be changed here.
	 * So report success: the child stays stopped until it next comes to a CPU.
	 */
	if (event->parent)
		return 0;
	pmu_quieten(event, true);
	pmu_del(event, 0);
	return -EINVAL;
}

static void pmu_read(struct perf_event *event)
{
}

const struct pmu auxpmu_callbacks = {
	.capabilities = PERF_PMU_CAP_EXCLUSIVE | PERF_PMU_CAP_ITRACE |
			PERF_PMU_CAP_AUX_PREFER_LARGE | PERF_PMU_CAP_AUX_PAUSE,
	.task_ctx_nr = perf_sw_context,
	.event_init = pmu_event_init,
	.add = pmu_add,
	.del = pmu_del,
	.start = pmu_start,
	.stop = pmu_stop,
	.read = pmu_read,
	.setup_aux = auxpmu_buffer_setup,
	.free_aux = auxpmu_buffer_free,
};
