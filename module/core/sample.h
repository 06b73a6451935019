/* SPDX-License-Identifier: GPL-2.0-only */
/* AUX sampling: PERF_SAMPLE_AUX for every backend.  Shared by the framework's own files only. */
#ifndef AUXPMU_SAMPLE_H
#define AUXPMU_SAMPLE_H

struct perf_event;
struct perf_output_handle;

/* Find the core's copy function. May sleep; called once, before the first PMU is registered. */
void auxpmu_sample_init(void);

/*
 * Was it found? Otherwise PMUs have no snapshot_aux, and the core refuses events with AUX samples.
 */
bool auxpmu_sample_available(void);

/**
 * auxpmu_sample() - pmu::snapshot_aux: write the newest @size bytes of trace into a sample
 * @event: the AUX event, leader of the group whose member is being sampled
 * @handle: of the data ring, in the middle of writing the sample
 * @size: bytes; the core has promised exactly as many to the reader
 *
 * IRQs off on the event's CPU, NMI included. If there is less trace than @size, zeros come first.
 * The sample is all zeros when no transaction is open, or when it has interrupted the session's
 * owner.
 *
 * Return: @size, or the core's error.
 */
long auxpmu_sample(struct perf_event *event, struct perf_output_handle *handle, unsigned long size);

#endif /* AUXPMU_SAMPLE_H */
