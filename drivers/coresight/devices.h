/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The devices: trace units, the trace buffer and the trace bus as the device tree describes them.
 * They are ours as any device is a driver's: by binding. What another driver has is not taken away.
 */
#ifndef ETM_DEVICES_H
#define ETM_DEVICES_H

#include <linux/interrupt.h>
#include <linux/types.h>

/*
 * Bind to all that are free, find the paths between them, and request the trace buffer's interrupt,
 * if there is one. May sleep. 0, or -ENODEV or
 * -EBUSY, with the reason in the log.
 */
int etm_devices_get(irq_handler_t handler);
void etm_devices_put(void);

/* Does the device tree say that @cpu has a trace unit; and a trace buffer, too? */
bool etm_devices_have_unit(int cpu);
bool etm_devices_have_buffer(int cpu);

/* Does @cpu's unit lose its registers when the CPU is idle, and so powered down? */
bool etm_devices_forget(int cpu);

/* The trace buffer's interrupt on this CPU. Preemption off. */
void etm_devices_enable_interrupt(void);
void etm_devices_disable_interrupt(void);

#endif /* ETM_DEVICES_H */
