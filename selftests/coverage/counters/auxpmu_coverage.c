// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which lines of modules were executed, on a kernel that was not built for it. A module compiled with
 * -fprofile-arcs -fprofile-info-section counts by itself, in memory of its own; this one finds the
 * counters when it is loaded, keeps the sums when it goes, and shows them in debugfs. So load it first.
 *
 * Counters are plain increments: of two at the same time one may be lost, but not that there were any.
 */
#include <linux/debugfs.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

/* The kinds of counters that GCC knows (gcc/gcov-counter.def). Those of arcs come first, and are all that is asked for here. */
#if __GNUC__ >= 14
#define COUNTER_KINDS 9
#else
#define COUNTER_KINDS 8
#endif

/* What GCC lays out for each object and each function of it (libgcc/libgcov.h, since GCC 12). */
struct gcov_counters {
	unsigned int nr;
	s64 *values;
};

struct gcov_info;

struct gcov_function {
	const struct gcov_info *of;
	unsigned int ident;
	unsigned int lines_checksum;
	unsigned int arcs_checksum;
	struct gcov_counters arcs;
};

struct gcov_info {
	unsigned int version;
	struct gcov_info *next;
	unsigned int stamp;
	unsigned int checksum;
	const char *name;
	void *merge[COUNTER_KINDS];
	unsigned int nr_functions;
	struct gcov_function **functions;
};

/* A function as it is kept when its module has gone. */
struct covered_function {
	unsigned int ident;
	unsigned int lines_checksum;
	unsigned int arcs_checksum;
	unsigned int nr;
	u64 *sums;
};

/* An object file, for as long as this module is loaded. */
struct covered_object {
	struct list_head list;
	char *name;
	unsigned int version;
	unsigned int stamp;
	unsigned int checksum;
	const struct gcov_info *live; /* NULL: its module is not there */
	const struct module *module; /* of live */
	unsigned int nr_functions;
	struct covered_function functions[];
};

static LIST_HEAD(objects);
static DEFINE_MUTEX(lock); /* of the list and of all in it */
static struct dentry *file;

/* What of a function table belongs to the object: GCC shares those of inline functions of C++, which C has not. */
static bool is_own(const struct gcov_info *info, unsigned int n)
{
	return info->functions[n] && info->functions[n]->of == info;
}

static void free_object(struct covered_object *object)
{
	unsigned int n;

	for (n = 0; n < object->nr_functions; n++)
		kfree(object->functions[n].sums);
	kfree(object->name);
	kfree(object);
}

static struct covered_object *find_object(const struct gcov_info *info)
{
	struct covered_object *object;

	list_for_each_entry(object, &objects, list) {
		if (object->stamp == info->stamp && object->checksum == info->checksum && !strcmp(object->name, info->name))
			return object;
	}
	return NULL;
}

static struct covered_object *new_object(const struct gcov_info *info)
{
	struct covered_object *object = kzalloc(struct_size(object, functions, info->nr_functions), GFP_KERNEL);
	unsigned int n;

	if (!object)
		return NULL;
	object->name = kstrdup(info->name, GFP_KERNEL);
	object->version = info->version;
	object->stamp = info->stamp;
	object->checksum = info->checksum;
	object->nr_functions = info->nr_functions;
	if (!object->name)
		goto no_memory;
	for (n = 0; n < info->nr_functions; n++) {
		struct covered_function *to = &object->functions[n];
		const struct gcov_function *from = info->functions[n];

		if (!is_own(info, n))
			continue;
		to->ident = from->ident;
		to->lines_checksum = from->lines_checksum;
		to->arcs_checksum = from->arcs_checksum;
		to->nr = from->arcs.nr;
		to->sums = kcalloc(to->nr, sizeof(*to->sums), GFP_KERNEL);
		if (!to->sums)
			goto no_memory;
	}
	list_add_tail(&object->list, &objects);
	return object;

no_memory:
	free_object(object);
	return NULL;
}

