// SPDX-License-Identifier: GPL-2.0-only
/*
 * AUX buffers: describes, for every backend, the pages that the core hands to setup_aux().
 *
 * A buffer lives from the first mmap of the AUX area to the last munmap, which may come long after
 * the event is gone, so it holds its own references on the modules. The core calls this in process
 * context; only auxpmu_buffer_find(), auxpmu_buffer_rules() and auxpmu_buffer_free() may be called
 * in any context.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "core/buffer.h"
#include "core/claim.h"
#include "inject/fault.h"
#include "internal.h"

/* Every live buffer of every PMU, by the address of its ring. */
static DEFINE_HASHTABLE(buffers, 8);
static DEFINE_SPINLOCK(buffers_lock);
static u64 buffers_made;

struct core_buffer *auxpmu_buffer_find(const struct perf_event *event)
{
	const void *rb = auxpmu_buffer_ring(event);
	struct core_buffer *buffer;

	if (!rb)
		return NULL;
	hash_for_each_possible_rcu(buffers, buffer, node, (unsigned long)rb)
		if (READ_ONCE(buffer->rb) == rb)
			return buffer;
	return NULL;
}

/* Does the unit write through the mapping, so that it does not matter which pages lie together? */
static bool buffer_through_map(const struct auxpmu_needs *needs)
{
	return needs->output == AUXPMU_WINDOW && needs->map;
}

static bool buffer_pages_suit(const struct auxpmu_buffer *buffer, const struct auxpmu_needs *needs)
{
	const struct auxpmu_chunks *chunks = &buffer->chunks;
	u64 smallest = (u64)PAGE_SIZE << chunks->order;

	if (buffer_through_map(needs))
		return true;
	if (smallest < buffer->pmu->desc->limits.min_chunk)
		return false;
	if (needs->fallback)
		return true;
	if (needs->pages == AUXPMU_PAGES_HALF)
		return smallest >= auxpmu_chunks_bytes(chunks) / 2;
	return needs->pages != AUXPMU_PAGES_WHOLE || chunks->nr == 1;
}

/* Bytes of the regions of a unit that stops and interrupts at their ends only. */
static u64 buffer_granule(const struct auxpmu_buffer *buffer)
{
	return buffer->pmu->desc->limits.granule ?: max_t(u64, PAGE_SIZE, buffer->size / 16);
}

/* Those of a unit that could write into another buffer, but not into this one. */
static void buffer_relax(struct auxpmu_window_rules *rules)
{
	*rules = (struct auxpmu_window_rules){
		.start_align = 1, .end_align = 1, .atom = rules->atom,
	};
}

static void buffer_make_rules(const struct auxpmu_buffer *buffer, const struct auxpmu_needs *needs,
			      bool copies, struct auxpmu_window_rules *rules)
{
	*rules = needs->rules;
	if (copies && needs->output != AUXPMU_COPY) {
		buffer_relax(rules);
		return;
	}
	/* In overwrite mode a unit need not stop or interrupt at region ends. */
	if (needs->regions && !buffer->overwrite)
		rules->granule = buffer_granule(buffer);
	if (buffer->pmu->ops->suit)
		buffer->pmu->ops->suit(buffer, rules);
}

bool auxpmu_buffer_rules(const struct core_buffer *buffer, const struct core_event *aux,
			 struct auxpmu_window_rules *rules)
{
	const struct auxpmu_needs *needs = &aux->pub.needs;
	bool copies = auxpmu_buffer_copies(buffer, aux);

	/* buffer_make() has checked this event's rules. */
	if (aux->serial == buffer->serial && !aux->shares) {
		*rules = buffer->rules;
		return true;
	}
	buffer_make_rules(&buffer->pub, needs, copies, rules);
	if (copies)
		return !auxpmu_window_rules_valid(rules, &buffer->pub.chunks);
	/* The chunk of a buffer made for the mapping is none for a unit that goes past it. */
	if (buffer->mapped && !buffer_through_map(needs))
		return false;
	return buffer_pages_suit(&buffer->pub, needs) && (buffer->pub.base || !needs->map) &&
	       (buffer->guard || !rules->guarded) &&
	       (buffer->pub.regions.nr || !needs->regions) &&
	       !auxpmu_window_rules_valid(rules, &buffer->pub.chunks);
}

