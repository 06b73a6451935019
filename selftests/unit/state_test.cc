// SPDX-License-Identifier: GPL-2.0-only
// The contract of module/core/state.h, by model checking: every interleaving of an owner, of NMIs that interrupt it and each
// other, and of every outcome of an action. The model performs the actions; only the decisions are made by the code under test.
//
// All this happens on one CPU, so an NMI runs to its end before the interrupted context continues. Hence a cmpxchg loop is one
// atomic step here: it succeeds only with the word it computed from, as if read at that very moment, and an NMI that came
// between read and cmpxchg is an NMI that came before the read.
#include "layout.h"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <iostream>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

using namespace unit;

namespace
{

constexpr int deepest = 3; // NMIs within NMIs

constexpr u32 wishes = AUXPMU_RUN | AUXPMU_STOPPED | AUXPMU_PAUSED;

const char *name(enum auxpmu_action action)
{
	const char *names[] = {"NOTHING", "BEGIN", "ARM", "DISARM", "TURN", "END", "FORGET"};
	return names[action];
}

const char *name(enum auxpmu_request request)
{
	const char *names[] = {"START", "PARK", "CLOSE", "TURN", "PAUSE", "RESUME"};
	return names[request];
}

// The whole state: the word, and everything that it describes.
struct World {
	u32 word = 0;
	bool hardware = false; // the hardware is on
	bool open = false;     // a transaction is open
	bool acting = false;   // an action is under way
	bool fresh = false;    // nothing has been written since begin: the window cannot be used up
	bool run = false;      // the requests, noted by the model itself
	bool stopped = false;
	bool paused = false;
	bool interrupt = false; // came while the hardware was on, and has not been served yet
	bool closed = false;    // a CLOSE was noted since the buffer was last found full

	u32 key() const
	{
		return word | hardware << 8 | open << 9 | acting << 10 | fresh << 11 | run << 12 | stopped << 13 |
		       paused << 14 | interrupt << 15 | closed << 16;
	}
	std::string text() const
	{
		std::ostringstream out;
		const char *bits[] = {"BUSY", "OPEN", "ARMED", "FULL", "RUN", "STOPPED", "PAUSED", "TURN"};
		for (int i = 0; i < 8; ++i)
			if (word & 1U << i)
				out << bits[i] << ' ';
		out << (hardware ? "hardware " : "") << (open ? "open " : "") << (acting ? "acting " : "")
		    << (fresh ? "fresh " : "") << (run ? "run " : "") << (stopped ? "stopped " : "")
		    << (paused ? "paused " : "") << (interrupt ? "interrupt" : "");
		return out.str();
	}
};

// The step that a context has reached. An NMI may come between any two of these steps.
enum Step { NOTE, OWN, ACT, ACT_MORE, DONE, RETURNED };

struct Place {
	Step step = NOTE;
	enum auxpmu_request request = AUXPMU_REQ_START;
	enum auxpmu_action action = AUXPMU_DO_NOTHING;
	enum auxpmu_result result = AUXPMU_OK;

