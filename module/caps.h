/* SPDX-License-Identifier: GPL-2.0-only */
/* sysfs caps/: what a PMU can do.  Shared by the framework's own files only. */
#ifndef AUXPMU_CAPS_H
#define AUXPMU_CAPS_H

struct attribute_group;

/*
 * The groups of a PMU: caps/ and the backend's own, a NULL-terminated array or NULL.  A backend's
 * group may be named caps as well, and adds to it (without is_visible).  To be freed with kfree();
 * NULL without memory.
 */
const struct attribute_group **auxpmu_caps_groups(const struct attribute_group **backend);

#endif /* AUXPMU_CAPS_H */
