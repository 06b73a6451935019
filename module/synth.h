/* SPDX-License-Identifier: GPL-2.0-only */
/* The synthetic PMU: called by core.c. */
#ifndef AUXPMU_SYNTH_H
#define AUXPMU_SYNTH_H

int auxpmu_synth_init(void);
void auxpmu_synth_exit(void);

#endif /* AUXPMU_SYNTH_H */