	u32 key() const { return step | request << 3 | action << 6 | result << 9; }
};

struct Point {
	World world;
	Place place;
	std::uint64_t key() const { return std::uint64_t{place.key()} << 32 | world.key(); }
};

struct Violation : std::runtime_error {
	using std::runtime_error::runtime_error;
};

void must(bool truth, const char *what, const Point &at)
{
	if (!truth)
		throw Violation(std::string(what) + ": " + at.world.text() + " (request " + name(at.place.request) +
				", action " + name(at.place.action) + ", result " + std::to_string(at.place.result) +
				")");
}

// Invariants that hold at every moment.
void check_always(const Point &at)
{
	const auto &world = at.world;
	must(!world.hardware || world.open, "the hardware is on without a transaction", at);
	must(!(world.word & AUXPMU_ARMED) || (world.word & AUXPMU_OPEN), "ARMED implies OPEN", at);
	must(!(world.word & AUXPMU_FULL) || !(world.word & AUXPMU_OPEN), "FULL and OPEN exclude each other", at);
	must(!(world.word & AUXPMU_RUN) == !world.run, "RUN is not what was asked for last", at);
	must(!(world.word & AUXPMU_STOPPED) == !world.stopped, "STOPPED is not what was asked for last", at);
	must(!(world.word & AUXPMU_PAUSED) == !world.paused, "PAUSED is not what was asked for last", at);
	if (!world.acting) {
		must(!(world.word & AUXPMU_OPEN) == !world.open, "OPEN is not what is", at);
		must(!(world.word & AUXPMU_ARMED) == !world.hardware, "ARMED is not what is", at);
	} else {
		must(world.word & AUXPMU_BUSY, "an action without an owner", at);
	}
}

// Holds when an owner lets go: no request is left unserved.
void check_served(const Point &at)
{
	const auto &world = at.world;
	const bool write = world.run && !world.stopped && !world.paused;
	const bool full = world.word & AUXPMU_FULL;
	must(!(world.word & AUXPMU_BUSY), "still BUSY", at);
	must(!world.acting, "released during an action", at);
	must(!write || full || world.hardware, "wanted, not full, but not armed", at);
	must(write || !world.hardware, "the hardware is on, though stopped, paused or closed", at);
	must(world.run || !world.open, "closed, but the transaction is open", at);
	must(world.run || !full, "closed, but FULL", at);
	must(!world.hardware || !world.interrupt, "an interrupt was forgotten", at);
	must(!(world.word & AUXPMU_HANDOVER), "TURN is left over", at);
}

void note(World &world, enum auxpmu_request request)
{
	switch (request) {
	case AUXPMU_REQ_START:
		world.run = true;
		world.stopped = false;
		break;
	case AUXPMU_REQ_PARK:
		world.stopped = world.stopped || world.run;
		break;
	case AUXPMU_REQ_CLOSE:
		world.run = false;
		world.stopped = false;
		world.interrupt = false;
		world.closed = true;
		break;
	case AUXPMU_REQ_HANDOVER:
		world.interrupt = world.interrupt || world.hardware;
		break;
	case AUXPMU_REQ_PAUSE:
		world.paused = true;
		break;
	case AUXPMU_REQ_RESUME:
		world.paused = false;
		break;
	default:
		break;
	}
	world.word = auxpmu_state_request(world.word, request);
}

void begin(Point &at)
{
	must(!at.world.open, "a second begin", at);
	at.world.open = true;
	at.world.fresh = true;
}

void end(Point &at)
{
	must(at.world.open, "an end without begin", at);
	must(!at.world.hardware, "an end while the hardware is on", at);
	at.world.open = false;
	at.world.fresh = false;
	at.world.interrupt = false;
}

// Was there a reason for this decision?
void check_decision(const Point &at)
{
	const auto &world = at.world;
	const bool write = world.run && !world.stopped && !world.paused;
	const bool full = world.word & AUXPMU_FULL;
	switch (at.place.action) {
	case AUXPMU_DO_BEGIN:
		must(world.run && !full && !world.open, "BEGIN without a reason", at);
		break;
	case AUXPMU_DO_ARM:
		must(write && world.open && !world.hardware, "ARM without a reason", at);
		break;
	case AUXPMU_DO_DISARM:
		must(world.hardware && (!write || (world.word & AUXPMU_HANDOVER)), "DISARM without a reason", at);
		break;
	case AUXPMU_DO_HANDOVER:
		must(world.open && !world.hardware && (world.word & AUXPMU_HANDOVER), "TURN without a reason", at);
		break;
	case AUXPMU_DO_END:
		must(world.open && !world.hardware && !world.run, "END without a reason", at);
		break;
	case AUXPMU_DO_RESET:
		must(full && !world.run, "FORGET without a reason", at);
		break;
	default:
		must(false, "no such action", at);
	}
}

std::vector<enum auxpmu_result> results(const Point &at)
{
	switch (at.place.action) {
	case AUXPMU_DO_BEGIN:
	case AUXPMU_DO_HANDOVER:
		return {AUXPMU_OK, AUXPMU_NO_SPACE, AUXPMU_FAILED};
	case AUXPMU_DO_DISARM:
		return {AUXPMU_OK, AUXPMU_NO_SPACE, AUXPMU_FAILED, AUXPMU_USED_UP};
	case AUXPMU_DO_ARM:
		if (!at.world.fresh)
			return {AUXPMU_OK, AUXPMU_NO_SPACE, AUXPMU_FAILED, AUXPMU_USED_UP};
		return {AUXPMU_OK, AUXPMU_NO_SPACE, AUXPMU_FAILED};
	default:
		return {AUXPMU_OK};
	}
}

// The first half of an action, then (an NMI may come between) the second.
void act(Point &at)
{
	switch (at.place.action) {
	case AUXPMU_DO_DISARM:
		must(at.world.hardware, "DISARM of hardware that is off", at);
		at.world.hardware = false;
		break;
	case AUXPMU_DO_HANDOVER:
	case AUXPMU_DO_END:
		end(at);
		break;
	case AUXPMU_DO_ARM:
		must(at.world.open && !at.world.hardware, "ARM twice, or without a transaction", at);
		if (at.place.result == AUXPMU_OK) {
			at.world.hardware = true;
			at.world.fresh = false;
		}
		break;
	default:
		break;
	}
}

void act_more(Point &at)
{
	switch (at.place.action) {
	case AUXPMU_DO_BEGIN:
	case AUXPMU_DO_HANDOVER:
		if (at.place.result == AUXPMU_OK)
			begin(at);
		break;
	case AUXPMU_DO_ARM:
	case AUXPMU_DO_DISARM:
		if (at.place.result == AUXPMU_NO_SPACE || at.place.result == AUXPMU_FAILED)
			end(at);
		break;
	default:
		break;
	}
}

// All ways in which the context at this point may take its next step.
std::vector<Point> steps(Point at)
{
	auto &world = at.world;
	auto &place = at.place;
	switch (place.step) {
	case NOTE: {
		const bool owner = !(world.word & AUXPMU_BUSY);
		note(world, place.request);
		must(owner == !(world.word & AUXPMU_BUSY), "a request touches BUSY", at);
		world.word |= AUXPMU_BUSY;
		place.step = owner ? OWN : RETURNED;
		break;
	}
	case OWN:
		place.action = auxpmu_state_next(world.word);
		place.result = AUXPMU_OK;
		if (place.action == AUXPMU_DO_NOTHING) {
			world.word &= ~AUXPMU_BUSY;
			check_served(at);
			place.step = RETURNED;
			break;
		}
		check_decision(at);
		must(!world.acting, "an action within an action", at);
		world.acting = true;
		place.step = ACT;
		break;
	case ACT: {
		std::vector<Point> all;
		for (auto result : results(at)) {
			auto next = at;
			next.place.result = result;
			act(next);
			next.place.step = ACT_MORE;
			check_always(next);
			all.push_back(next);
		}
		return all;
	}
	case ACT_MORE:
		act_more(at);
		place.step = DONE;
		break;
	case DONE: {
		const auto before = world.word;
		world.word = auxpmu_state_done(world.word, place.action, place.result);
		world.acting = false;
		if (place.result == AUXPMU_FAILED && !(world.word & AUXPMU_RUN)) {
			// Giving up is one way to handle a failure; it also answers a START that came meanwhile.
			world.run = false;
			world.stopped = false;
		}
		if ((world.word & AUXPMU_FULL) && !(before & AUXPMU_FULL)) {
			must(place.result == AUXPMU_NO_SPACE || place.result == AUXPMU_FAILED, "FULL without need", at);
			world.closed = !world.run;
		}
		must(place.result != AUXPMU_NO_SPACE || (world.word & AUXPMU_FULL), "no space, but not FULL", at);
		must(!(before & ~world.word & AUXPMU_FULL) || world.closed, "FULL is left without CLOSE", at);
		must(world.word & AUXPMU_BUSY, "done lets go", at);
		place.step = OWN;
		break;
	}
	case RETURNED:
		return {};
	}
	check_always(at);
	return {at};
}

Point entry(const World &world, int request)
{
	return {world, {NOTE, static_cast<enum auxpmu_request>(request), AUXPMU_DO_NOTHING, AUXPMU_OK}};
}

class Checker
{
public:
	// Every world in which a context that enters at this point, `depth` NMIs deep, may leave.
	const std::vector<World> &run(int depth, const Point &start)
	{
		const auto [known, fresh] = exits_[depth].try_emplace(start.key());
		auto &exits = known->second;
		if (!fresh)
			return exits;
		std::vector<Point> todo{start};
		std::unordered_set<std::uint64_t> seen{start.key()};
		std::vector<World> found;
		auto reach = [&](const Point &next) {
			++transitions;
			if (seen.insert(next.key()).second)
				todo.push_back(next);
		};
		while (!todo.empty()) {
			const auto at = todo.back();
			todo.pop_back();
			visited_[depth].insert(at.key());
			worlds_.insert(at.world.key());
			if (at.place.step == RETURNED) {
				found.push_back(at.world);
				continue;
			}
			for (const auto &next : steps(at))
				reach(next);
			if (depth < deepest)
				for (int request = 0; request < AUXPMU_NR_REQUESTS; ++request)
					for (const auto &after : run(depth + 1, entry(at.world, request)))
						reach({after, at.place});
		}
		// The reference may have become invalid, though deeper runs never touch the table of this depth.
		return exits_[depth][start.key()] = std::move(found);
	}

