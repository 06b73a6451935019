// SPDX-License-Identifier: GPL-2.0-only
/*
 * From a seed to a program.  The generator remembers what its operations would come to if all went well, so that most of
 * them are about something that is there; the rest are about anything.
 */
#include <bit>

#include <linux/perf_event.h>

#include "../../uapi/linux/auxpmu.h"

#include "forecast.h"
#include "program.h"

namespace auxpmu::fuzz
{

namespace
{

constexpr std::uint64_t bit(unsigned n)
{
	return 1ull << n;
}

struct Weight {
	Kind kind;
	unsigned weight;
};

/* How often each is chosen. */
constexpr Weight weights[] = {{Kind::open, 90}, {Kind::close, 25}, {Kind::dup, 4}, {Kind::map_data, 30},
	{Kind::map_aux, 35}, {Kind::unmap, 20}, {Kind::unmap_part, 6}, {Kind::move, 3}, {Kind::protect, 3},
	{Kind::advise, 3}, {Kind::poke, 20}, {Kind::drain, 30}, {Kind::read, 12}, {Kind::poll, 8}, {Kind::enable, 40},
	{Kind::disable, 25}, {Kind::reset, 5}, {Kind::refresh, 6}, {Kind::period, 6}, {Kind::set_output, 20},
	{Kind::pause_output, 6}, {Kind::filter, 12}, {Kind::modify, 5}, {Kind::id, 3}, {Kind::notify, 6},
	{Kind::start, 18}, {Kind::exec, 4}, {Kind::leave, 5}, {Kind::kill, 6}, {Kind::unshare, 3}, {Kind::work, 60},
	{Kind::pin, 12}, {Kind::emit, 40}, {Kind::nmi, 6}, {Kind::fault, 10}, {Kind::group_make, 4},
	{Kind::group_enter, 4}, {Kind::group_remove, 2}, {Kind::model_make, 5}, {Kind::model_set, 8},
	{Kind::model_live, 8}, {Kind::model_remove, 3}, {Kind::revoke, 4}, {Kind::cpu, 3}, {Kind::module, 2}};

class Generator
{
public:
	explicit Generator(std::uint64_t seed) : state(auxpmu_mix64(seed + 1)) {}

	Program make(std::size_t count)
	{
		program.root = below(2);
		program.paranoid = static_cast<int>(below(4)) - 1;
		of_cpus = one_in(3);
		while (program.operations.size() < count) {
			/* Who wants to get far does not begin anew each time. */
			if (one_in(7))
				scene();
			else
				add(choose());
		}
		program.operations.resize(count);
		return std::move(program);
	}

private:
	/* splitmix64 */
	std::uint64_t below(std::uint64_t limit)
	{
		state += 0x9e3779b97f4a7c15;
		return auxpmu_mix64(state) % limit;
	}
	bool one_in(std::uint64_t n) { return below(n) == 0; }
	template <class T, std::size_t n>
	T of(const T (&choice)[n])
	{
		return choice[below(n)];
	}

	/* A slot for which good() holds if there is one, mostly. */
	template <class Good>
	unsigned slot(unsigned count, Good &&good)
	{
		const auto first = static_cast<unsigned>(below(count));

		if (!one_in(20))
			for (unsigned n = 0; n < count; n++)
				if (good((first + n) % count))
					return (first + n) % count;
		return first;
	}
	unsigned open_event()
	{
		return slot(nr_events, [this](unsigned n) { return known.events[n].open; });
	}
	unsigned open_aux()
	{
		return slot(nr_events, [this](unsigned n) { return known.events[n].is_aux(); });
	}
	unsigned breakpoint()
	{
		return slot(nr_events, [this](unsigned n) { return known.events[n].breaks(); });
	}
	unsigned sampling()
	{
		return slot(nr_events, [this](unsigned n) { return known.events[n].open && known.events[n].samples; });
	}
	/* One whose ring nobody has mapped yet: the second mapping says less than the first. */
	unsigned unmapped_event()
	{
		return slot(nr_events, [this](unsigned n) { return known.events[n].open && !known.events[n].mapped; });
	}
	unsigned made_group()
	{
		return slot(nr_groups, [this](unsigned n) { return known.groups[n]; });
	}
	unsigned mapped()
	{
		return slot(nr_mappings, [this](unsigned n) { return known.mappings[n].data; });
	}
	unsigned alive()
	{
		return slot(nr_actors, [this](unsigned n) { return known.actors[n]; });
	}
	unsigned gone()
	{
		return slot(nr_actors, [this](unsigned n) { return n && !known.actors[n]; });
	}

