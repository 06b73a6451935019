// SPDX-License-Identifier: GPL-2.0-only
/*
 * configfs: trace units modelled at run time.
 *
 *	mkdir /sys/kernel/config/auxpmu/UNIT; write its attributes; echo 1 > .../UNIT/live
 *
 * Writing an impossible value fails, with the reason in the log. While live, only live can be
 * written, configfs refuses rmdir, and live=0 fails with EBUSY as long as events or buffers exist.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/configfs.h>
#include <linux/cpumask.h>
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/kstrtox.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "compat.h"
#include "synth/synth.h"

struct unit {
	struct config_item item;
	/* Guards the rest: configfs serialises only writes of one open file. */
	struct mutex lock;
	struct synth_model model;
	struct synth *live;
};

static struct unit *unit_of(struct config_item *item)
{
	return container_of(item, struct unit, item);
}

#define unit_notice(unit, fmt, ...) \
	pr_notice("unit %s: " fmt "\n", config_item_name(&(unit)->item), ##__VA_ARGS__)

/* May the model be changed? 0 or an errno. With the lock held. */
static int model_changeable(struct unit *unit)
{
	if (!unit->live)
		return 0;
	unit_notice(unit, "refused while live; write live = 0 first");
	return -EBUSY;
}

/* Numbers. */

enum shape {
	ANY,			/* from least to most */
	POWER,			/* a power of two */
	POWER_OR_NONE,		/* the same, or 0 */
};

struct number {
	size_t offset;
	u64 least;
	u64 most;
	enum shape shape;
};

static const char *model_number_wrong(const struct number *number, u64 value)
{
	if (number->shape == POWER_OR_NONE && !value)
		return NULL;
	if (value < number->least || value > number->most)
		return "out of range";
	if (number->shape != ANY && !is_power_of_2(value))
		return "no power of two";
	return NULL;
}

static ssize_t model_number_show(struct config_item *item, const struct number *number, char *page)
{
	struct unit *unit = unit_of(item);
	u64 found;

	mutex_lock(&unit->lock);
	found = *(u64 *)((void *)&unit->model + number->offset);
	mutex_unlock(&unit->lock);
	return sysfs_emit(page, "%llu\n", found);
}

static ssize_t model_number_store(struct config_item *item, const struct number *number,
				  const char *name, const char *page, size_t count)
{
	struct unit *unit = unit_of(item);
	const char *wrong;
	u64 wanted;
	int ret;

	ret = kstrtou64(page, 0, &wanted);
	if (ret) {
		unit_notice(unit, "%s refused: not a number", name);
		return ret;
	}
	wrong = model_number_wrong(number, wanted);
	if (wrong) {
		unit_notice(unit, "%s = %llu refused: %s; it is %s%s from %llu to %llu", name,
			    wanted, wrong, number->shape == POWER_OR_NONE ? "0 or " : "",
			    number->shape == ANY ? "a number" : "a power of two", number->least,
			    number->most);
		return -EINVAL;
	}
	mutex_lock(&unit->lock);
	ret = model_changeable(unit);
	if (!ret)
		*(u64 *)((void *)&unit->model + number->offset) = wanted;
	mutex_unlock(&unit->lock);
	return ret ?: count;
}

#define NUMBER(_name, _member, _shape, _least, _most)                                   \
	static const struct number number_##_name = {                                   \
		.offset = offsetof(struct synth_model, _member),                        \
		.shape = _shape,                                                        \
		.least = _least,                                                        \
		.most = _most,                                                          \
	};                                                                              \
	static ssize_t unit_##_name##_show(struct config_item *item, char *page)        \
	{                                                                               \
		return model_number_show(item, &number_##_name, page);                  \
	}                                                                               \
	static ssize_t unit_##_name##_store(struct config_item *item, const char *page, \
					    size_t count)                               \
	{                                                                               \
		return model_number_store(item, &number_##_name, #_name, page, count);  \
	}                                                                               \
	CONFIGFS_ATTR(unit_, _name)

NUMBER(record, record, POWER_OR_NONE, AUXPMU_RECORD_MIN, AUXPMU_RECORD_MAX);
NUMBER(start_align, start_align, POWER, 1, PAGE_SIZE);
NUMBER(end_align, end_align, POWER, 1, PAGE_SIZE);
NUMBER(spare, spare, ANY, 0, PAGE_SIZE);
NUMBER(irq_delay, irq_delay, ANY, 0, SZ_1M);
NUMBER(ram, ram, ANY, 2 * AUXPMU_RECORD_MIN, SZ_16M);
NUMBER(rate, rate, ANY, 1, AUXPMU_SYNTH_RATE_MAX);
NUMBER(filters, filters, ANY, 0, AUXPMU_FILTERS_MAX);
NUMBER(format, format, ANY, 0, 255);
NUMBER(shared, shared, ANY, 0, 2);
NUMBER(polled, polled, ANY, 0, 2);
NUMBER(reach, reach, ANY, 0, SZ_2G);
NUMBER(least, least, ANY, 0, SZ_1G);
NUMBER(continuous, continuous, ANY, 0, 1);
NUMBER(turning, turning, ANY, 0, 1);
NUMBER(lap_records, lap_records, ANY, 0, 1);
NUMBER(no_nmi, no_nmi, ANY, 0, 1);
NUMBER(granule, limits.granule, POWER_OR_NONE, PAGE_SIZE, SZ_1G);
NUMBER(min_chunk, limits.min_chunk, POWER_OR_NONE, PAGE_SIZE, SZ_1G);
NUMBER(max_chunk, limits.max_chunk, POWER_OR_NONE, PAGE_SIZE, SZ_1G);
NUMBER(min_buffer, limits.min_buffer, POWER_OR_NONE, PAGE_SIZE, SZ_2G);
NUMBER(max_buffer, limits.max_buffer, POWER_OR_NONE, PAGE_SIZE, SZ_2G);

/* Words. */

static const char *model_name_wrong(const char *name)
{
	const char *c;

	if (!isascii(name[0]) || !isalpha(name[0]))
		return "it does not begin with a letter";
	for (c = name; *c; c++)
		if (!isascii(*c) || !(isalnum(*c) || *c == '_'))
			return "letters, digits and _ only";
	return c - name < SYNTH_NAME_MAX ? NULL : "it is longer than 31 characters";
}

static const char *model_cpus_wrong(const char *cpus)
{
	cpumask_var_t mask;
	bool parsed;

	if (strlen(cpus) >= SYNTH_CPUS_MAX)
		return "it is longer than 63 characters";
	if (!alloc_cpumask_var(&mask, GFP_KERNEL))
		return "no memory";
	parsed = !cpulist_parse(cpus, mask);
	free_cpumask_var(mask);
	return parsed ? NULL : "it is no list of CPUs, such as 0,2-3";
}

/* A word of the model: where it is, its most bytes, NUL included, and why another is none. */
struct word {
	size_t offset;
	size_t size;
	const char *(*wrong)(const char *word);
};

static ssize_t model_word_show(struct config_item *item, const struct word *word, char *page)
{
	struct unit *unit = unit_of(item);
	ssize_t length;

	mutex_lock(&unit->lock);
	length = sysfs_emit(page, "%s\n", (char *)&unit->model + word->offset);
	mutex_unlock(&unit->lock);
	return length;
}

static ssize_t model_word_store(struct config_item *item, const struct word *word,
				const char *name, const char *page, size_t count)
{
	struct unit *unit = unit_of(item);
	char *line = kstrdup(page, GFP_KERNEL);
	const char *wanted, *wrong;
	int ret;

	if (!line)
		return -ENOMEM;
	wanted = strim(line);
	wrong = word->wrong(wanted);
	mutex_lock(&unit->lock);
	ret = model_changeable(unit);
	if (!ret && wrong) {
		unit_notice(unit, "%s refused: %s", name, wrong);
		ret = -EINVAL;
	}
	if (!ret)
		strscpy((char *)&unit->model + word->offset, wanted, word->size);
	mutex_unlock(&unit->lock);
	kfree(line);
	return ret ?: count;
}

#define WORD(_name, _member, _size)                                                     \
	static const struct word word_##_name = {                                       \
		.offset = offsetof(struct synth_model, _member),                        \
		.size = _size,                                                          \
		.wrong = model_##_name##_wrong,                                         \
	};                                                                              \
	static ssize_t unit_##_name##_show(struct config_item *item, char *page)        \
	{                                                                               \
		return model_word_show(item, &word_##_name, page);                      \
	}                                                                               \
	static ssize_t unit_##_name##_store(struct config_item *item, const char *page, \
					    size_t count)                               \
	{                                                                               \
		return model_word_store(item, &word_##_name, #_name, page, count);      \
	}                                                                               \
	CONFIGFS_ATTR(unit_, _name)

WORD(name, name, SYNTH_NAME_MAX);
WORD(cpus, cpus, SYNTH_CPUS_MAX);

/* In the order of enum auxpmu_synth_output. */
static const char *const outputs[] = { "scatter", "window", "copy", "virtual" };

static ssize_t unit_output_show(struct config_item *item, char *page)
{
	int output = READ_ONCE(unit_of(item)->model.output);

	return sysfs_emit(page, "%s\n", output == SYNTH_OUTPUT_ANY ? "any" : outputs[output]);
}

static ssize_t unit_output_store(struct config_item *item, const char *page, size_t count)
{
	struct unit *unit = unit_of(item);
	int output = sysfs_match_string(outputs, page);
	int ret;

	if (output < 0 && sysfs_streq(page, "any")) {
		output = SYNTH_OUTPUT_ANY;
	} else if (output < 0) {
		unit_notice(unit, "output refused: it is any, scatter, window, copy or virtual");
		return -EINVAL;
	}
	mutex_lock(&unit->lock);
	ret = model_changeable(unit);
	if (!ret)
		WRITE_ONCE(unit->model.output, output);
	mutex_unlock(&unit->lock);
	return ret ?: count;
}
CONFIGFS_ATTR(unit_, output);

static ssize_t unit_overwrite_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", !READ_ONCE(unit_of(item)->model.limits.no_overwrite));
}

