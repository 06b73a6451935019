/* SPDX-License-Identifier: GPL-2.0-or-later */
/* StepWalk: checks that the instructions that a decoder found are those that single steps have found (../guest/stepper.cc). */
#ifndef HWSIM_TOOLS_STEP_WALK_H
#define HWSIM_TOOLS_STEP_WALK_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "../guest/step_log.h"

namespace hwsim
{

class StepWalk
{
public:
	/* The log of the steps. */
	explicit StepWalk(std::vector<std::uint64_t> log) : steps(std::move(log)) {}

	/* The next instruction of the trace. It has to be the next step, or the first of an exclusive sequence that is tried again. */
	void take(std::uint64_t at)
	{
		if (different)
			return;
		if (may_fail() && at == address(load) && !is_next(at)) {
			next = load;
			repeated++;
		}
		if (is_next(at))
			pass();
		else
			different = at;
	}
	/*
	 * An exception comes before the next instruction of the trace. If it comes between an exclusive load and its store, or to the store
	 * itself, its return clears the monitor, the store fails, and the program may try again (Arm ARM, DDI0487, B2.17).
	 */
	void leave() { interrupted = interrupted || !store; }
	/* Does the trace have all steps, and no other? */
	bool is_right() const { return !different && next && next == steps.size(); }
	/* What is different, or how many steps there are. */
	std::string report() const
	{
		std::ostringstream text;
		if (different)
			text << "step " << next << " of " << steps.size() << ": the trace has " << std::hex
			     << *different << " instead of " << (next < steps.size() ? address(next) : 0);
		else
			text << next << " of " << steps.size() << " steps are in the trace, " << repeated
			     << " sequences were interrupted and tried again";
		return text.str();
	}

private:
	std::uint64_t address(std::size_t of) const { return steps[of] & ~step_log::marks; }
	bool is_next(std::uint64_t at) const { return next < steps.size() && address(next) == at; }
	/* Has the trace come behind the branch that asks whether a store has failed, and was there an exception before that store? */
	bool may_fail() const { return store && next == *store + 2 && interrupted; }
	void pass()
	{
		if (steps[next] & step_log::exclusive_load) {
			load = next;
			store.reset();
			interrupted = false;
		} else if (steps[next] & step_log::exclusive_store) {
			store = next;
		}
		next++;
	}

	const std::vector<std::uint64_t> steps;
	std::size_t next = 0;
	std::size_t load = 0;             /* the last exclusive load */
	std::optional<std::size_t> store; /* its store, once the trace has come there */
	bool interrupted = false;         /* an exception came between these */
	std::size_t repeated = 0;
	std::optional<std::uint64_t> different; /* where the trace has another instruction */
};

} // namespace hwsim

#endif