	Kind choose()
	{
		unsigned sum = 0;

		for (const auto &one : weights)
			sum += one.weight;
		for (;;) {
			auto left = below(sum);

			for (const auto &one : weights) {
				if (left < one.weight) {
					if (!grammar(one.kind).root || program.root)
						return one.kind;
					break;
				}
				left -= one.weight;
			}
		}
	}

	void add(Operation operation)
	{
		known.remember(operation);
		program.operations.push_back(std::move(operation));
	}
	/* An event of a task that takes samples. */
	std::vector<std::uint64_t> samples_of(Type type)
	{
		auto a = open_arguments();

		a[arg::type] = static_cast<std::uint64_t>(type);
		a[arg::config] = a[arg::config1] = a[arg::config2] = a[arg::watermark] = a[arg::aux_sample] = 0;
		a[arg::leader] = a[arg::output] = a[arg::spoil] = a[arg::action] = a[arg::who] = 0;
		a[arg::cpu] = below(3);
		a[arg::period] = 1000 + below(1'000'000);
		a[arg::sample] = PERF_SAMPLE_TID;
		a[arg::flags] = bit(flag::sample_id_all) | bit(flag::disabled) |
				(program.paranoid > 1 ? bit(flag::exclude_kernel) : 0);
		return a;
	}
	/* What an operation is about that hardly any program would have by chance. */
	void provide(Kind kind)
	{
		if (one_in(4))
			return;
		if (kind == Kind::modify && !known.events[breakpoint()].breaks())
			add(Kind::open, samples_of(Type::breakpoint));
		if ((kind == Kind::refresh || kind == Kind::period) && !known.events[sampling()].samples)
			add(Kind::open, samples_of(Type::task_clock));
		if ((kind == Kind::group_enter || kind == Kind::group_remove) && !known.groups[made_group()])
			add(Kind::group_make, {below(nr_groups)});
	}
	void add(Kind kind)
	{
		provide(kind);
		Operation operation{kind, 0, !one_in(6), {}};

		/* Most is done where the descriptors are. */
		if (one_in(3))
			operation.actor = slot(nr_actors, [this](unsigned n) { return n && known.actors[n]; });
		if (!known.actors[operation.actor])
			operation.actor = 0;
		operation.arguments = arguments(kind);
		operation.arguments.resize(grammar(kind).arguments.size());
		if (kind == Kind::exec || kind == Kind::leave) {
			operation.actor = slot(nr_actors, [this](unsigned n) { return n && known.actors[n]; });
			if (!operation.actor || !known.actors[operation.actor])
				return;
		}
		add(std::move(operation));
	}
	void add(Kind kind, std::vector<std::uint64_t> values)
	{
		values.resize(grammar(kind).arguments.size());
		add({kind, 0, true, std::move(values)});
	}

	std::uint64_t aux_type()
	{
		for (unsigned n = 0; n < nr_models; n++)
			if (known.live[n] && one_in(3))
				return 1 + n;
		return 0;
	}
	std::uint64_t any_type()
	{
		constexpr Type others[] = {Type::clock, Type::task_clock, Type::switches, Type::faults, Type::dummy,
			Type::syscall, Type::cycles, Type::breakpoint, Type::other};

		if (one_in(2))
			return aux_type();
		const Type type = of(others);
		/* nobody may not look at a tracepoint, and a guest has no counters */
		if ((type == Type::syscall && !program.root) || type == Type::cycles)
			return static_cast<std::uint64_t>(one_in(4) ? type : Type::dummy);
		return static_cast<std::uint64_t>(type);
	}

