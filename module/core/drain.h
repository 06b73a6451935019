/* SPDX-License-Identifier: GPL-2.0-only */
/* Draining.  Shared by the framework's own files only. */
#ifndef AUXPMU_DRAIN_H
#define AUXPMU_DRAIN_H

#include "core/state.h"
#include "internal.h"

/**
 * auxpmu_drain() - take what the unit wrote into the open transaction
 * @unit: disarmed; its session is owned by the caller
 *
 * Return: AUXPMU_USED_UP when the window's interrupt is due; AUXPMU_OK; for units that copy also
 * what auxpmu_transaction_renew() returns.
 */
enum auxpmu_result auxpmu_drain(struct core_unit *unit);

#endif /* AUXPMU_DRAIN_H */
