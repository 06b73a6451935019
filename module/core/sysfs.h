/* SPDX-License-Identifier: GPL-2.0-only */
/* sysfs caps/: what a PMU can do.  Shared by the framework's own files only. */
#ifndef AUXPMU_CAPS_H
#define AUXPMU_CAPS_H

struct attribute_group;
struct auxpmu_desc;

/*
 * Why the attribute groups of a backend cannot be shown, in a few words, or NULL. sysfs would say
 * so with a backtrace.
 */
const char *auxpmu_caps_wrong(const struct auxpmu_desc *desc);

/*
 * The groups of a PMU: caps/, the claim if it needs one, and the backend's own.  A backend's group
 * may be named caps as well, and adds to it (without is_visible).  To be freed with kfree(); NULL
 * without memory.
 */
const struct attribute_group **auxpmu_caps_groups(const struct auxpmu_desc *desc);

#endif /* AUXPMU_CAPS_H */