	/* May it open events for everybody?  Tried all the same, now and then. */
	bool sees_all()
	{
		/* A PMU has events of tasks or of CPUs at a time, so a program has mostly one sort. */
		return one_in(10) || (of_cpus && (program.root || program.paranoid < 1));
	}

	std::uint64_t synth_config()
	{
		constexpr std::uint64_t rates[] = {0, 0, 1, 4, 16, 64};
		constexpr std::uint64_t records[] = {0, 0, 0, 1, 2, 4, 6};
		std::uint64_t config = below(4) << AUXPMU_SYNTH_OUTPUT_LO | of(records) << AUXPMU_SYNTH_RECORD_LO |
				       below(3) << AUXPMU_SYNTH_PATTERN_LO | below(2) << AUXPMU_SYNTH_PAGES_LO;

		if (one_in(8))
			config |= bit(1 + AUXPMU_SYNTH_PAGES_LO);
		if (one_in(3))
			return config | bit(AUXPMU_SYNTH_MANUAL_LO);
		return config | of(rates) << AUXPMU_SYNTH_RATE_LO;
	}

	std::uint64_t sample_type()
	{
		constexpr std::uint64_t known[] = {PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ADDR,
			PERF_SAMPLE_READ, PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_ID, PERF_SAMPLE_CPU, PERF_SAMPLE_PERIOD,
			PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_RAW, PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_CGROUP};
		std::uint64_t type = 0;

		for (auto left = below(5); left; left--)
			type |= of(known);
		return one_in(40) ? type | bit(static_cast<unsigned>(below(26))) : type;
	}

	std::uint64_t event_flags(bool aux)
	{
		constexpr unsigned harmless[] = {flag::exclude_hv, flag::mmap, flag::comm, flag::inherit_stat,
			flag::enable_on_exec, flag::task, flag::mmap_data, flag::mmap2, flag::context_switch,
			flag::namespaces, flag::cgroup, flag::build_id, flag::exclude_user};
		constexpr unsigned bold[] = {flag::pinned, flag::exclusive, flag::write_backward, flag::inherit_thread,
			flag::aux_output, flag::freq};
		std::uint64_t flags = bit(flag::sample_id_all);

		if (!one_in(4))
			flags |= bit(flag::disabled);
		if (program.paranoid > 1 || one_in(3))
			flags |= bit(flag::exclude_kernel);
		for (auto left = below(3); left; left--)
			flags |= bit(of(harmless));
		if (one_in(8))
			flags |= bit(of(bold));
		if (one_in(12))
			flags |= bit(flag::remove_on_exec) | (one_in(2) ? bit(flag::sigtrap) : 0);
		if (one_in(aux ? 5 : 7))
			flags |= bit(flag::inherit);
		if (one_in(60))
			flags |= bit(static_cast<unsigned>(below(40)));
		return flags;
	}

