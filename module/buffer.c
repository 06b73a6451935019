// SPDX-License-Identifier: GPL-2.0-only
/*
 * AUX buffers: what the core's setup_aux() gave, described once for every backend.
 *
 * A buffer lives from the first mmap of the AUX area to the last munmap, which may come long after
 * the event is gone, so it holds its own references on the modules. Called by the core in process
 * context; only auxpmu_buffer_find() and auxpmu_buffer_rules() are for any context.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>

#include "buffer.h"
#include "compat.h"
#include "pmu.h"

/* Every live buffer of every PMU, by the ring it hangs on. */
static DEFINE_HASHTABLE(buffers, 8);
static DEFINE_SPINLOCK(buffers_lock);

struct auxpmu_buffer *auxpmu_buffer_find(const struct perf_event *event)
{
	const struct perf_event *mapped = event->parent ?: event;
	const void *rb = READ_ONCE(mapped->rb);
	struct auxpmu_buffer *buffer;

	if (!rb)
		return NULL;
	hash_for_each_possible_rcu(buffers, buffer, node, (unsigned long)rb)
		if (buffer->rb == rb)
			return buffer;
	return NULL;
}

static bool pages_suit(const struct auxpmu_chunks *chunks, const struct auxpmu_needs *needs)
{
	u64 smallest = (u64)PAGE_SIZE << chunks->order;

	if (needs->fallback)
		return true;
	if (needs->pages == AUXPMU_PAGES_HALF)
		return smallest >= auxpmu_chunks_bytes(chunks) / 2;
	return needs->pages != AUXPMU_PAGES_WHOLE || chunks->nr == 1;
}

static void make_rules(const struct auxpmu_chunks *chunks, const struct auxpmu_needs *needs,
		       struct auxpmu_window_rules *rules)
{
	*rules = needs->rules;
	rules->contiguous = needs->output == AUXPMU_WINDOW;
	if (needs->regions)
		rules->granule = max_t(u64, PAGE_SIZE, auxpmu_chunks_bytes(chunks) / 16);
}

bool auxpmu_buffer_rules(const struct auxpmu_buffer *buffer, const struct auxpmu_needs *needs,
			 struct auxpmu_window_rules *rules)
{
	make_rules(&buffer->chunks, needs, rules);
	return pages_suit(&buffer->chunks, needs) && (buffer->base || !needs->map) &&
	       !auxpmu_window_rules_valid(rules, &buffer->chunks);
}

void *auxpmu_buffer_run(const struct auxpmu_buffer *buffer, u64 position, u64 *length)
{
	u64 offset = position & (buffer->size - 1);
	struct auxpmu_chunk chunk = auxpmu_chunk_at(&buffer->chunks, offset);

	*length = chunk.offset + chunk.length - offset;
	return buffer->pages[offset >> PAGE_SHIFT] + offset_in_page(offset);
}
EXPORT_SYMBOL_NS_GPL(auxpmu_buffer_run, AUXPMU_NS);

/* rb_alloc_aux() notes the order of a large block on its first page. */
static unsigned int block_order(const void *ctx, u32 page)
{
	void *const *pages = ctx;
	struct page *p = virt_to_page(pages[page]);

	return PagePrivate(p) ? page_private(p) : 0;
}

static unsigned int single_page(const void *ctx, u32 page)
{
	return 0;
}

static int map_chunks(struct auxpmu_buffer *buffer, int nr_pages, enum auxpmu_pages wish)
{
	auxpmu_order_fn order = wish == AUXPMU_PAGES_ANY ? single_page : block_order;
	struct auxpmu_chunks *chunks = &buffer->chunks;
	bool alike;
	u32 *first;
	int ret;

	chunks->nr_pages = nr_pages;
	chunks->page_shift = PAGE_SHIFT;
	ret = auxpmu_chunks_scan(chunks, order, buffer->pages, &alike);
	if (ret || alike)
		return ret;

	first = kvmalloc_array(chunks->nr, sizeof(*first), GFP_KERNEL);
	if (!first)
		return -ENOMEM;
	auxpmu_chunks_fill(chunks, first, order, buffer->pages);
	return 0;
}

