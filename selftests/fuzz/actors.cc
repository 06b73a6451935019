// SPDX-License-Identifier: GPL-2.0-only
#include "actors.h"

#include <cerrno>
#include <csignal>

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "signals.h"

namespace auxpmu::fuzz
{

namespace
{

/* What an actor answers last. */
constexpr std::uint32_t gone_away = ~0u;

} // namespace

constinit thread_local bool Actors::thread = false;

void Actors::begin(std::uint32_t n)
{
	const Operation &operation = program.operations[n];

	if (operation.kind == Kind::start || operation.kind == Kind::kill || operation.actor == 0) {
		perform(operation, 0);
		return;
	}
	Actor &actor = actors[operation.actor];
	if (!actor.alive) {
		tally.of(operation.kind).skipped++;
		return;
	}
	if (::send(actor.socket.get(), &n, sizeof(n), MSG_NOSIGNAL) != sizeof(n)) {
		gone(actor, operation.actor);
		tally.of(operation.kind).skipped++;
		return;
	}
	actor.sent++;
	while (actor.alive && actor.sent - actor.done > (operation.wait ? 0u : 8u))
		receive(operation.actor);
	/* Who has left, or is another program now, has said so by going. */
	if (operation.wait && !actor.alive && (operation.kind == Kind::leave || operation.kind == Kind::exec))
		tally.of(operation.kind).done++;
}

void Actors::receive(unsigned n)
{
	Actor &actor = actors[n];
	std::uint32_t answer;
	const auto got = ::recv(actor.socket.get(), &answer, sizeof(answer), 0);

	if (got == sizeof(answer) && answer != gone_away)
		actor.done++;
	else if (got >= 0 || errno != EINTR)
		gone(actor, n);
}

void Actors::finish()
{
	for (unsigned n = 1; n < nr_actors; n++)
		while (actors[n].alive && actors[n].sent != actors[n].done)
			receive(n);
}

void Actors::gone(Actor &actor, unsigned n)
{
	actor.alive = false;
	::shutdown(actor.socket.get(), SHUT_RDWR);
	actor.socket.reset();
	tally.threads[n] = 0;
}

/* An actor: does what it is told until it is told no more. */
void Actors::serve(unsigned self, int socket)
{
	std::uint32_t n;

	if (thread)
		tally.threads[self] = ::gettid();
	/* It is there, and has a number. */
	n = self;
	(void)!::send(socket, &n, sizeof(n), MSG_NOSIGNAL);
	for (;;) {
		const auto got = ::recv(socket, &n, sizeof(n), 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got != sizeof(n) || n >= program.operations.size())
			break;
		if (program.operations[n].kind == Kind::leave) {
			tally.of(Kind::leave).tried++;
			break;
		}
		perform(program.operations[n], self);
		if (::send(socket, &n, sizeof(n), MSG_NOSIGNAL) != sizeof(n))
			break;
	}
	/* Others may have a copy of this end, and nobody would see that it has gone. */
	n = gone_away;
	(void)!::send(socket, &n, sizeof(n), MSG_NOSIGNAL);
	::shutdown(socket, SHUT_RDWR);
	::close(socket);
}

void *Actors::thread_main(void *argument)
{
	const Slice slice = *static_cast<Slice *>(argument);

	delete static_cast<Slice *>(argument);
	thread = true;
	slice.actors->serve(slice.actor, slice.socket);
	return nullptr;
}

int Actors::start(unsigned n, std::uint64_t as)
{
	Actor &actor = actors[n];
	int ends[2];

	if (n == 0 || actor.alive)
		return EBUSY;
	reap(actor);
	if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return errno;
	actor = {};
	actor.socket = UniqueFd(ends[0]);
	if (as == 1) {
		pthread_t made;
		const int error = ::pthread_create(&made, nullptr, thread_main, new Slice{this, n, ends[1]});

		if (error) {
			::close(ends[1]);
			return error;
		}
		::pthread_detach(made);
		return started(actor, n);
	}
	const pid_t child = ::fork();
	if (child < 0) {
		::close(ends[1]);
		return errno;
	}
	if (!child)
		be_process(n, as, ends[1]);
	::close(ends[1]);
	actor.process = child;
	tally.threads[n] = child;
	return started(actor, n);
}

int Actors::started(Actor &actor, unsigned n)
{
	actor.alive = true;
	actor.sent = 1;
	while (actor.alive && !actor.done)
		receive(n);
	return actor.alive ? 0 : ESRCH;
}

void Actors::be_process(unsigned self, std::uint64_t as, int socket)
{
	::prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Nobody but its first actor holds an actor's end, or its going would not be seen. */
	for (auto &actor : actors)
		actor = {};
	if (as == 2)
		(void)!::unshare(CLONE_NEWUSER);
	serve(self, socket);
	::_exit(0);
}

int Actors::stop(unsigned n)
{
	Actor &actor = actors[n];

	if (!actor.alive)
		return ESRCH;
	const int outcome = actor.process ? result_of(::kill(actor.process, SIGKILL)) : 0;
	reap(actor);
	gone(actor, n); /* a thread sees that nobody is there */
	return outcome;
}

void Actors::reap(Actor &actor)
{
	if (actor.process) {
		::kill(actor.process, SIGKILL);
		::waitpid(actor.process, nullptr, 0);
		actor.process = 0;
	}
}

} // namespace auxpmu::fuzz