	// Every world at rest, from the first one on.
	std::vector<World> rest()
	{
		std::map<u32, World> known;
		std::vector<World> todo{World{}};
		known[World{}.key()] = World{};
		while (!todo.empty()) {
			const auto world = todo.back();
			todo.pop_back();
			for (int request = 0; request < AUXPMU_NR_REQUESTS; ++request)
				for (const auto &after : run(0, entry(world, request)))
					if (known.emplace(after.key(), after).second)
						todo.push_back(after);
		}
		std::vector<World> all;
		for (const auto &[key, world] : known)
			all.push_back(world);
		return all;
	}

	// The largest number of actions of one call that is no longer interrupted; throws if it is unbounded.
	unsigned actions(const Point &at)
	{
		constexpr unsigned under_way = ~0U;
		const auto [known, fresh] = actions_.try_emplace(at.key(), under_way);
		if (!fresh) {
			must(known->second != under_way, "the owner goes round in circles", at);
			return known->second;
		}
		unsigned most = 0;
		for (const auto &next : steps(at))
			most = std::max(most, actions(next) + (at.place.step == DONE));
		return actions_[at.key()] = most;
	}
	unsigned most_actions()
	{
		unsigned most = 0;
		for (const auto &points : visited_)
			for (auto key : points)
				most = std::max(most, actions(point(key)));
		return most;
	}