static ssize_t unit_overwrite_store(struct config_item *item, const char *page, size_t count)
{
	struct unit *unit = unit_of(item);
	bool can;
	int ret;

	ret = kstrtobool(page, &can);
	if (ret) {
		unit_notice(unit, "overwrite refused: it is 0 or 1");
		return ret;
	}
	mutex_lock(&unit->lock);
	ret = model_changeable(unit);
	if (!ret)
		WRITE_ONCE(unit->model.limits.no_overwrite, !can);
	mutex_unlock(&unit->lock);
	return ret ?: count;
}
CONFIGFS_ATTR(unit_, overwrite);

/* Life. */

static ssize_t unit_live_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", !!READ_ONCE(unit_of(item)->live));
}

static struct configfs_subsystem subsystem;

static int model_go_live(struct unit *unit)
{
	struct synth *synth;
	int ret;

	ret = configfs_depend_item_unlocked(&subsystem, &unit->item);
	if (ret)
		return ret;
	synth = synth_make(&unit->model);
	if (IS_ERR(synth)) {
		configfs_undepend_item(&unit->item);
		return PTR_ERR(synth);
	}
	WRITE_ONCE(unit->live, synth);
	return 0;
}

static int model_go_dead(struct unit *unit)
{
	bool revoke = synth_fault(unit->live, SYNTH_FAULT_UNREGISTER);
	int ret = revoke ? synth_revoke(unit->live) : synth_try_destroy(unit->live);

	if (ret == -EOPNOTSUPP) {
		unit_notice(unit, "live = 0 refused: this kernel cannot take a PMU from its events");
		return ret;
	}
	if (ret) {
		unit_notice(unit, "live = 0 refused: events or mappings of %s are there",
			    unit->model.name);
		return ret;
	}
	WRITE_ONCE(unit->live, NULL);
	configfs_undepend_item(&unit->item);
	return 0;
}