static u64 count(const struct covered_object *object, unsigned int function, unsigned int n)
{
	u64 sum = object->functions[function].sums[n];

	return object->live ? sum + READ_ONCE(object->live->functions[function]->arcs.values[n]) : sum;
}

static void keep_counts(struct covered_object *object)
{
	unsigned int f, n;

	for (f = 0; f < object->nr_functions; f++) {
		for (n = 0; n < object->functions[f].nr; n++)
			object->functions[f].sums[n] = count(object, f, n);
	}
	object->live = NULL;
	object->module = NULL;
}

/* Before the symbols of a module are cut down to those that it keeps. */
static const struct gcov_info *const *find_symbol(const struct module *module, const char *name)
{
	const struct mod_kallsyms *symbols = rcu_dereference_raw(module->kallsyms);
	unsigned int n;

	for (n = 0; symbols && n < symbols->num_symtab; n++) {
		if (!strcmp(symbols->strtab + symbols->symtab[n].st_name, name))
			return (const void *)symbols->symtab[n].st_value;
	}
	return NULL;
}

static void module_comes(const struct module *module)
{
	const struct gcov_info *const *info = find_symbol(module, "coverage_begin");
	const struct gcov_info *const *end = find_symbol(module, "coverage_end");

	for (; info && info < end; info++) {
		struct covered_object *object = find_object(*info) ?: new_object(*info);

		if (!object) {
			pr_err("no memory for the counters of %s: they are not counted\n", (*info)->name);
			continue;
		}
		object->live = *info;
		object->module = module;
	}
}

static void module_goes(const struct module *module)
{
	struct covered_object *object;

	list_for_each_entry(object, &objects, list) {
		if (object->live && object->module == module)
			keep_counts(object);
	}
}

static int watch(struct notifier_block *block, unsigned long state, void *module)
{
	mutex_lock(&lock);
	if (state == MODULE_STATE_COMING)
		module_comes(module);
	else if (state == MODULE_STATE_GOING)
		module_goes(module);
	mutex_unlock(&lock);
	return NOTIFY_DONE;
}

static struct notifier_block watcher = { .notifier_call = watch };

/*
 * A line per object, "object VERSION STAMP CHECKSUM NAME", and behind it one per function of it, "function IDENT LINES ARCS COUNT...", all
 * in hexadecimal; in the end "end". It is what a .gcda file has, in text.
 */
static int counts_show(struct seq_file *seq, void *unused)
{
	const struct covered_object *object;
	unsigned int f, n;

	mutex_lock(&lock);
	list_for_each_entry(object, &objects, list) {
		seq_printf(seq, "object %x %x %x %s\n", object->version, object->stamp, object->checksum, object->name);
		for (f = 0; f < object->nr_functions; f++) {
			const struct covered_function *function = &object->functions[f];

			if (!function->nr)
				continue;
			seq_printf(seq, "function %x %x %x", function->ident, function->lines_checksum, function->arcs_checksum);
			for (n = 0; n < function->nr; n++)
				seq_printf(seq, " %llx", count(object, f, n));
			seq_putc(seq, '\n');
		}
	}
	mutex_unlock(&lock);
	seq_puts(seq, "end\n");
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counts);

static int __init coverage_init(void)
{
	int ret = register_module_notifier(&watcher);

	if (ret)
		return ret;
	file = debugfs_create_file("auxpmu_coverage", 0400, NULL, NULL, &counts_fops);
	return 0;
}

static void __exit coverage_exit(void)
{
	struct covered_object *object, *next;

	debugfs_remove(file);
	unregister_module_notifier(&watcher);
	list_for_each_entry_safe(object, next, &objects, list)
		free_object(object);
}

module_init(coverage_init);
module_exit(coverage_exit);
MODULE_DESCRIPTION("Lines of modules that were executed");
MODULE_LICENSE("GPL");
