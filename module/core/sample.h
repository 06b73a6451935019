/* SPDX-License-Identifier: GPL-2.0-only */
/* AUX sampling: PERF_SAMPLE_AUX for every backend.  Shared by the framework's own files only. */
#ifndef AUXPMU_SAMPLE_H
#define AUXPMU_SAMPLE_H

struct perf_event;
struct perf_output_handle;

/* Find the core's copy function.  May sleep; once, before the first PMU is registered. */
void auxpmu_sample_init(void);

/* Was it found?  Without it PMUs have no snapshot_aux, and events that want samples are refused. */
bool auxpmu_sample_available(void);

/**
 * auxpmu_sample() - pmu::snapshot_aux: write the newest @size bytes of trace into a sample
 * @event: the AUX event, leader of the group whose member is being sampled
 * @handle: of the data ring, in the middle of the sample
 * @size: bytes; the core has promised exactly as many to the reader
 *
 * IRQs off on the event's CPU, NMI included.  What is not there is written as zeros in front:
 * all of it when no transaction is open, or when the session's owner has been interrupted.
 *
 * Return: @size, or the core's error.
 */
long auxpmu_sample(struct perf_event *event, struct perf_output_handle *handle, unsigned long size);

#endif /* AUXPMU_SAMPLE_H */