	std::vector<std::uint64_t> open_arguments()
	{
		std::vector<std::uint64_t> a(arg::nr_open);
		constexpr std::uint64_t watermarks[] = {0, 0, 0, 1, 64, 4096, 8192, 100000};
		const auto type = any_type();
		const bool aux = is_aux(type);

		a[arg::event] = below(nr_events);
		a[arg::type] = type;
		a[arg::config] = aux ? synth_config() : one_in(10) ? below(1 << 16) : 0;
		a[arg::config1] = one_in(3) ? below(1 << 16) : 0;
		a[arg::config2] = aux && one_in(2) ? 0x400000 : 0;
		a[arg::period] = aux ? (one_in(20) ? below(100000) : 0) : one_in(2) ? 0 : 1000 + below(1'000'000);
		if (type == static_cast<std::uint64_t>(Type::syscall) && a[arg::period])
			a[arg::period] = 1 + below(16);
		a[arg::sample] = sample_type();
		a[arg::read_format] = one_in(3) ? below(32) : 0;
		a[arg::flags] = event_flags(aux);
		a[arg::wakeup] = one_in(4) ? below(8192) : 0;
		a[arg::watermark] = aux ? of(watermarks) : 0;
		a[arg::who] = one_in(2) && sees_all() ? 2 : one_in(3) ? 1 : program.root && one_in(8) ? 3 : 0;
		a[arg::whom] = a[arg::who] == 1 ? alive() : below(nr_groups);
		a[arg::cpu] = a[arg::who] >= 2 || (a[arg::flags] & bit(flag::inherit)) ? 1 + below(2) : below(3);
		if (one_in(60))
			a[arg::cpu] = below(4);
		if (one_in(15))
			a[arg::leader] = 1 + open_event();
		if (one_in(8))
			a[arg::output] = 1 + open_event();
		a[arg::open_flags] = one_in(2) ? PERF_FLAG_FD_CLOEXEC : 0;
		/* Where nobody has thought of: a byte of the attr, and its value. */
		if (one_in(40))
			a[arg::spoil] = (1 + below(144)) << 8 | below(256);
		if (one_in(50))
			a[arg::action] = 1 + below(7);
		if (one_in(50))
			a[arg::aux_sample] = below(8192);
		return a;
	}

	std::vector<std::uint64_t> arguments(Kind kind)
	{
		constexpr std::uint64_t pages[] = {1, 2, 4, 8, 16, 64};
		constexpr std::uint64_t values[] = {
			0, 1, 64, 4096, 4097, 8192, 65536, 0x7fffffffffffffff, 0xffffffffffffffff};
		const auto size = [&] {
			return one_in(20) ? below(70) : of(pages);
		};

		switch (kind) {
		case Kind::open:
			return open_arguments();
		case Kind::close:
		case Kind::poll:
		case Kind::id:
			return {open_event()};
		case Kind::dup:
			return {open_event(), below(nr_events)};
		case Kind::map_data:
			return {slot(nr_mappings, [this](unsigned n) { return !known.mappings[n].data; }),
				unmapped_event(), size(), one_in(4)};
		case Kind::map_aux: {
			const auto at = slot(nr_mappings, [this](unsigned n) {
				return known.mappings[n].data && is_aux(known.events[known.mappings[n].event].type);
			});

			return {at, one_in(20) ? open_event() : known.mappings[at].event, size(), one_in(4)};
		}
		case Kind::unmap:
			return {mapped(), below(2)};
		case Kind::unmap_part:
			return {mapped(), below(2), below(5), 1 + below(4)};
		case Kind::move:
			return {mapped(), below(nr_mappings), below(2), size()};
		case Kind::protect:
			return {mapped(), below(2), below(8)};
		case Kind::advise:
			return {mapped(), below(2), below(5)};
		case Kind::poke:
			return {mapped(), below(7), one_in(3) ? below(1 << 20) : of(values)};
		case Kind::drain:
			return {mapped()};
		case Kind::read:
			return {open_event(), one_in(4) ? below(64) : 256};
		case Kind::enable:
		case Kind::disable:
		case Kind::reset:
			return {open_event(), one_in(5)};
		case Kind::refresh:
			return {sampling(), below(4)};
		case Kind::period:
			return {sampling(), one_in(10) ? of(values) : 1000 + below(1'000'000)};
		case Kind::set_output:
			return {open_event(), one_in(5) ? 0 : 1 + (one_in(2) ? open_aux() : open_event())};
		case Kind::pause_output:
			return {open_event(), below(2)};
		case Kind::filter:
			return {open_aux(), below(7), below(4096)};
		case Kind::modify:
			return {breakpoint(), below(6), of(values)};
		case Kind::notify:
			return {open_event(), alive(), below(3), !one_in(4)};
		case Kind::start:
			return {gone(), one_in(6) ? 2 : below(2)};
		case Kind::kill:
			return {slot(nr_actors, [this](unsigned n) { return n && known.actors[n]; })};
		case Kind::unshare:
			return {below(5)};
		case Kind::work:
			return {below(5), 1 + below(200)};
		case Kind::pin:
			return {1 + below(3)};
		case Kind::emit:
			return {aux_type(), below(2), one_in(4) ? 64 * below(4096) : 64 * (1 + below(128))};
		case Kind::nmi:
			return {below(2), below(8), below(8)};
		case Kind::fault:
			return {aux_type(), below(17), below(4)};
		case Kind::group_make:
			return {below(nr_groups)};
		case Kind::group_enter:
		case Kind::group_remove:
			return {made_group()};
		case Kind::model_make:
		case Kind::model_remove:
		case Kind::revoke:
			return {below(nr_models)};
		case Kind::model_set:
			return {below(nr_models), below(22), one_in(3) ? below(8192) : below(8) * 64};
		case Kind::model_live:
			return {slot(nr_models, [this](unsigned n) { return known.made[n]; }), !one_in(3)};
		case Kind::cpu:
			return {below(2)};
		case Kind::module:
			return {below(2)};
		case Kind::exec:
		case Kind::leave:
			break;
		}
		return {};
	}