	// The number of ways in which a context may continue from here, with so many NMIs still to come, and the state in which
	// each leaves it.
	using Ways = std::map<std::pair<u32, int>, double>;
	const Ways &ways(int depth, int nmis, const Point &at)
	{
		const auto id = std::tuple{depth, nmis, at.key()};
		if (const auto known = ways_.find(id); known != ways_.end())
			return known->second;
		Ways sum;
		auto add = [&](const Ways &more, double times) {
			for (const auto &[where, count] : more)
				sum[where] += times * count;
		};
		if (at.place.step == RETURNED)
			sum[{at.world.key(), nmis}] = 1;
		for (const auto &next : steps(at))
			add(ways(depth, nmis, next), 1);
		if (at.place.step != RETURNED && nmis > 0 && depth < deepest)
			for (int request = 0; request < AUXPMU_NR_REQUESTS; ++request)
				for (const auto &[where, count] : ways(depth + 1, nmis - 1, entry(at.world, request)))
					add(ways(depth, where.second, {world(where.first), at.place}), count);
		return ways_[id] = std::move(sum);
	}

	std::size_t points() const
	{
		std::size_t sum = 0;
		for (const auto &points : visited_)
			sum += points.size();
		return sum;
	}
	std::size_t worlds() const { return worlds_.size(); }
	std::uint64_t transitions = 0;

private:
	static World world(u32 key)
	{
		auto bit = [&](int n) {
			return (key >> n & 1) != 0;
		};
		return {key & 0xff, bit(8), bit(9), bit(10), bit(11), bit(12), bit(13), bit(14), bit(15), bit(16)};
	}
	static Point point(std::uint64_t key)
	{
		const auto place = static_cast<u32>(key >> 32);
		return {world(static_cast<u32>(key)),
			{static_cast<Step>(place & 7), static_cast<enum auxpmu_request>(place >> 3 & 7),
				static_cast<enum auxpmu_action>(place >> 6 & 7),
				static_cast<enum auxpmu_result>(place >> 9 & 7)}};
	}

