// SPDX-License-Identifier: GPL-2.0-only
#include "signals.h"

#include <csignal>
#include <initializer_list>

#include <ucontext.h>

namespace auxpmu::fuzz
{

constinit thread_local sigjmp_buf *way_out = nullptr;

namespace
{

void on_fault(int signal)
{
	if (way_out)
		siglongjmp(*way_out, 1);
	::signal(signal, SIG_DFL);
}

/*
 * An event whose every sample is told by a signal keeps its thread busy for good where a signal takes longer than a period: on the debug
 * kernels. So a thread that has had many takes no more of that one. (SIGTRAP is of the thread's own instructions, and is fatal when blocked.)
 */
void on_signal(int signal, siginfo_t *, void *context)
{
	constexpr unsigned enough = 200;
	static thread_local unsigned taken = 0;

	if (signal != SIGTRAP && ++taken >= enough)
		::sigaddset(&static_cast<ucontext_t *>(context)->uc_sigmask, signal);
}

} // namespace

void catch_signals()
{
	struct sigaction fault{}, other{};

	fault.sa_handler = on_fault;
	fault.sa_flags = SA_NODEFER;
	other.sa_sigaction = on_signal;
	other.sa_flags = SA_RESTART | SA_SIGINFO;
	::sigaction(SIGSEGV, &fault, nullptr);
	::sigaction(SIGBUS, &fault, nullptr);
	for (int signal : {SIGIO, SIGUSR1, SIGTRAP, SIGRTMIN + 1})
		::sigaction(signal, &other, nullptr);
}

} // namespace auxpmu::fuzz
