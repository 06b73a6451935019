// SPDX-License-Identifier: GPL-2.0-only
/*
 * struct pmu for every backend: the callbacks of the perf core, and registration.
 *
 * Decides nothing about trace: start and stop become wishes to the session, setup_aux belongs to
 * buffer.c. add() is the gate: one event at a time per PMU and CPU, whatever the core lets through.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/percpu.h>
#include <linux/slab.h>

#include "buffer.h"
#include "caps.h"
#include "claim.h"
#include "compat.h"
#include "complaint.h"
#include "fault.h"
#include "filter.h"
#include "paranoid.h"
#include "peers.h"
#include "pmu.h"
#include "sample.h"
#include "session.h"
#include "stats.h"
#include "suspend.h"

static void event_destroy(struct perf_event *event)
{
	struct auxpmu_event *aux = auxpmu_event(event);
	struct auxpmu *pmu = auxpmu_of(event);

	if (!event->parent)
		auxpmu_claim_put(pmu);
	if (pmu->ops->event_destroy)
		pmu->ops->event_destroy(event, aux);
	event->pmu_private = NULL;
	kfree(aux);
	auxpmu_put(pmu);
}

/* Units, for who may have them; an inherited event is there only as long as its parent. */
static int claim(struct perf_event *event)
{
	if (event->parent)
		return 0;
	return auxpmu_peers_permit(event) ?: auxpmu_claim_get(auxpmu_of(event));
}

/* What a backend returned. The core takes what is no errno for a pointer: see ERR_PTR(). */
static int errno_of(const struct auxpmu_desc *desc, const char *op, int ret)
{
	if (ret <= 0 && ret >= -MAX_ERRNO)
		return ret;
	pr_notice_ratelimited("%s: %s() returned %d, which is no errno; it is 0 or negative\n",
			      desc->name, op, ret);
	return -EINVAL;
}

static const char *needs_wrong(const struct auxpmu_needs *needs, const struct auxpmu_ops *ops)
{
	if ((unsigned int)needs->output > AUXPMU_COPY)
		return "output is none of enum auxpmu_output";
	if ((unsigned int)needs->pages > AUXPMU_PAGES_WHOLE)
		return "pages is none of enum auxpmu_pages";
	if (needs->output == AUXPMU_COPY && !ops->spans)
		return "output is AUXPMU_COPY, and the ops have no spans()";
	if (needs->output == AUXPMU_COPY && needs->map)
		return "map is set, but a unit that copies never writes into the buffer";
	if (needs->output != AUXPMU_SCATTER && needs->regions)
		return "regions takes AUXPMU_SCATTER";
	return NULL;
}

/* Are the needs that a backend's event_init() filled what can be served?  0, or an errno. */
static int check_needs(const struct auxpmu *pmu, struct auxpmu_needs *needs)
{
	const struct auxpmu_window_rules *rules = &needs->rules;
	const char *wrong = needs_wrong(needs, pmu->ops);

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
		      "event refused: window rules of the backend: %s (start_align %u, end_align %u, unit %u, spare %u, granule %llu, early %u; a page is %lu)",
		      wrong, rules->start_align, rules->end_align, rules->unit, rules->spare,
		      rules->granule, rules->early, PAGE_SIZE);
	return -EINVAL;
}

static atomic64_t serials;

