/* SPDX-License-Identifier: GPL-2.0-only */
/* The other PMUs of the machine.  Shared by the framework's own files only. */
#ifndef AUXPMU_FOREIGN_H
#define AUXPMU_FOREIGN_H

struct auxpmu;
struct perf_event;

/*
 * Is there an AUX PMU that is not the framework's, other than the one that the claim of @pmu holds
 * while there are events?  May sleep.  @pmu: registered.
 */
bool auxpmu_foreign_present(const struct auxpmu *pmu);

/*
 * By way of a third event's ring the core can be made to hand our buffers to another AUX PMU, which
 * takes them for its own; nothing in a module can keep it from that.  So beside such PMUs only who
 * could do as much harm otherwise may open @event.  Process context, in event_init.
 *
 * Return: 0, or -EACCES, and the log says why.
 */
int auxpmu_foreign_permit(struct perf_event *event);

/*
 * Is there a device that a PMU of that name would collide with?  Any context but NMI.  It is not
 * known before the first PMU is registered, which auxpmu_foreign_note_devices() is told of.
 */
bool auxpmu_name_taken(const char *name);
void auxpmu_foreign_note_devices(const struct auxpmu *pmu);

#endif /* AUXPMU_FOREIGN_H */
