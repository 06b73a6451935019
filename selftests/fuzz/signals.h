/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Signals that a program takes: those that the kernel tells it of events by, and faults in memory that may not be there.
 */
#ifndef AUXPMU_FUZZ_SIGNALS_H
#define AUXPMU_FUZZ_SIGNALS_H

#include <cerrno>
#include <csetjmp>

namespace auxpmu::fuzz
{

/* For the whole process. */
void catch_signals();

/* Of this thread: where to go on after a fault, if anywhere. */
extern constinit thread_local sigjmp_buf *way_out;

/* EFAULT where body touches what is not there, or not writable. */
template <class Body>
int touching(Body &&body)
{
	sigjmp_buf here;

	way_out = &here;
	if (sigsetjmp(here, 1)) {
		way_out = nullptr;
		return EFAULT;
	}
	body();
	way_out = nullptr;
	return 0;
}

/* Of a system call, as an errno. */
inline int result_of(long outcome)
{
	return outcome < 0 ? errno : 0;
}

} // namespace auxpmu::fuzz

#endif /* AUXPMU_FUZZ_SIGNALS_H */
