/* SPDX-License-Identifier: GPL-2.0-only */
/* Draining.  Shared by the framework's own files only. */
#ifndef AUXPMU_DRAIN_H
#define AUXPMU_DRAIN_H

#include "core/state.h"
#include "internal.h"

/**
 * auxpmu_drain() - add what the unit wrote to the open transaction
 * @unit: disarmed; the caller owns its session
 *
 * Return: AUXPMU_OK; AUXPMU_USED_UP if the window's interrupt is due; for units that copy also the
 * results of auxpmu_transaction_renew().
 */
enum auxpmu_result auxpmu_drain(struct core_unit *unit);

#endif /* AUXPMU_DRAIN_H */
