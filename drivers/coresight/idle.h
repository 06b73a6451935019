/* SPDX-License-Identifier: GPL-2.0-only */
/* Idle CPUs (CPU_PM) whose trace units are powered down with them, and lose their registers. */
#ifndef ETM_IDLE_H
#define ETM_IDLE_H

/*
 * From now on @enter is called on a CPU with such a unit before it is powered down, and @exit when
 * it is back, or was not powered down after all; IRQs off. May sleep.
 */
void etm_idle_watch(void (*enter)(void), void (*exit)(void));

/* When it returns, none of them runs. May sleep. */
void etm_idle_unwatch(void);

#endif /* ETM_IDLE_H */