	std::array<std::unordered_map<std::uint64_t, std::vector<World>>, deepest + 1> exits_;
	std::array<std::unordered_set<std::uint64_t>, deepest + 1> visited_;
	std::unordered_set<u32> worlds_;
	std::unordered_map<std::uint64_t, unsigned> actions_;
	std::map<std::tuple<int, int, std::uint64_t>, Ways> ways_;
};

// One call without interruptions; each action has the next result of `results`, and OK when these are used up. Returns the
// actions taken.
std::vector<enum auxpmu_action> call(
	World &world, enum auxpmu_request request, std::vector<enum auxpmu_result> results = {})
{
	std::vector<enum auxpmu_action> done;
	for (auto at = entry(world, request); at.place.step != RETURNED;) {
		const auto all = steps(at);
		auto next = all.front();
		if (at.place.step == ACT) {
			if (!results.empty()) {
				for (const auto &other : all)
					if (other.place.result == results.front())
						next = other;
				ENSURE(next.place.result == results.front());
				results.erase(results.begin());
			}
			done.push_back(at.place.action);
		}
		at = next;
		world = at.world;
	}
	return done;
}

using Actions = std::vector<enum auxpmu_action>;

// Explored once for all tests.
Checker &explored()
{
	static Checker checker;
	return checker;
}

/* The transaction is open and requested to run, and nothing is written. */
bool is_parked(u32 word)
{
	return (word & AUXPMU_OPEN) && (word & AUXPMU_RUN) && !(word & AUXPMU_ARMED);
}

} // namespace

TEST_CASE("no interleaving of requests, NMIs and outcomes breaks the session")
{
	auto &checker = explored();
	try {
		const auto rest = checker.rest();
		const auto most = checker.most_actions();
		double ways = 0;
		for (const auto &world : rest)
			for (int request = 0; request < AUXPMU_NR_REQUESTS; ++request)
				for (const auto &[where, count] : checker.ways(0, 3, entry(world, request)))
					ways += count;
		std::cout << "# state: " << rest.size() << " worlds at rest, " << checker.worlds() << " in all, "
			  << checker.points() << " points of execution, " << checker.transitions
			  << " transitions, NMIs nested " << deepest << " deep, any number of them; "
			  << static_cast<std::uint64_t>(ways)
			  << " different interleavings of a call with up to 3 NMIs; at most " << most
			  << " actions in a call left alone\n";
		ENSURE(most <= 8);
		ENSURE(rest.size() > 10);
	} catch (const Violation &violation) {
		FAIL(violation.what());
	}
	SUCCEED();
}

TEST_CASE("from every state at rest CLOSE and then START lead to a new transaction")
{
	for (auto world : explored().rest()) {
		CAPTURE(world.text());
		call(world, AUXPMU_REQ_CLOSE);
		ENSURE((world.word & ~AUXPMU_PAUSED) == 0);
		const auto resumed = call(world, AUXPMU_REQ_RESUME);
		ENSURE(resumed.empty());
		ENSURE(call(world, AUXPMU_REQ_START) == Actions{AUXPMU_DO_BEGIN, AUXPMU_DO_ARM});
		ENSURE(world.hardware);
	}
	SUCCEED();
}

