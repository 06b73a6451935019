/* SPDX-License-Identifier: GPL-2.0-only */
/* The other PMUs of the machine.  Shared by the framework's own files only. */
#ifndef AUXPMU_PEERS_H
#define AUXPMU_PEERS_H

struct auxpmu;

/* Is there an AUX PMU that is not the framework's?  May sleep.  @pmu: any of ours, registered. */
bool auxpmu_peers_foreign(const struct auxpmu *pmu);

/*
 * Is there a device that a PMU of that name would collide with?  Any context but NMI.  It is not
 * known before the first PMU is registered, which auxpmu_peers_note() is told of.
 */
bool auxpmu_peers_named(const char *name);
void auxpmu_peers_note(const struct auxpmu *pmu);

#endif /* AUXPMU_PEERS_H */