static int event_init(struct perf_event *event)
{
	struct auxpmu *pmu = auxpmu_of(event);
	struct auxpmu_event *aux;
	int ret;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (has_branch_stack(event))
		return -EOPNOTSUPP;
	/*
	 * The core never maps such an event; but redirected into the ring of another one, its
	 * children could trace on several CPUs at once, into a ring that takes one writer.
	 */
	if (event->attr.inherit && event->cpu == -1) {
		auxpmu_notice(pmu, "inherit with cpu -1 refused: open one inherited event per CPU");
		return -EINVAL;
	}

	/*
	 * From 5.5 to 7.3 the core gets the leader for a member that asks for samples, then finds
	 * that two events of an exclusive PMU are one too many, and does not put the leader: it is
	 * never freed, nor is the module.
	 */
	if (event->attr.aux_sample_size && event->group_leader != event) {
		auxpmu_notice(pmu,
			      "aux_sample_size refused: it is for members that do not trace");
		return -EINVAL;
	}

	if (!auxpmu_get(pmu))
		return -ENODEV;
	aux = kzalloc(sizeof(*aux), GFP_KERNEL);
	if (!aux) {
		ret = -ENOMEM;
		goto put;
	}
	aux->needs.rules.start_align = 1;
	aux->needs.rules.end_align = 1;
	aux->needs.rules.unit = 1;
	/* An inherited event has its parent's attr, and so its needs. */
	aux->serial = event->parent ? auxpmu_event(event->parent)->serial :
				      atomic64_inc_return(&serials);
	event->pmu_private = aux;
	ret = errno_of(pmu->desc, "event_init", pmu->ops->event_init(event, aux));
	if (ret)
		goto free;

	ret = check_needs(pmu, &aux->needs);
	if (ret)
		goto destroy;
	ret = claim(event);
	if (ret)
		goto destroy;
	event->destroy = event_destroy;
	return 0;

destroy:
	if (pmu->ops->event_destroy)
		pmu->ops->event_destroy(event, aux);
free:
	event->pmu_private = NULL;
	kfree(aux);
put:
	auxpmu_put(pmu);
	return ret;
}

/* The session of this CPU, if it works for @event. */
static struct auxpmu_session *session_of(const struct perf_event *event)
{
	struct auxpmu_session *session = this_cpu_ptr(auxpmu_of(event)->sessions);

	return session->event == event ? session : NULL;
}

static void start_session(struct auxpmu_session *session, struct perf_event *event)
{
	/* The core has stopped the event if they have changed. */
	if (session->pmu->desc->nr_addr_filters)
		perf_event_addr_filters_sync(event);
	auxpmu_session_request(session, AUXPMU_REQ_START);
	event->hw.state = auxpmu_session_armed(session) ? 0 : PERF_HES_STOPPED;
}

static void start(struct perf_event *event, int flags)
{
	struct auxpmu_session *session = session_of(event);

	if (!session)
		return;
	/* Pause and resume may interrupt start and stop, and leave the event's state alone. */
	if (flags & PERF_EF_RESUME)
		auxpmu_session_request(session, AUXPMU_REQ_RESUME);
	else
		start_session(session, event);
}