void *auxpmu_buffer_run(const struct auxpmu_buffer *buffer, u64 position, u64 *length)
{
	u64 offset = auxpmu_buffer_offset(buffer, position);

	*length = auxpmu_chunk_end(&buffer->chunks, offset) - offset;
	if (container_of(buffer, const struct core_buffer, pub)->mapped)
		return buffer->base + offset;
	return buffer->pages[offset >> PAGE_SHIFT] + offset_in_page(offset);
}
EXPORT_SYMBOL_NS_GPL(auxpmu_buffer_run, AUXPMU_NS);

void auxpmu_buffer_abandon(const struct auxpmu_buffer *buffer)
{
	u32 n;

	for (n = 0; n < buffer->chunks.nr_pages; n++)
		get_page(virt_to_page(buffer->pages[n]));
}
EXPORT_SYMBOL_NS_GPL(auxpmu_buffer_abandon, AUXPMU_NS);

/* For the functions that find chunks: pages, the largest order to use, and the fault "mixed". */
struct layout {
	void **pages;
	unsigned int cap;
	bool mixed;
};

/* rb_alloc_aux() stores the order of a large chunk in its first page. */
static unsigned int buffer_allocated_order(const struct layout *layout, u32 page)
{
	struct page *p = virt_to_page(layout->pages[page]);

	return PagePrivate(p) ? page_private(p) : 0;
}

/* Pages in front of @page in a chunk of @order, which is aligned to its size. */
static u32 buffer_before_in_chunk(const struct layout *layout, u32 page, unsigned int order)
{
	return page_to_pfn(virt_to_page(layout->pages[page])) & ((1u << order) - 1);
}

/* Does @page lie in a chunk of @order? */
static bool buffer_in_chunk(const struct layout *layout, u32 page, unsigned int order)
{
	u32 before = buffer_before_in_chunk(layout, page, order);

	return before <= page && buffer_allocated_order(layout, page - before) == order &&
	       layout->pages[page - before] + ((size_t)before << PAGE_SHIFT) == layout->pages[page];
}

/*
 * The order of the piece at @page if each chunk counts as a half, a quarter, and so on to single
 * pages.
 */
static unsigned int buffer_mixed_order(const struct layout *layout, u32 page)
{
	unsigned int order;
	u32 rest;

	for (order = AUXPMU_LARGEST_ORDER; order; order--) {
		if (!buffer_in_chunk(layout, page, order))
			continue;
		rest = (1u << order) - buffer_before_in_chunk(layout, page, order);
		return rest == 1 ? 0 : min_t(unsigned int, ilog2(rest) - 1, layout->cap);
	}
	return 0;
}

/* The order of the piece that begins at @page; chunks above the cap count as several. */
static unsigned int buffer_piece_order(const void *ctx, u32 page)
{
	const struct layout *layout = ctx;
	unsigned int order = buffer_allocated_order(layout, page);

	if (layout->mixed)
		return buffer_mixed_order(layout, page);
	for (; order <= AUXPMU_LARGEST_ORDER; order++)
		if (order >= layout->cap && buffer_in_chunk(layout, page, order))
			return layout->cap;
	return min(buffer_allocated_order(layout, page), layout->cap);
}

static unsigned int buffer_largest_order(const struct auxpmu_buffer *buffer, enum auxpmu_pages wish)
{
	if (wish == AUXPMU_PAGES_ANY || core_fault(buffer->pmu, CORE_FAULT_ORDERS))
		return 0;
	return auxpmu_largest_order(buffer->pmu);
}

/* Make the map of @nr_pages pages; @order says which of them lie together. */
static int buffer_map_pages(struct auxpmu_chunks *chunks, u32 nr_pages, auxpmu_order_fn order,
			    const void *ctx)
{
	bool alike;
	u32 *first;
	int ret;

	chunks->nr_pages = nr_pages;
	chunks->page_shift = PAGE_SHIFT;
	ret = auxpmu_chunks_scan(chunks, order, ctx, &alike);
	if (ret || alike)
		return ret;

	first = kvmalloc_array(chunks->nr, sizeof(*first), GFP_KERNEL);
	if (!first)
		return -ENOMEM;
	auxpmu_chunks_fill(chunks, first, order, ctx);
	return 0;
}

/* The order of the one piece that a mapping is. */
static unsigned int buffer_whole_order(const void *ctx, u32 page)
{
	const struct auxpmu_buffer *buffer = ctx;

	return ilog2(buffer->size) - PAGE_SHIFT;
}

