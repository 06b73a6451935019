/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UNIT_SHIM_MSR_H
#define UNIT_SHIM_MSR_H

/* As in the newest kernel; the registers are those of processor.h. */
#include "kernel.h"

#endif