static ssize_t unit_live_store(struct config_item *item, const char *page, size_t count)
{
	struct unit *unit = unit_of(item);
	bool live;
	int ret;

	ret = kstrtobool(page, &live);
	if (ret) {
		unit_notice(unit, "live refused: it is 0 or 1");
		return ret;
	}
	mutex_lock(&unit->lock);
	if (live && !unit->live)
		ret = model_go_live(unit);
	else if (!live && unit->live)
		ret = model_go_dead(unit);
	mutex_unlock(&unit->lock);
	return ret ?: count;
}
CONFIGFS_ATTR(unit_, live);

static struct configfs_attribute *unit_attrs[] = {
	&unit_attr_name,
	&unit_attr_output,
	&unit_attr_record,
	&unit_attr_start_align,
	&unit_attr_end_align,
	&unit_attr_granule,
	&unit_attr_spare,
	&unit_attr_irq_delay,
	&unit_attr_ram,
	&unit_attr_rate,
	&unit_attr_filters,
	&unit_attr_format,
	&unit_attr_shared,
	&unit_attr_polled,
	&unit_attr_reach,
	&unit_attr_least,
	&unit_attr_continuous,
	&unit_attr_turning,
	&unit_attr_lap_records,
	&unit_attr_no_nmi,
	&unit_attr_cpus,
	&unit_attr_min_chunk,
	&unit_attr_max_chunk,
	&unit_attr_min_buffer,
	&unit_attr_max_buffer,
	&unit_attr_overwrite,
	&unit_attr_live,
	NULL
};

static void unit_release(struct config_item *item)
{
	kfree(unit_of(item));
}

static struct configfs_item_operations unit_ops = {
	.release = unit_release,
};

static const struct config_item_type unit_type = {
	.ct_item_ops = &unit_ops,
	.ct_attrs = unit_attrs,
	.ct_owner = THIS_MODULE,
};

static struct config_item *model_make_unit(struct config_group *group, const char *name)
{
	const char *wrong = model_name_wrong(name);
	struct unit *unit;

	if (wrong) {
		pr_notice("unit refused: its name is that of the PMU unless another is written: %s\n",
			  wrong);
		return ERR_PTR(-EINVAL);
	}
	unit = kzalloc(sizeof(*unit), GFP_KERNEL);
	if (!unit)
		return ERR_PTR(-ENOMEM);
	mutex_init(&unit->lock);
	unit->model = synth_default_model;
	strscpy(unit->model.name, name, sizeof(unit->model.name));
	config_item_init_type_name(&unit->item, name, &unit_type);
	return &unit->item;
}

static struct configfs_group_operations group_ops = {
	.make_item = model_make_unit,
};

static const struct config_item_type group_type = {
	.ct_group_ops = &group_ops,
	.ct_owner = THIS_MODULE,
};

static struct configfs_subsystem subsystem = {
	.su_group = {
		.cg_item = {
			.ci_namebuf = "auxpmu",
			.ci_type = &group_type,
		},
	},
};

int __init synth_models_init(void)
{
	config_group_init(&subsystem.su_group);
	mutex_init(&subsystem.su_mutex);
	return configfs_register_subsystem(&subsystem);
}

void synth_models_exit(void)
{
	configfs_unregister_subsystem(&subsystem);
}