static void close_session(struct auxpmu_session *session, struct perf_event *event)
{
	auxpmu_session_request(session, AUXPMU_REQ_CLOSE);
	event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

/*
 * Without UPDATE the core means to start it again soon (throttling): the transaction stays, so that
 * samples have trace.
 */
static void stop(struct perf_event *event, int flags)
{
	struct auxpmu_session *session = session_of(event);

	if (!session)
		return;
	if (flags & PERF_EF_PAUSE) {
		auxpmu_session_request(session, AUXPMU_REQ_PAUSE);
	} else if (flags & PERF_EF_UPDATE) {
		close_session(session, event);
	} else {
		auxpmu_session_request(session, AUXPMU_REQ_PARK);
		event->hw.state |= PERF_HES_STOPPED;
	}
}

static void del(struct perf_event *event, int flags)
{
	struct auxpmu_session *session = session_of(event);

	if (!session)
		return;
	close_session(session, event);
	if (session->pmu->ops->del)
		session->pmu->ops->del(session);
	session->event = NULL;
}

/*
 * The core tells user space of every attempt at tracing, by PERF_RECORD_ITRACE_START, before it
 * calls add(); and as long as add() fails it tries again at each of its ticks, with nothing to tell
 * but that.  So it is told not to while that is so.  Called under the lock of the event's context,
 * as whoever changes attach_state.
 */
static void quieten(struct perf_event *event, bool quiet)
{
	unsigned int state = event->attach_state & ~PERF_ATTACH_ITRACE;

	/* Without a ring nothing was told yet. */
	if (quiet && READ_ONCE(event->rb))
		state |= PERF_ATTACH_ITRACE;
	WRITE_ONCE(event->attach_state, state);
}

static int add(struct perf_event *event, int flags)
{
	struct auxpmu_session *session = this_cpu_ptr(auxpmu_of(event)->sessions);
	const struct auxpmu_ops *ops = session->pmu->ops;
	int ret;

	/* PERF_PMU_CAP_EXCLUSIVE is a first fence only: exec and inheritance lead around it. */
	if (session->event) {
		session->stats.busy++;
		return -EBUSY;
	}
	atomic_set(&session->word, auxpmu_paused(event) ? AUXPMU_PAUSED : 0);
	session->event = event;
	session->suspended = false;
	if (auxpmu_fault(session->pmu, AUXPMU_FAULT_ADD))
		ret = -EIO;
	else
		ret = ops->add ? ops->add(session) : 0;
	if (ret) {
		session->event = NULL;
		quieten(event, true);
		return ret;
	}
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (!(flags & PERF_EF_START))
		return 0;

	start_session(session, event);
	if (auxpmu_session_started(session)) {
		quieten(event, session->pmu->desc->tell_once);
		return 0;
	}
	/*
	 * Of a child the core asks its parent, whose state is not ours to change here: it stays
	 * on, stopped, until it next comes to a CPU.
	 */
	if (event->parent)
		return 0;
	quieten(event, true);
	del(event, 0);
	return -EINVAL;
}

static void read(struct perf_event *event)
{
}

static const char *limits_wrong(const struct auxpmu_limits *limits)
{
	const u64 pages[] = { limits->min_block, limits->max_block, limits->min_buffer,
			      limits->max_buffer, limits->granule };
	size_t n;

	for (n = 0; n < ARRAY_SIZE(pages); n++)
		if (pages[n] && (pages[n] < PAGE_SIZE || !is_power_of_2(pages[n])))
			return "a limit is not a power of two, or less than a page";
	if (limits->max_block && limits->min_block > limits->max_block)
		return "min_block is above max_block";
	if (limits->max_buffer && limits->min_buffer > limits->max_buffer)
		return "min_buffer is above max_buffer";
	if (limits->max_buffer && limits->min_block > limits->max_buffer)
		return "min_block is above max_buffer";
	return NULL;
}

static const char *name_wrong(const char *name)
{
	const char *c;

	if (!name || !name[0])
		return "it has no name";
	if (!isascii(name[0]) || !isalnum(name[0]))
		return "its name does not begin with a letter or digit";
	for (c = name; *c; c++)
		if (!isascii(*c) || !(isalnum(*c) || strchr("_-.", *c)))
			return "its name has other characters than letters, digits, _, - and .";
	if (c - name > AUXPMU_NAME_MAX)
		return "its name has more than " __stringify(AUXPMU_NAME_MAX) " characters";
	return NULL;
}

static const char *claim_wrong(const struct auxpmu_claim *claim)
{
	if (!claim->rival || !claim->handlers)
		return "its claim has no rival or no handlers";
	if (!claim->begin || !claim->end || !claim->take || !claim->give || !claim->kill)
		return "its claim has not all of begin, end, take, give and kill";
	return NULL;
}

static const char *desc_wrong(const struct auxpmu_desc *desc)
{
	const struct auxpmu_ops *ops = desc->ops;

	if (name_wrong(desc->name))
		return name_wrong(desc->name);
	if (desc->unit_size > AUXPMU_UNIT_MAX)
		return "unit_size is above 1 MiB; allocate what is larger in unit_init";
	if ((unsigned int)desc->yields > AUXPMU_YIELDS_NOTHING)
		return "yields is none of enum auxpmu_yields";
	if (desc->claim && claim_wrong(desc->claim))
		return claim_wrong(desc->claim);
	if (auxpmu_caps_wrong(desc))
		return auxpmu_caps_wrong(desc);
	if (desc->nr_addr_filters > AUXPMU_FILTERS_MAX)
		return "it has more than " __stringify(AUXPMU_FILTERS_MAX) " address filters";
	if (limits_wrong(&desc->limits))
		return limits_wrong(&desc->limits);
	if (!ops)
		return "it has no ops";
	if (ops->version != AUXPMU_OPS_VERSION)
		return "it was built against another version of auxpmu.h; rebuild it";
	if (!ops->event_init || !ops->arm || !ops->disarm || !ops->position)
		return "event_init, arm, disarm or position is missing";
	return NULL;
}

static int unit_make(struct auxpmu_session *session)
{
	const struct auxpmu *pmu = session->pmu;

	session->unit = auxpmu_unit_alloc(pmu, session->cpu);
	if (!session->unit && pmu->desc->unit_size) {
		session->pmu = NULL;
		return -ENOMEM;
	}
	return pmu->ops->unit_init ?
	       errno_of(pmu->desc, "unit_init", pmu->ops->unit_init(session)) : 0;
}

static int sessions_make(struct auxpmu *pmu)
{
	int cpu;

	pmu->sessions = alloc_percpu(struct auxpmu_session);
	if (!pmu->sessions)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct auxpmu_session *session = per_cpu_ptr(pmu->sessions, cpu);
		int ret;

		session->pmu = pmu;
		session->cpu = cpu;
		ret = unit_make(session);
		if (ret)
			return ret;
	}
	return 0;
}