	/* --- what takes several operations to get to --- */

	std::vector<std::uint64_t> tracing(std::uint64_t event, std::uint64_t who, std::uint64_t cpu, bool inherit)
	{
		auto a = open_arguments();

		a[arg::event] = event;
		a[arg::type] = aux_type();
		a[arg::config] = synth_config();
		a[arg::config1] = below(100);
		a[arg::config2] = a[arg::leader] = a[arg::output] = a[arg::spoil] = a[arg::action] = a[arg::period] = 0;
		a[arg::aux_sample] = 0;
		a[arg::sample] = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
		a[arg::who] = who;
		a[arg::cpu] = cpu;
		a[arg::flags] = bit(flag::sample_id_all) | bit(flag::disabled) | (inherit ? bit(flag::inherit) : 0) |
				(program.paranoid > 1 ? bit(flag::exclude_kernel) : 0);
		return a;
	}
	void trace_something(std::uint64_t event, std::uint64_t cpu)
	{
		if (program.root && one_in(2))
			add(Kind::emit, {aux_type(), cpu ? cpu - 1 : 0, 64 * (1 + below(512))});
		else
			add(Kind::work, {below(5), 1 + below(200)});
		if (one_in(2))
			add(Kind::disable, {event, 0});
	}

	/* An event with its rings, that traces. */
	void scene_trace()
	{
		const auto event = below(nr_events), mapping = below(nr_mappings);
		const bool inherit = one_in(4), everybody = sees_all();
		const auto cpu = inherit || everybody ? 1 + below(2) : below(3);

		add(Kind::open, tracing(event, everybody ? 2 : 0, cpu, inherit && !everybody));
		add(Kind::map_data, {mapping, event, bit(static_cast<unsigned>(below(5))), one_in(4)});
		add(Kind::map_aux, {mapping, event, bit(static_cast<unsigned>(below(7))), one_in(3)});
		if (cpu && one_in(2))
			add(Kind::pin, {cpu});
		add(Kind::enable, {event, 0});
		if (inherit && one_in(2))
			add(Kind::start, {gone(), one_in(2)});
		trace_something(event, cpu);
	}