static int map_memory(struct auxpmu_buffer *buffer)
{
	u32 nr = buffer->chunks.nr_pages;
	struct page **pages;
	u32 n;

	pages = kvmalloc_array(nr, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	for (n = 0; n < nr; n++)
		pages[n] = virt_to_page(buffer->pages[n]);
	buffer->base = vmap(pages, nr, VM_MAP, PAGE_KERNEL);
	kvfree(pages);
	return buffer->base ? 0 : -ENOMEM;
}

/* Are the pages what @needs demands?  If not, say what was wanted, what was had, and what helps. */
static int check_pages(const struct auxpmu *pmu, const struct auxpmu_buffer *buffer,
		       const struct auxpmu_needs *needs)
{
	bool whole = needs->pages == AUXPMU_PAGES_WHOLE;
	u64 block = whole ? buffer->size : buffer->size / 2;

	if (pages_suit(&buffer->chunks, needs))
		return 0;
	auxpmu_notice(pmu, "AUX buffer of %llu KiB refused: it has to be of blocks of %llu KiB (order %d), the allocator gave blocks down to order %u; use a smaller buffer, compact memory%s",
		      buffer->size >> 10, block >> 10, get_order(block), buffer->chunks.order,
		      whole && !buffer->overwrite ?
		      ", or set aux_watermark to the size of the buffer" : "");
	return -ENOMEM;
}

static int check_rules(const struct auxpmu *pmu, const struct auxpmu_buffer *buffer,
		       const struct auxpmu_needs *needs)
{
	struct auxpmu_window_rules rules;
	const char *wrong;

	make_rules(&buffer->chunks, needs, &rules);
	wrong = auxpmu_window_rules_valid(&rules, &buffer->chunks);
	if (!wrong)
		return 0;
	auxpmu_notice(pmu,
		      "AUX buffer of %llu KiB refused: %s (unit %u, spare %u bytes); use a larger one",
		      buffer->size >> 10, wrong, rules.unit, rules.spare);
	return -EINVAL;
}

static void buffer_undo(struct auxpmu_buffer *buffer)
{
	vunmap(buffer->base);
	kvfree(buffer->chunks.first);
}

static int buffer_make(struct auxpmu_buffer *buffer, struct perf_event *event, int nr_pages)
{
	const struct auxpmu_needs *needs = &auxpmu_event(event)->needs;
	const struct auxpmu *pmu = buffer->pmu;
	int ret;

	ret = map_chunks(buffer, nr_pages, needs->pages);
	if (!ret)
		ret = check_pages(pmu, buffer, needs);
	if (!ret)
		ret = check_rules(pmu, buffer, needs);
	if (!ret && needs->map)
		ret = map_memory(buffer);
	if (!ret && pmu->ops->buffer_init) {
		ret = pmu->ops->buffer_init(buffer, event);
		if (ret)
			auxpmu_notice(pmu, "AUX buffer of %llu KiB refused by the backend: error %d",
				      buffer->size >> 10, ret);
	}
	if (ret)
		buffer_undo(buffer);
	return ret;
}

void *auxpmu_buffer_setup(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	int node = event->cpu == -1 ? NUMA_NO_NODE : cpu_to_node(event->cpu);
	struct auxpmu *pmu = auxpmu_of(event);
	struct auxpmu_buffer *buffer;

	buffer = kzalloc_node(sizeof(*buffer), GFP_KERNEL, node);
	if (!buffer)
		return NULL;
	buffer->pmu = pmu;
	buffer->pages = pages;
	buffer->size = (u64)nr_pages << PAGE_SHIFT;
	buffer->overwrite = overwrite;
	buffer->rb = READ_ONCE(event->rb);
	if (buffer_make(buffer, event, nr_pages)) {
		kfree(buffer);
		return NULL;
	}

	/* The event that is being mapped pins both; from now on the buffer does, too. */
	__module_get(THIS_MODULE);
	__module_get(pmu->owner);

	spin_lock(&buffers_lock);
	hash_add_rcu(buffers, &buffer->node, (unsigned long)buffer->rb);
	spin_unlock(&buffers_lock);
	return buffer;
}

void auxpmu_buffer_free(void *aux)
{
	struct auxpmu_buffer *buffer = aux;
	struct module *owner = buffer->pmu->owner;

	spin_lock(&buffers_lock);
	hash_del_rcu(&buffer->node);
	spin_unlock(&buffers_lock);

	if (buffer->pmu->ops->buffer_fini)
		buffer->pmu->ops->buffer_fini(buffer);
	buffer_undo(buffer);
	kfree_rcu(buffer, rcu);

	/*
	 * From here on the modules may go; auxpmu_exit() waits until nobody is left in this
	 * function.
	 */
	module_put(owner);
	module_put(THIS_MODULE);
}

/* A chunk is no larger than a buffer, which the core keeps below 2^32 pages. */
#define CHUNK_ORDERS	32

static void show_orders(struct seq_file *seq, const struct auxpmu_chunks *chunks)
{
	u32 count[CHUNK_ORDERS] = {};
	const char *comma = "";
	unsigned int order;
	u32 n;

	for (n = 0; n < chunks->nr; n++) {
		order = get_order(auxpmu_chunk_nth(chunks, n).length);
		count[order]++;
	}
	for (order = 0; order < CHUNK_ORDERS; order++) {
		if (!count[order])
			continue;
		seq_printf(seq, "%s%u:%u", comma, order, count[order]);
		comma = ",";
	}
}

void auxpmu_buffers_show(struct seq_file *seq, const struct auxpmu *pmu)
{
	struct auxpmu_buffer *buffer;
	int bucket;

	spin_lock(&buffers_lock);
	hash_for_each(buffers, bucket, buffer, node) {
		if (buffer->pmu != pmu)
			continue;
		seq_printf(seq, "bytes=%llu mode=%s chunks=%u orders=", buffer->size,
			   buffer->overwrite ? "overwrite" : "full", buffer->chunks.nr);
		show_orders(seq, &buffer->chunks);
		seq_putc(seq, '\n');
	}
	spin_unlock(&buffers_lock);
}