static void unit_free(struct auxpmu_session *session)
{
	/* Making the PMU did not come as far as this unit. */
	if (!session->pmu)
		return;
	if (session->pmu->ops->unit_exit)
		session->pmu->ops->unit_exit(session);
	auxpmu_unit_free(session);
}

static void pmu_free(struct auxpmu *pmu)
{
	int cpu;

	if (pmu->sessions)
		for_each_possible_cpu(cpu)
			unit_free(per_cpu_ptr(pmu->sessions, cpu));
	auxpmu_complaints_free(pmu);
	auxpmu_paranoid_free(pmu);
	free_percpu(pmu->sessions);
	kfree(pmu->pmu.attr_groups);
	kfree(pmu);
}

/*
 * No event is there any more, so nothing is to be suspended or claimed.  While the sessions are
 * there: what is given back may have to be suspended first.
 */
static void unhook(struct auxpmu *pmu)
{
	auxpmu_suspend_remove(pmu);
	auxpmu_claim_free(pmu);
}

void auxpmu_release(struct auxpmu *pmu)
{
	const struct auxpmu_desc *desc = pmu->desc;

	unhook(pmu);
	pmu_free(pmu);
	if (desc->release)
		desc->release(desc);
}

struct auxpmu *__auxpmu_register(const struct auxpmu_desc *desc, struct module *owner)
{
	const char *wrong = desc_wrong(desc);
	struct auxpmu *pmu;
	int ret = -ENOMEM;

