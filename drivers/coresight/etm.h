/* SPDX-License-Identifier: GPL-2.0-only */
/* The trace unit of a PE: what it can do, and switching it on and off. */
#ifndef ETM_H
#define ETM_H

#include <linux/types.h>

struct auxpmu_event;
struct tmc;

/* What trace units may be able to do. */
enum etm_cap {
	ETM_CAP_BRANCH_BROADCAST,
	ETM_CAP_CYCLES,
	ETM_CAP_CONTEXT_ID,
	ETM_CAP_CONTEXT_ID_EL2,
	ETM_CAP_TIMESTAMPS,
	ETM_CAP_RETURN_STACK,
	ETM_CAP_STROBING,
};

/**
 * struct etm_config - what a trace unit is programmed with for an event
 * @configr: TRCCONFIGR
 * @ccctlr: TRCCCCTLR: cycles that lie between two counts at least
 * @window: cycles of a strobe's window; 0: all is traced
 * @period: windows that are left out between two that are traced
 * @kernel: the kernel is traced
 * @user: user space is traced
 * @sink: where its trace goes; NULL: into the PE's trace buffer
 * @own_sinks: into the best sink that its CPU reaches, on each CPU; @sink is NULL
 */
struct etm_config {
	u32 configr;
	u32 ccctlr;
	u16 window;
	u16 period;
	bool kernel;
	bool user;
	struct tmc *sink;
	bool own_sinks;
};

/**
 * struct etm - the trace unit of one CPU
 * @base: its registers in memory; NULL: they are system registers
 * @has_power: with its PE, and must not ask for it
 * @is_ete: an ETE, not an ETMv4
 * @has_trfcr: the PE has TRFCR, which switches its trace on and off (FEAT_TRF)
 * @there: it is there, and its registers can be used
 * @claimed: it is ours now
 * @idr: what it says of itself: TRCIDR0 to 5 and 8
 * @authstatus: TRCAUTHSTATUS
 * @devarch: TRCDEVARCH
 * @pairs: number of its pairs of address comparators
 */
struct etm {
	void __iomem *base;
	bool has_power;
	bool is_ete;
	bool has_trfcr;
	bool there;
	bool claimed;
	u32 idr[9];
	u32 authstatus;
	u32 devarch;
	unsigned int pairs;
};

/* The registers of @cpu's trace unit are at @base; @has_power is as above. Before etm_detect(). */
void etm_set_base(int cpu, void __iomem *base, bool has_power);

/*
 * Look for the trace unit of this CPU. On it, preemption off. 0, or an errno. It has to be able to
 * do what those can that were found before, or etm_detected() has not yet been called.
 */
int etm_detect(void);

/* All CPUs that are online have looked: what all can do is promised to users from now on. */
void etm_detected(void);

/* Can all trace units do that?  Any context. */
bool etm_can(enum etm_cap cap);

/* Pairs of address comparators that all have; the least of cycles that all can count to. */
unsigned int etm_nr_pairs(void);
u32 etm_least_cycles(void);

/* What is known of the trace unit of @cpu. */
const struct etm *etm_of(int cpu);

/* The number that trace of @cpu carries where several CPUs' trace is mixed. */
u32 etm_trace_id(int cpu);

/* Has no other CPU the same one? */
bool etm_has_trace_id(int cpu);

/*
 * The rest is called on the unit's CPU, IRQs off, NMI included.
 *
 * etm_claim() - take the unit, for an event: 0, or -EBUSY: a debugger has it.
 * etm_release() - switch it off and give it back.
 * etm_restore() - its registers may have lost their contents: unlock, and claim what is claimed.
 * etm_program() - write all registers, for an event; the unit is off then.
 * etm_start() - let it trace: a programmed unit, or one that was stopped.
 * etm_stop() - let it trace nothing from here on. What it has traced may still be on its way:
 * etm_stop() ends with a context synchronization, and a TSB CSYNC, or a flush of the sink, has to
 * follow.
 */
int etm_claim(void);
void etm_release(void);
void etm_restore(void);
int etm_program(const struct auxpmu_event *aux, const struct etm_config *config);
void etm_start(const struct etm_config *config);
void etm_stop(void);

#endif /* ETM_H */