	/* A leader that traces, and a member that takes samples of the trace, or pauses and resumes it. */
	void scene_samples()
	{
		const auto leader = below(nr_events), member = (leader + 1 + below(nr_events - 1)) % nr_events;
		const auto mapping = below(nr_mappings);
		const bool pauses = one_in(3);
		auto a = tracing(leader, 0, 1, false);

		if (pauses && one_in(2))
			a[arg::action] = 1;
		add(Kind::open, a);
		add(Kind::map_data, {mapping, leader, 16, 0});
		add(Kind::map_aux, {mapping, leader, bit(static_cast<unsigned>(below(6))), one_in(3)});
		a[arg::event] = member;
		/* nobody may not look at a tracepoint */
		a[arg::type] = static_cast<std::uint64_t>(program.root && one_in(2) ? Type::syscall
							  : one_in(2)               ? Type::clock
										    : Type::faults);
		a[arg::config] = a[arg::config1] = a[arg::watermark] = a[arg::action] = 0;
		a[arg::period] = a[arg::type] == static_cast<std::uint64_t>(Type::clock) ? 200'000 : 1 + below(4);
		a[arg::sample] = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | (pauses ? 0 : PERF_SAMPLE_AUX);
		a[arg::aux_sample] = pauses ? 0 : 8 * (1 + below(1024));
		a[arg::action] = pauses ? 2ull << below(2) : 0;
		a[arg::leader] = 1 + leader;
		a[arg::flags] &= ~bit(flag::disabled);
		add(Kind::open, a);
		add(Kind::set_output, {member, 1 + leader});
		add(Kind::pin, {1});
		add(Kind::enable, {leader, 1});
		add(Kind::work, {1 + below(2), 20 + below(200)});
		trace_something(leader, 1);
	}

	/* Events that write to the ring of another, each to the next one's. */
	void scene_chain()
	{
		const auto first = below(nr_events);
		const auto mapping = below(nr_mappings);
		const auto count = 2 + below(3);
		const auto cpu = 1 + below(2);
		/* A PMU has either sort at a time. */
		const bool everybody = sees_all();

		for (unsigned n = 0; n < count; n++) {
			auto a = tracing((first + n) % nr_events, everybody ? 2 : 0, cpu, false);

			if (n && one_in(3)) {
				a[arg::type] = static_cast<std::uint64_t>(Type::dummy);
				a[arg::config] = a[arg::config1] = a[arg::watermark] = 0;
			}
			add(Kind::open, a);
			if (!n) {
				add(Kind::map_data, {mapping, first, 8, one_in(4)});
				add(Kind::map_aux, {mapping, first, bit(static_cast<unsigned>(below(6))), one_in(3)});
			} else {
				add(Kind::set_output, {(first + n) % nr_events, 1 + (first + n - 1) % nr_events});
			}
			add(Kind::enable, {(first + n) % nr_events, 0});
		}
		trace_something(first, cpu);
	}

	/* A unit that is made, used, and gone. */
	void scene_model()
	{
		const auto model = below(nr_models);

		add(Kind::model_make, {model});
		/* A sink that CPUs share takes more than luck: output copy, records of one size. */
		if (one_in(3)) {
			add(Kind::model_set, {model, 0, 3 * 64});
			add(Kind::model_set, {model, 1, 128});
			add(Kind::model_set, {model, 19, 64});
		}
		for (auto left = below(4); left; left--)
			add(Kind::model_set, arguments(Kind::model_set));
		add(Kind::model_live, {model, 1});
		scene_trace();
		if (one_in(2))
			add(Kind::revoke, {model});
	}

	/* An event lives as long as it is open or mapped, and keeps others from its PMU. */
	void clear()
	{
		for (std::uint64_t n = 0; n < nr_mappings; n++)
			if (known.mappings[n].data) {
				add(Kind::unmap, {n, one_in(2)});
				add(Kind::unmap, {n, 1});
				add(Kind::unmap, {n, 0});
			}
		for (std::uint64_t n = 0; n < nr_events; n++)
			if (known.events[n].is_aux())
				add(Kind::close, {n});
	}

	void scene()
	{
		if (!one_in(3))
			clear();
		switch (below(program.root ? 8 : 7)) {
		case 0:
		case 1:
		case 2:
			scene_trace();
			break;
		case 3:
		case 4:
			scene_samples();
			break;
		case 5:
		case 6:
			scene_chain();
			break;
		default:
			scene_model();
		}
	}

	Program program;
	std::uint64_t state;
	bool of_cpus = false;
	Forecast known;
};

} // namespace

Program generate(std::uint64_t seed, std::size_t count)
{
	return Generator(seed).make(count);
}

} // namespace auxpmu::fuzz
