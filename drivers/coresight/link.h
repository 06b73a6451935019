/* SPDX-License-Identifier: GPL-2.0-only */
/* Links of the trace bus: funnels, which merge trace, and replicators, which split it. */
#ifndef ETM_LINK_H
#define ETM_LINK_H

#include <linux/types.h>

struct component;

/*
 * Hold the bus: meanwhile nobody else switches anything on it on or off. A trace unit that is
 * stopped has to get rid of what it has made, which takes an open gate; so it is stopped by who
 * holds the bus. IRQs off; a leaf, inside the lock of a sink.
 */
void link_hold(void);
void link_release(void);

/*
 * Switch a link on for one more path, from input @in to output @out, or off. Bus held. 0, or
 * -EBUSY: a debugger has it, or it leads elsewhere: trace that went through both outputs of a
 * replicator would get into the areas of both sinks' events.
 */
int link_enable(struct component *link, u8 in, u8 out);
void link_disable(struct component *link, u8 in, u8 out);

/* The machine was suspended: tell it anew what it was told. Bus held. */
void link_restore(struct component *link);

/* Open or close a funnel for all that comes through it. Bus held. */
void link_gate(struct component *funnel, bool open);

#endif /* ETM_LINK_H */
