/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel goes away: by a reboot, into another kernel by kexec, or by a panic. */
#ifndef ETM_END_H
#define ETM_END_H

/*
 * From now on @here is called on each CPU before the kernel goes away, IRQs off; by a panic, on the
 * CPU that panics only, since the others execute nothing any more. It has to switch off for good
 * what is this CPU's. After a panic the sinks are stopped, too, which at a reboot their devices'
 * shutdown does. May sleep.
 */
void etm_end_watch(void (*here)(void));
void etm_end_unwatch(void);

#endif /* ETM_END_H */
