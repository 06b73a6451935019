/* SPDX-License-Identifier: GPL-2.0-only */
/* sysfs caps/: what a PMU can do.  Shared by the framework's own files only. */
#ifndef AUXPMU_CAPS_H
#define AUXPMU_CAPS_H

struct attribute_group;
struct auxpmu_desc;

/*
 * Why sysfs cannot show the attribute groups of a backend, in a few words, or NULL. sysfs itself
 * would complain with a backtrace.
 */
const char *auxpmu_caps_wrong(const struct auxpmu_desc *desc);

/*
 * The groups of a PMU: caps/, the claim if it has one, and the backend's own. A backend's group
 * named caps (without is_visible) is merged into caps/. To be freed with kfree(); NULL if there is
 * no memory.
 */
const struct attribute_group **auxpmu_caps_groups(const struct auxpmu_desc *desc);

#endif /* AUXPMU_CAPS_H */