static int buffer_map_chunks(struct auxpmu_buffer *buffer, int nr_pages,
			     const struct auxpmu_needs *needs)
{
	struct layout layout = {
		.pages = buffer->pages,
		.cap = buffer_largest_order(buffer, needs->pages),
		.mixed = core_fault(buffer->pmu, CORE_FAULT_MIXED),
	};

	if (buffer_through_map(needs))
		return buffer_map_pages(&buffer->chunks, nr_pages, buffer_whole_order, buffer);

	return buffer_map_pages(&buffer->chunks, nr_pages, buffer_piece_order, &layout);
}

/* The order of the region that begins at @page. */
static unsigned int buffer_region_order(const void *ctx, u32 page)
{
	const struct auxpmu_buffer *buffer = ctx;
	struct auxpmu_chunk chunk = auxpmu_chunk_at(&buffer->chunks, (u64)page << PAGE_SHIFT);

	return ilog2(buffer->overwrite ? chunk.length : min(chunk.length, buffer_granule(buffer))) -
	       PAGE_SHIFT;
}

static int buffer_map_regions(struct auxpmu_buffer *buffer)
{
	return buffer_map_pages(&buffer->regions, buffer->chunks.nr_pages, buffer_region_order,
				buffer);
}

static void buffer_unmap_memory(struct core_buffer *buffer)
{
	void *base = buffer->pub.base;

	vunmap(base && buffer->guard ? base - PAGE_SIZE : base);
	if (buffer->guard)
		__free_page(buffer->guard);
}

