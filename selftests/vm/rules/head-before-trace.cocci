// SPDX-License-Identifier: GPL-2.0-only
/// perf_aux_output_end() publishes trace by a plain store to aux_head (kernel/events/ring_buffer.c), which user space reads with an
/// acquire: the trace has to be in memory before. Only a transaction without trace needs no barrier.
virtual report

@none@
expression handle;
position p;
@@
 perf_aux_output_end@p(handle, 0)

@ordered@
expression handle, size;
position p;
@@
 smp_wmb();
 perf_aux_output_end@p(handle, size)

@found@
expression handle, size;
position p != {none.p, ordered.p};
@@
 perf_aux_output_end@p(handle, size)

@script:python depends on report@
p << found.p;
@@
coccilib.report.print_report(p[0], "trace is published without smp_wmb() in front")