TEST_CASE("PARK and then START go on with the same transaction")
{
	World world;
	call(world, AUXPMU_REQ_START);
	CHECK(call(world, AUXPMU_REQ_PARK) == Actions{AUXPMU_DO_DISARM});
	CHECK(is_parked(world.word));
	CHECK(call(world, AUXPMU_REQ_PARK).empty());
	CHECK(call(world, AUXPMU_REQ_START) == Actions{AUXPMU_DO_ARM});
	CHECK(world.word & AUXPMU_ARMED);
}

TEST_CASE("PAUSE and RESUME keep the transaction, and neither undoes a stop")
{
	World world;
	call(world, AUXPMU_REQ_START);
	CHECK(call(world, AUXPMU_REQ_PAUSE) == Actions{AUXPMU_DO_DISARM});
	CHECK(call(world, AUXPMU_REQ_PARK).empty());
	CHECK(call(world, AUXPMU_REQ_RESUME).empty());
	CHECK(call(world, AUXPMU_REQ_PAUSE).empty());
	CHECK(call(world, AUXPMU_REQ_START).empty());
	CHECK(call(world, AUXPMU_REQ_RESUME) == Actions{AUXPMU_DO_ARM});
}

TEST_CASE("an interrupt hands over what there is and takes a new window; a used up window does so without one")
{
	World world;
	call(world, AUXPMU_REQ_START);
	CHECK(call(world, AUXPMU_REQ_HANDOVER) == Actions{AUXPMU_DO_DISARM, AUXPMU_DO_HANDOVER, AUXPMU_DO_ARM});
	call(world, AUXPMU_REQ_PARK);
	CHECK(call(world, AUXPMU_REQ_START, {AUXPMU_USED_UP}) ==
		Actions{AUXPMU_DO_ARM, AUXPMU_DO_HANDOVER, AUXPMU_DO_ARM});
	CHECK(world.hardware);
}

TEST_CASE("a unit that is parked where its interrupt is due hands over what there is; one that goes on need not")
{
	for (auto request : {AUXPMU_REQ_PARK, AUXPMU_REQ_PAUSE}) {
		World world;
		call(world, AUXPMU_REQ_START);
		CHECK(call(world, request, {AUXPMU_USED_UP}) == Actions{AUXPMU_DO_DISARM, AUXPMU_DO_HANDOVER});
		CHECK(is_parked(world.word));
	}
	World world;
	call(world, AUXPMU_REQ_START);
	CHECK(call(world, AUXPMU_REQ_CLOSE, {AUXPMU_USED_UP}) == Actions{AUXPMU_DO_DISARM, AUXPMU_DO_END});
	/* The context that took a sample rearms the unit and looks at the word. */
	const u32 armed = AUXPMU_BUSY | AUXPMU_OPEN | AUXPMU_ARMED | AUXPMU_RUN;
	CHECK(auxpmu_state_done(armed, AUXPMU_DO_DISARM, AUXPMU_USED_UP) == (armed & ~AUXPMU_ARMED));
}

TEST_CASE("a buffer found full stays full until CLOSE, whichever action finds it")
{
	const std::vector<std::pair<std::vector<enum auxpmu_request>, std::vector<enum auxpmu_result>>> ways_there = {
		{{AUXPMU_REQ_START}, {AUXPMU_NO_SPACE}},
		{{AUXPMU_REQ_START}, {AUXPMU_OK, AUXPMU_NO_SPACE}},
		{{AUXPMU_REQ_START, AUXPMU_REQ_HANDOVER}, {AUXPMU_OK, AUXPMU_NO_SPACE}},
		{{AUXPMU_REQ_START, AUXPMU_REQ_HANDOVER}, {AUXPMU_OK, AUXPMU_OK, AUXPMU_NO_SPACE}},
	};
	for (const auto &[requests, outcome] : ways_there) {
		World world;
		for (auto request : requests)
			call(world, request, request == requests.back() ? outcome : std::vector<enum auxpmu_result>{});
		ENSURE(((world.word & AUXPMU_FULL) && (world.word & AUXPMU_RUN)));
		for (auto request : {AUXPMU_REQ_START, AUXPMU_REQ_PARK, AUXPMU_REQ_HANDOVER, AUXPMU_REQ_PAUSE,
			     AUXPMU_REQ_RESUME, AUXPMU_REQ_START}) {
			ENSURE(call(world, request).empty());
			ENSURE((world.word & AUXPMU_FULL) != 0);
		}
		ENSURE(call(world, AUXPMU_REQ_CLOSE) == Actions{AUXPMU_DO_RESET});
		ENSURE(world.word == 0);
	}
	SUCCEED();
}