static int buffer_map_memory(struct core_buffer *buffer, bool guarded)
{
	u32 nr = buffer->pub.chunks.nr_pages;
	struct page **pages, **page;
	void *base;
	u32 n;

	if (guarded) {
		buffer->guard = alloc_page(GFP_KERNEL);
		if (!buffer->guard)
			return -ENOMEM;
	}
	pages = kvmalloc_array(nr + 2, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	page = pages;
	if (guarded)
		*page++ = buffer->guard;
	for (n = 0; n < nr; n++)
		*page++ = virt_to_page(buffer->pub.pages[n]);
	if (guarded)
		*page++ = buffer->guard;
	base = vmap(pages, page - pages, VM_MAP, PAGE_KERNEL);
	kvfree(pages);
	if (!base)
		return -ENOMEM;
	buffer->pub.base = guarded ? base + PAGE_SIZE : base;
	return 0;
}

/* Can the hardware use such a buffer at all? */
static int buffer_check_limits(const struct auxpmu *pmu, const struct auxpmu_buffer *buffer)
{
	const struct auxpmu_limits *limits = &pmu->desc->limits;

	if (buffer->overwrite && limits->no_overwrite) {
		auxpmu_notice(pmu,
			      "AUX buffer refused: the unit cannot overwrite; map it writable");
		return -EOPNOTSUPP;
	}
	if (buffer->size < limits->min_buffer ||
	    (limits->max_buffer && buffer->size > limits->max_buffer)) {
		auxpmu_notice(pmu,
			      "AUX buffer of %llu KiB refused: the unit takes %llu to %llu (0: any) KiB",
			      buffer->size >> 10, limits->min_buffer >> 10,
			      limits->max_buffer >> 10);
		return -EINVAL;
	}
	return 0;
}

static u64 buffer_chunk_wanted(const struct auxpmu_buffer *buffer, const struct auxpmu_needs *needs)
{
	u64 chunk = buffer->pmu->desc->limits.min_chunk;

	if (needs->pages == AUXPMU_PAGES_WHOLE)
		chunk = max(chunk, buffer->size);
	if (needs->pages == AUXPMU_PAGES_HALF)
		chunk = max(chunk, buffer->size / 2);
	return chunk;
}

/*
 * Do the pages meet @needs? If not, log what was needed, what the allocator gave, and what helps.
 */
static int buffer_check_pages(const struct auxpmu *pmu, const struct auxpmu_buffer *buffer,
			      const struct auxpmu_needs *needs)
{
	u64 chunk = buffer_chunk_wanted(buffer, needs);

	if (buffer_pages_suit(buffer, needs))
		return 0;
	auxpmu_notice(pmu, "AUX buffer of %llu KiB refused: it has to be of chunks of %llu KiB (order %d), the allocator gave chunks down to order %u; use a smaller buffer, compact memory%s",
		      buffer->size >> 10, chunk >> 10, get_order(chunk), buffer->chunks.order,
		      chunk == buffer->size && !buffer->overwrite ?
		      ", or set aux_watermark to the size of the buffer" : "");
	return -ENOMEM;
}

static int buffer_set_rules(const struct auxpmu *pmu, struct core_buffer *buffer,
			    const struct auxpmu_needs *needs)
{
	const struct auxpmu_window_rules *rules = &buffer->rules;
	const char *wrong;

	buffer_make_rules(&buffer->pub, needs,
			  auxpmu_buffer_takes_copies(&buffer->pub, needs), &buffer->rules);
	wrong = auxpmu_window_rules_valid(rules, &buffer->pub.chunks);
	if (!wrong)
		return 0;
	auxpmu_notice(pmu,
		      "AUX buffer of %llu KiB refused: %s (windows end at multiples of %u, atom %u, spare %u bytes, and the core holds one back); use a larger one",
		      buffer->pub.size >> 10, wrong, rules->end_align, rules->atom, rules->spare);
	return -EINVAL;
}

static void buffer_free_maps(struct auxpmu_buffer *buffer)
{
	kvfree(buffer->regions.first);
	kvfree(buffer->chunks.first);
}

static void buffer_undo(struct core_buffer *buffer)
{
	buffer_unmap_memory(buffer);
	buffer_free_maps(&buffer->pub);
}

/* For auxpmu_buffers_show(), which should not walk so many chunks under a spinlock. */
static void buffer_count_orders(struct core_buffer *buffer)
{
	u32 n;

	if (!buffer->pub.chunks.first) {
		buffer->nr_of_order[buffer->pub.chunks.order] = buffer->pub.chunks.nr;
		return;
	}
	for (n = 0; n < buffer->pub.chunks.nr; n++)
		buffer->nr_of_order[get_order(auxpmu_chunk_nth(&buffer->pub.chunks, n).length)]++;
}

/* The backend says how its units reach the buffer, on which their rules depend. */
static int buffer_init(const struct auxpmu *pmu, struct core_buffer *buffer,
		       struct perf_event *event)
{
	int ret = pmu->ops->buffer_init ? pmu->ops->buffer_init(&buffer->pub, event) : 0;

	if (ret) {
		auxpmu_notice(pmu, "AUX buffer of %llu KiB refused by the backend: error %d",
			      buffer->pub.size >> 10, ret);
		return ret;
	}
	ret = buffer_set_rules(pmu, buffer, &auxpmu_event(event)->needs);
	if (ret && pmu->ops->buffer_fini)
		pmu->ops->buffer_fini(&buffer->pub);
	return ret;
}

static int buffer_make(struct core_buffer *buffer, struct perf_event *event, int nr_pages)
{
	const struct auxpmu_needs *needs = &auxpmu_event(event)->needs;
	const struct auxpmu *pmu = buffer->pub.pmu;
	int ret;

	ret = buffer_check_limits(pmu, &buffer->pub);
	if (!ret)
		ret = buffer_map_chunks(&buffer->pub, nr_pages, needs);
	if (!ret)
		ret = buffer_check_pages(pmu, &buffer->pub, needs);
	if (!ret && needs->regions)
		ret = buffer_map_regions(&buffer->pub);
	if (!ret && needs->map)
		ret = buffer_map_memory(buffer, needs->rules.guarded);
	if (!ret)
		ret = buffer_init(pmu, buffer, event);
	if (ret)
		buffer_undo(buffer);
	else
		buffer_count_orders(buffer);
	return ret;
}

/* Readers that have looked the buffer up may still use its chunks, in suit(). */
static void buffer_free_rcu(struct rcu_head *rcu)
{
	struct core_buffer *buffer = container_of(rcu, struct core_buffer, rcu);

	buffer_free_maps(&buffer->pub);
	kfree(buffer);
}

static void buffer_release(struct core_buffer *buffer)
{
	struct auxpmu *pmu = buffer->pub.pmu;
	struct module *owner = pmu->owner;

	spin_lock(&buffers_lock);
	hash_del_rcu(&buffer->node);
	spin_unlock(&buffers_lock);

	if (pmu->ops->buffer_fini)
		pmu->ops->buffer_fini(&buffer->pub);
	buffer_unmap_memory(buffer);
	call_rcu(&buffer->rcu, buffer_free_rcu);

	/*
	 * From here on the PMU and the modules may go. Unregistering waits until no task is left in
	 * this function.
	 */
	auxpmu_claim_put(pmu);
	auxpmu_put(pmu);
	module_put(owner);
	module_put(THIS_MODULE);
}

static void buffer_release_work(struct work_struct *work)
{
	struct core_buffer *buffer = container_of(work, struct core_buffer, release);

	/*
	 * With PREEMPT_RT buffer_leave() may not have returned yet, and irq_work still uses @leave.
	 */
	irq_work_sync(&buffer->leave);
	buffer_release(buffer);
}

static void buffer_leave(struct irq_work *work)
{
	schedule_work(&container_of(work, struct core_buffer, leave)->release);
}

void *auxpmu_buffer_setup(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	int node = event->cpu == -1 ? NUMA_NO_NODE : cpu_to_node(event->cpu);
	struct auxpmu *pmu = auxpmu_of(event);
	struct core_buffer *buffer;

	if (auxpmu_mapped_by_redirection(event)) {
		auxpmu_notice(pmu, "AUX buffer refused: the event writes into another event's ring; map the area by that event");
		return NULL;
	}
	/* The event that is being mapped holds the PMU, unless the PMU is being revoked. */
	if (!auxpmu_get(pmu))
		return NULL;
	buffer = core_fault(pmu, CORE_FAULT_SETUP) ?
		 NULL : kzalloc_node(sizeof(*buffer), GFP_KERNEL, node);
	if (!buffer)
		goto put;
	buffer->pub.pmu = pmu;
	buffer->pub.pages = pages;
	buffer->pub.size = (u64)nr_pages << PAGE_SHIFT;
	buffer->pub.overwrite = overwrite;
	buffer->mapped = buffer_through_map(&auxpmu_event(event)->needs);
	buffer->rb = READ_ONCE(event->rb);
	INIT_WORK(&buffer->release, buffer_release_work);
	init_irq_work(&buffer->leave, buffer_leave);
	if (buffer_make(buffer, event, nr_pages)) {
		kfree(buffer);
		goto put;
	}
	buffer->serial = core_event(auxpmu_event(event))->serial;

	/*
	 * The event that is being mapped keeps claim and modules; from now on the buffer does, too.
	 */
	auxpmu_claim_keep(pmu);
	__module_get(THIS_MODULE);
	__module_get(pmu->owner);

	spin_lock(&buffers_lock);
	buffer->id = ++buffers_made;
	hash_add_rcu(buffers, &buffer->node, (unsigned long)buffer->rb);
	spin_unlock(&buffers_lock);
	return buffer;

put:
	auxpmu_put(pmu);
	return NULL;
}

/*
 * Usually the last munmap frees a buffer, after the core has stopped the events that write into it.
 * But perf_mmap_close() (6.1 to 7.3) compares the rings of parents, and so misses inherited events
 * whose parent was redirected meanwhile: these drop the last reference when their transaction ends,
 * in an interrupt or NMI.
 */
void auxpmu_buffer_free(void *aux)
{
	struct core_buffer *buffer = aux;

	if (in_task() && !irqs_disabled()) {
		buffer_release(buffer);
		return;
	}
	/* From here on no lookup finds it. The core frees pages and array when this returns. */
	WRITE_ONCE(buffer->rb, NULL);
	buffer->pub.pages = NULL;
	irq_work_queue(&buffer->leave);
}

static void buffer_show_orders(struct seq_file *seq, const struct core_buffer *buffer)
{
	const char *comma = "";
	unsigned int order;

	for (order = 0; order < ARRAY_SIZE(buffer->nr_of_order); order++) {
		if (!buffer->nr_of_order[order])
			continue;
		seq_printf(seq, "%s%u:%u", comma, order, buffer->nr_of_order[order]);
		comma = ",";
	}
}

void auxpmu_buffers_show(struct seq_file *seq, const struct auxpmu *pmu)
{
	struct core_buffer *buffer;
	int bucket;

	spin_lock(&buffers_lock);
	hash_for_each(buffers, bucket, buffer, node) {
		if (buffer->pub.pmu != pmu)
			continue;
		seq_printf(seq, "bytes=%llu mode=%s chunks=%u orders=", buffer->pub.size,
			   buffer->pub.overwrite ? "overwrite" : "full", buffer->pub.chunks.nr);
		buffer_show_orders(seq, buffer);
		seq_putc(seq, '\n');
	}
	spin_unlock(&buffers_lock);
}
