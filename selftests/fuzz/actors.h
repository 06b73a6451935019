/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Actors: who does a program's operations: the first process, and the threads and processes that it starts, which are told by a socket which
 * operation is theirs.
 */
#ifndef AUXPMU_FUZZ_ACTORS_H
#define AUXPMU_FUZZ_ACTORS_H

#include <array>
#include <cstdint>
#include <functional>

#include <sys/types.h>

#include "kit/handle.h"
#include "program.h"
#include "tally.h"

namespace auxpmu::fuzz
{

class Actors
{
public:
	/* Does an operation, as this actor. */
	using Perform = std::function<void(const Operation &operation, unsigned self)>;

	Actors(const Program &of, Tally &in, Perform how) : program(of), tally(in), perform(std::move(how)) {}

	/* Has an operation done by whom it names, and waits for it if it is to. */
	void begin(std::uint32_t n);
	/* Waits for all that was begun. */
	void finish();

	/* What an operation may do to them, in the first one; an errno. */
	int start(unsigned n, std::uint64_t as);
	int stop(unsigned n);
	/* Is who asks a thread of the first one's process? */
	static bool is_thread() { return thread; }

private:
	struct Actor {
		bool alive = false;
		pid_t process = 0; /* 0: a thread */
		UniqueFd socket;
		unsigned sent = 0, done = 0;
	};
	struct Slice { /* of a thread */
		Actors *actors;
		unsigned actor;
		int socket;
	};

	void receive(unsigned n);
	void gone(Actor &actor, unsigned n);
	void serve(unsigned self, int socket);
	static void *thread_main(void *argument);
	int started(Actor &actor, unsigned n);
	[[noreturn]] void be_process(unsigned self, std::uint64_t as, int socket);
	void reap(Actor &actor);

	static constinit thread_local bool thread;

	const Program &program;
	Tally &tally;
	const Perform perform;
	std::array<Actor, nr_actors> actors;
};

} // namespace auxpmu::fuzz

#endif /* AUXPMU_FUZZ_ACTORS_H */
