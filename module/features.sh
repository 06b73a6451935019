#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Finds out what the kernel's headers offer by compiling a few lines against them: features.sh OUTPUT COMPILER FLAGS...
# Kbuild passes the compiler and flags of the modules.  Only compat.h reads OUTPUT.
set -eu

output=$1
shift

# compiles CODE COMPILER FLAGS...: all that is asked for is decided before code is made of it.
compiles() {
	code=$1
	shift
	printf '%s\n' "$code" | "$@" -x c -fsyntax-only - 2>&1
}

# has FEATURE CODE COMPILER FLAGS...: writes the definition of FEATURE to a file of its own if CODE compiles. As many at a time as
# compile side by side on most machines: nobody has a make for them.
asked=0
has() {
	feature=$1
	shift
	asked=$((asked + 1))
	{
		if compiles "$@" >/dev/null; then
			echo "#define $feature 1"
		else
			echo "/* $feature: no */"
		fi
	} >"$output.$((100 + asked))" &
	[ $((asked % 4)) != 0 ] || wait
}

# A probe that fails because nothing compiles would look like a missing feature.
if ! said=$(compiles '#include <linux/perf_event.h>' "$@"); then
	printf '%s\n' "$said" >&2
	echo "auxpmu: the kernel's headers do not compile; is this kernel's package of headers completely installed?" >&2
	exit 1
fi

rm -f "$output".1[0-9][0-9]
has AUXPMU_HAS_PENDING_DISABLE_IRQ '
#include <linux/perf_event.h>
struct irq_work *probe(struct perf_event *event) { return &event->pending_disable_irq; }
struct irq_work *probe(struct perf_event *event);' "$@"
has AUXPMU_HAS_HRTIMER_SETUP '
#include <linux/hrtimer.h>
void *probe = hrtimer_setup;' "$@"
has AUXPMU_HAS_PERF_ALLOW_KERNEL '
#include <linux/perf_event.h>
int probe(void);
int probe(void) { return perf_allow_kernel(); }' "$@"
has AUXPMU_HAS_KVM_TRACE '
#include <asm/kvm_host.h>
void probe(void);
void probe(void) { kvm_enable_trbe(); kvm_tracing_set_el1_configuration(0); }' "$@"
# With this came the export of perf_report_aux_output_id().
has AUXPMU_HAS_AUX_OUTPUT_ID '
#include <linux/coresight-pmu.h>
int probe = !!CS_AUX_HW_ID_TRACE_ID_MASK;' "$@"
has AUXPMU_HAS_PERCPU_IRQ_AFFINITY '
#include <linux/interrupt.h>
void *probe = request_percpu_irq_affinity;' "$@"
has AUXPMU_HAS_CONFIG3 '
#include <linux/perf_event.h>
u64 probe(const struct perf_event_attr *attr);
u64 probe(const struct perf_event_attr *attr) { return attr->config3; }' "$@"
has AUXPMU_HAS_CONFIG4 '
#include <linux/perf_event.h>
u64 probe(const struct perf_event_attr *attr);
u64 probe(const struct perf_event_attr *attr) { return attr->config4; }' "$@"
has AUXPMU_HAS_REVOCATION '
#include <linux/perf_event.h>
int probe(struct pmu *pmu);
int probe(struct pmu *pmu) { return perf_pmu_unregister(pmu); }' "$@"
has AUXPMU_HAS_PMU_CONTEXT '
#include <linux/perf_event.h>
struct hrtimer *probe(struct perf_cpu_pmu_context *context);
struct hrtimer *probe(struct perf_cpu_pmu_context *context) { return &context->hrtimer; }' "$@"
has AUXPMU_HAS_PMU_CONTEXT_POINTER '
#include <linux/perf_event.h>
void **probe(struct pmu *pmu);
void **probe(struct pmu *pmu) { return (void **)&pmu->cpu_pmu_context[0]->epc; }' "$@"
has AUXPMU_HAS_MMAP_REFCOUNT '
#include <linux/perf_event.h>
int probe(struct perf_event *event);
int probe(struct perf_event *event) { return refcount_read(&event->mmap_count); }' "$@"
has AUXPMU_HAS_SYSCORE_DATA '
#include <linux/syscore_ops.h>
int probe(void *data);
struct syscore_ops ops = { .suspend = probe };' "$@"
has AUXPMU_HAS_CPUID_API '
#include <asm/cpuid/api.h>' "$@"
has AUXPMU_HAS_IRQ_COUNTS '
#include <linux/hardirq.h>
void probe(void);
void probe(void) { inc_irq_stat(APIC_PERF); }' "$@"
has AUXPMU_HAS_TOKEN_NAMESPACES '
#include <linux/module.h>
MODULE_IMPORT_NS(AUXPMU);' "$@"
wait
{
	echo "/* Made by features.sh from the headers of the kernel being built for. */"
	cat "$output".1[0-9][0-9]
} >"$output.new"
rm -f "$output".1[0-9][0-9]
mv "$output.new" "$output"