TEST_CASE("an interrupt nobody can have caused changes nothing")
{
	for (u32 word = 0; word < 256; ++word) {
		const bool arming = (word & AUXPMU_OPEN) && (word & AUXPMU_BUSY);
		CAPTURE(word);
		if (!(word & AUXPMU_ARMED) && !arming)
			ENSURE(auxpmu_state_request(word, AUXPMU_REQ_HANDOVER) == word);
		else
			ENSURE(auxpmu_state_request(word, AUXPMU_REQ_HANDOVER) == (word | AUXPMU_HANDOVER));
	}
	for (auto world : explored().rest())
		if (!world.hardware) {
			const auto before = world.word;
			ENSURE(call(world, AUXPMU_REQ_HANDOVER).empty());
			ENSURE(world.word == before);
		}
	SUCCEED();
}

TEST_CASE("a request changes the bits it is about, of any word, and no others")
{
	for (u32 word = 0; word < 256; ++word) {
		CAPTURE(word);
		ENSURE(auxpmu_state_request(word, AUXPMU_REQ_START) == ((word | AUXPMU_RUN) & ~AUXPMU_STOPPED));
		ENSURE(auxpmu_state_request(word, AUXPMU_REQ_PARK) ==
			((word & AUXPMU_RUN) ? word | AUXPMU_STOPPED : word));
		ENSURE(auxpmu_state_request(word, AUXPMU_REQ_CLOSE) ==
			(word & ~(AUXPMU_RUN | AUXPMU_STOPPED | AUXPMU_HANDOVER)));
		ENSURE(auxpmu_state_request(word, AUXPMU_REQ_PAUSE) == (word | AUXPMU_PAUSED));
		ENSURE(auxpmu_state_request(word, AUXPMU_REQ_RESUME) == (word & ~AUXPMU_PAUSED));
	}
	SUCCEED();
}

TEST_CASE("the end of an action keeps every wish and the owner, whatever came in meanwhile")
{
	const std::vector<std::pair<enum auxpmu_action, enum auxpmu_result>> ends = {{AUXPMU_DO_BEGIN, AUXPMU_OK},
		{AUXPMU_DO_BEGIN, AUXPMU_NO_SPACE}, {AUXPMU_DO_ARM, AUXPMU_OK}, {AUXPMU_DO_ARM, AUXPMU_NO_SPACE},
		{AUXPMU_DO_ARM, AUXPMU_USED_UP}, {AUXPMU_DO_DISARM, AUXPMU_OK}, {AUXPMU_DO_DISARM, AUXPMU_NO_SPACE},
		{AUXPMU_DO_DISARM, AUXPMU_USED_UP}, {AUXPMU_DO_HANDOVER, AUXPMU_OK},
		{AUXPMU_DO_HANDOVER, AUXPMU_NO_SPACE}, {AUXPMU_DO_END, AUXPMU_OK}, {AUXPMU_DO_RESET, AUXPMU_OK}};
	for (u32 word = 0; word < 256; ++word)
		for (const auto &[action, result] : ends) {
			CAPTURE(word, name(action), result);
			const auto after = auxpmu_state_done(word, action, result);
			ENSURE((after & wishes) == (word & wishes));
			ENSURE((after & AUXPMU_BUSY) == (word & AUXPMU_BUSY));
		}
	SUCCEED();
}