	if (wrong) {
		const char *name = desc->name ?: "(unnamed)";

		/* Its name may be what is wrong. */
		pr_notice("PMU %*pE refused: %s\n", (int)strnlen(name, AUXPMU_NAME_MAX), name,
			  wrong);
		return ERR_PTR(-EINVAL);
	}
	/* The core would find out, too, but with a backtrace in the log. */
	if (auxpmu_peers_named(desc->name)) {
		pr_notice("PMU %s refused: there is a device of that name\n", desc->name);
		return ERR_PTR(-EEXIST);
	}
	pmu = kzalloc(sizeof(*pmu), GFP_KERNEL);
	if (!pmu)
		return ERR_PTR(-ENOMEM);
	pmu->desc = desc;
	pmu->owner = owner;
	atomic_set(&pmu->users, AUXPMU_GONE);
	pmu->pmu = (struct pmu){
		.module = owner,
		.capabilities = PERF_PMU_CAP_EXCLUSIVE | PERF_PMU_CAP_ITRACE |
				PERF_PMU_CAP_AUX_PREFER_LARGE | PERF_PMU_CAP_AUX_PAUSE,
		.task_ctx_nr = perf_sw_context,
		.attr_groups = auxpmu_caps_groups(desc),
		.nr_addr_filters = desc->nr_addr_filters,
		.event_init = event_init,
		.add = add,
		.del = del,
		.start = start,
		.stop = stop,
		.read = read,
		.setup_aux = auxpmu_buffer_setup,
		.free_aux = auxpmu_buffer_free,
		.snapshot_aux = auxpmu_sample_available() ? auxpmu_sample : NULL,
	};
	if (!pmu->pmu.attr_groups)
		goto free;
	if (desc->nr_addr_filters) {
		pmu->pmu.addr_filters_validate = auxpmu_filter_validate(desc->nr_addr_filters,
									desc->filters_stop);
		pmu->pmu.addr_filters_sync = auxpmu_filter_sync;
	}
	ret = auxpmu_paranoid_make(pmu);
	if (!ret)
		ret = auxpmu_complaints_make(pmu);
	if (!ret)
		ret = sessions_make(pmu);
	if (ret)
		goto free;
	ret = auxpmu_claim_make(pmu);
	if (ret)
		goto free;
	ret = perf_pmu_register(&pmu->pmu, desc->name, -1);
	if (ret) {
		pr_notice("PMU %s refused by the kernel: error %d; is the name taken?\n",
			  desc->name, ret);
		auxpmu_claim_free(pmu);
		goto free;
	}
	auxpmu_peers_note(pmu);
	auxpmu_debugfs_add(pmu);
	auxpmu_suspend_add(pmu);
	/*
	 * 6.1 lets events be opened as soon as the PMU has its number, before perf_pmu_register()
	 * has given it contexts, and uses what is not there: "refcount_t: addition on 0" in
	 * find_get_context().  So none is let through before all is there.
	 */
	atomic_set_release(&pmu->users, 0);
	return pmu;

free:
	pmu_free(pmu);
	return ERR_PTR(ret);
}
EXPORT_SYMBOL_NS_GPL(__auxpmu_register, AUXPMU_NS);

/*
 * Newer kernels return an error with events that are mapped, for PMUs that want to know; this one
 * does not.
 */
static void leave_core(struct auxpmu *pmu)
{
	int cpu;

	for_each_possible_cpu(cpu)
		auxpmu_stop_turns(&pmu->pmu, cpu);
	perf_pmu_unregister(&pmu->pmu);
	/*
	 * 6.1 takes the PMU's number away only after it waited for those who look PMUs up: who
	 * comes in between is on its way, without sleeping, through an event_init() that refuses,
	 * and then reads the PMU's module ("general protection fault" in module_put()).
	 */
	synchronize_rcu_tasks();
}

int auxpmu_try_unregister(struct auxpmu *pmu)
{
	int none = 0;

	if (!atomic_try_cmpxchg(&pmu->users, &none, AUXPMU_GONE))
		return -EBUSY;
	auxpmu_debugfs_remove(pmu);
	/*
	 * A task may still be on its way out of auxpmu_buffer_free(); and after event_destroy() the
	 * core goes on to use the event's pmu (exclusive_event_destroy(), put_pmu_ctx(), the
	 * module's reference), on no kernel sleeping before it is done.
	 */
	synchronize_rcu_tasks();
	leave_core(pmu);
	auxpmu_release(pmu);
	return 0;
}
EXPORT_SYMBOL_NS_GPL(auxpmu_try_unregister, AUXPMU_NS);

int auxpmu_revoke(struct auxpmu *pmu)
{
#ifdef AUXPMU_HAS_REVOCATION
	/* One user more, so that the PMU is there until the core is done with it. */
	atomic_add(AUXPMU_GONE + 1, &pmu->users);
	auxpmu_debugfs_remove(pmu);
	/* Detaches all events and waits until they are gone; buffers stay as long as mappings. */
	leave_core(pmu);
	/* Hardware that has gone is not asked to suspend, or to stop for a reboot. */
	unhook(pmu);
	auxpmu_put(pmu);
	return 0;
#else
	return -EOPNOTSUPP;
#endif
}
EXPORT_SYMBOL_NS_GPL(auxpmu_revoke, AUXPMU_NS);

void auxpmu_unregister(struct auxpmu *pmu)
{
	WARN_ON(auxpmu_try_unregister(pmu));
}
EXPORT_SYMBOL_NS_GPL(auxpmu_unregister, AUXPMU_NS);
