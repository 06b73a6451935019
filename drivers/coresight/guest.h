/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KVM and trace: from 7.2 on KVM has to be told which trace buffer is on and what of a guest may be
 * traced, since it switches both off and on at guest entry. Before that it looked at the registers.
 */
#ifndef ETM_GUEST_H
#define ETM_GUEST_H

#include "compat.h"

#ifdef AUXPMU_HAS_KVM_TRACE
#include <asm/kvm_host.h>
#endif

/*
 * From now on this CPU's trace buffer may be on, or it is off. While it may, KVM itself looks at
 * TRBLIMITR before it enters a guest; so it need not be told of every window. IRQs off.
 */
static inline void guest_trace_buffer_may_be_on(bool on)
{
#ifdef AUXPMU_HAS_KVM_TRACE
	if (on)
		kvm_enable_trbe();
	else
		kvm_disable_trbe();
#endif
}

/*
 * No guest that runs on this CPU is traced, whatever the host traces of itself from now on: TRFCR
 * has been written, and is never 0 again, whether the host is traced or not. IRQs off.
 */
static inline void guest_is_not_traced(void)
{
#ifdef AUXPMU_HAS_KVM_TRACE
	kvm_tracing_set_el1_configuration(0);
#endif
}

#endif /* ETM_GUEST_H */
