/* SPDX-License-Identifier: GPL-2.0-only */
/* The other PMUs of the machine.  Shared by the framework's own files only. */
#ifndef AUXPMU_FOREIGN_H
#define AUXPMU_FOREIGN_H

struct auxpmu;
struct perf_event;

/*
 * Is there a foreign AUX PMU besides the one that the claim of @pmu holds while there are events?
 * May sleep. @pmu: registered.
 */
bool auxpmu_foreign_present(const struct auxpmu *pmu);

/*
 * Via SET_OUTPUT to a third event, the core may hand our buffer to a foreign AUX PMU, which takes
 * it for its own. A module cannot prevent that, so beside such PMUs only a task with CAP_PERFMON
 * may open @event. Process context, in event_init.
 *
 * Return: 0, or -EACCES with the reason in the log.
 */
int auxpmu_foreign_permit(struct perf_event *event);

/*
 * Is there a device with which a PMU of that name would collide? Any context but NMI. Knows no
 * devices before auxpmu_foreign_note_devices() was called with the first registered PMU.
 */
bool auxpmu_name_taken(const char *name);
void auxpmu_foreign_note_devices(const struct auxpmu *pmu);

#endif /* AUXPMU_FOREIGN_H */
