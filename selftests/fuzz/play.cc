// SPDX-License-Identifier: GPL-2.0-only
#include "play.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <format>
#include <string>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../uapi/linux/auxpmu.h"
#include "actors.h"
#include "events.h"
#include "kit/handle.h"
#include "kit/pmu.h"
#include "mappings.h"
#include "signals.h"
#include "work.h"

namespace auxpmu::fuzz
{

namespace
{

int write_to(const std::string &file, const std::string &text)
{
	return write_small_file(file, text).error().code;
}

/* Another user, who can do all that root can, and who can have others execute what does, or one who can do nothing. */
bool become(uid_t user, bool mighty)
{
	__user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
	__user_cap_data_struct all[2]{};

	if (::setgroups(0, nullptr) || ::prctl(PR_SET_KEEPCAPS, mighty) || ::setresgid(user, user, user) ||
		::setresuid(user, user, user))
		return false;
	if (!mighty)
		return true;
	if (::syscall(SYS_capget, &header, all))
		return false;
	for (auto &half : all)
		half.effective = half.inheritable = half.permitted;
	if (::syscall(SYS_capset, &header, all))
		return false;
	for (int capability = 0; capability <= CAP_LAST_CAP; capability++)
		(void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0);
	return true;
}

class Player
{
public:
	Player(const Program &from, const Machine &on, Tally &in, bool loud)
		: program(from), machine(on), tally(in), echo(loud)
	{
	}

	[[noreturn]] void run()
	{
		tally.threads[0] = ::gettid();
		for (std::uint32_t n = 0; n < program.operations.size(); n++) {
			tally.begun = n;
			if (echo) {
				std::printf("# %u: %s\n", n, to_text(program.operations[n]).c_str());
				std::fflush(stdout);
			}
			actors.begin(n);
		}
		actors.finish();
		/* Whoever is left ends with this one. */
		::_exit(0);
	}

private:
	void perform(const Operation &operation, unsigned self)
	{
		auto &counts = tally.of(operation.kind);
		const int outcome = act(operation, self);

		if (outcome == avoided) {
			counts.avoided++;
			return;
		}
		counts.tried++;
		if (!outcome)
			counts.done++;
		else
			counts.errors[static_cast<unsigned>(outcome) % nr_errors]++;
	}

	/* Each kind by whoever knows what it is about. */
	int act(const Operation &operation, unsigned self)
	{
		switch (operation.kind) {
		case Kind::open:
		case Kind::close:
		case Kind::dup:
		case Kind::read:
		case Kind::poll:
		case Kind::enable:
		case Kind::disable:
		case Kind::reset:
		case Kind::refresh:
		case Kind::period:
		case Kind::set_output:
		case Kind::pause_output:
		case Kind::filter:
		case Kind::modify:
		case Kind::id:
		case Kind::notify:
			return events.act(operation);
		case Kind::map_data:
		case Kind::map_aux:
		case Kind::unmap:
		case Kind::unmap_part:
		case Kind::move:
		case Kind::protect:
		case Kind::advise:
		case Kind::poke:
		case Kind::drain:
			return mappings.act(operation);
		case Kind::start:
		case Kind::kill:
		case Kind::exec:
		case Kind::leave:
		case Kind::unshare:
		case Kind::work:
		case Kind::pin:
			return act_on_self(operation, self);
		default:
			return act_on_machine(operation);
		}
	}

	/* Of actors, and of the one that does it. */
	int act_on_self(const Operation &operation, unsigned self)
	{
		const auto &a = operation.arguments;

		switch (operation.kind) {
		case Kind::start:
			return actors.start(static_cast<unsigned>(a[0] % nr_actors), a[1]);
		case Kind::kill:
			return actors.stop(static_cast<unsigned>(a[0] % nr_actors));
		case Kind::exec:
			return execute(self);
		case Kind::unshare: {
			constexpr int what[] = {
				CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWPID, CLONE_NEWUSER, CLONE_NEWCGROUP};

			/* The first one has children to make, and threads share with it. */
			return self == 0 || Actors::is_thread() ? avoided
								: result_of(::unshare(what[a[0] % std::size(what)]));
		}
		case Kind::work:
			work(a[0], std::min<std::uint64_t>(a[1], 1000));
			return 0;
		case Kind::pin: {
			cpu_set_t set;

			CPU_ZERO(&set);
			for (int cpu = 0; cpu < 8; cpu++)
				if (a[0] >> cpu & 1)
					CPU_SET(cpu, &set);
			return result_of(::sched_setaffinity(0, sizeof(set), &set));
		}
		default:
			return EINVAL;
		}
	}

	int act_on_machine(const Operation &operation)
	{
		const auto &a = operation.arguments;

		switch (operation.kind) {
		case Kind::emit:
			return write_to(debugfs(a[0]) + "/emit",
				std::format("{} {}", a[1], std::min<std::uint64_t>(a[2], 1 << 20)));
		case Kind::nmi:
			return nmi(a);
		case Kind::fault: {
			const auto &words = grammar(Kind::fault).arguments[1].words;

			return write_to(std::format("{}/faults/{}", debugfs(a[0]), words[a[1] % words.size()]),
				std::to_string(a[2]));
		}
		case Kind::group_make:
			return result_of(::mkdir(Machine::group_folder(a[0] % nr_groups).c_str(), 0755));
		case Kind::group_enter:
			return write_to(Machine::group_folder(a[0] % nr_groups) + "/cgroup.procs", "0");
		case Kind::group_remove:
			return result_of(::rmdir(Machine::group_folder(a[0] % nr_groups).c_str()));
		case Kind::model_make:
			return machine.control()
				       ? ENODEV
				       : result_of(::mkdir(Machine::model_folder(a[0] % nr_models).c_str(), 0755));
		case Kind::model_set:
			return model_set(a);
		case Kind::model_live:
			return write_to(Machine::model_folder(a[0] % nr_models) + "/live", a[1] ? "1" : "0");
		case Kind::model_remove:
			return result_of(::rmdir(Machine::model_folder(a[0] % nr_models).c_str()));
		case Kind::revoke:
			return revoke(static_cast<unsigned>(a[0] % nr_models));
		case Kind::cpu:
			return write_to("/sys/devices/system/cpu/cpu1/online", a[0] ? "1" : "0");
		case Kind::module:
			if (machine.control() || machine.hardware())
				return avoided;
			return a[0] ? load_module() : unload_module();
		default:
			return EINVAL;
		}
	}

	std::string debugfs(std::uint64_t type) const
	{
		return std::string(AUXPMU_DEBUGFS "/") + machine.name_of(static_cast<Type>(type));
	}

	int revoke(unsigned nr)
	{
		const auto model = static_cast<Type>(1 + nr);

		/* The members that it leaves can be enabled again (docs/compatibility.md). */
		if (tally.any_needed(machine.type_of(model)))
			return avoided;
		const int error = write_to(debugfs(static_cast<unsigned>(model)) + "/faults/unregister", "1");

		return error ? error : write_to(Machine::model_folder(nr) + "/live", "0");
	}

	/* Comes back only if it fails. */
	int execute(unsigned self)
	{
		const char *const words[] = {"auxpmu_fuzz", "--executed", nullptr};

		/* A thread would take its process, which is the first actor's, with it. */
		if (self == 0 || Actors::is_thread())
			return avoided;
		tally.of(Kind::exec).tried++;
		::execv("/proc/self/exe", const_cast<char **>(words));
		tally.of(Kind::exec).tried--;
		return errno;
	}

	int nmi(const std::vector<std::uint64_t> &a)
	{
		const auto &words = grammar(Kind::nmi).arguments[2].words;
		const std::string file = debugfs(0) + "/nmi";
		const std::uint64_t at = a[2] % words.size();

		if (at + 1 == words.size()) {
			nmis = UniqueFd();
			return write_to(file, std::format("{} {}", a[0], std::min<std::uint64_t>(a[1], 16)));
		}
		/* As long as it is open. */
		nmis = UniqueFd();
		nmis = UniqueFd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
		const std::string text = std::string("at ") + words[at];
		return result_of(!nmis ? -1 : ::write(nmis.get(), text.data(), text.size()));
	}

	int model_set(const std::vector<std::uint64_t> &a) const
	{
		constexpr const char *outputs[] = {"any", "scatter", "window", "copy", "virtual", "none"};
		constexpr const char *cpus[] = {"0", "1", "0-1", "\n", "two"};
		const auto &words = grammar(Kind::model_set).arguments[1].words;
		const std::string name = words[a[1] % words.size()];
		std::string value = std::to_string(a[2]);

		if (name == "output")
			value = outputs[a[2] / 64 % std::size(outputs)];
		if (name == "format")
			value = std::to_string(a[2] / 64 % 300);
		if (name == "cpus")
			value = cpus[a[2] / 64 % std::size(cpus)];
		if (name == "overwrite" || name == "no_nmi" || name == "shared" || name == "polled" ||
			name == "continuous")
			value = std::to_string(a[2] / 64 % 2);
		if (name == "name")
			value = std::format("fuzz{}", a[2] / 64 % 3);
		return write_to(std::format("{}/{}", Machine::model_folder(a[0] % nr_models), name), value);
	}

	const Program &program;
	const Machine &machine;
	Tally &tally;
	const bool echo;
	Events events{program, machine, tally};
	Mappings mappings{events, machine, tally};
	Actors actors{program, tally, [this](const Operation &operation, unsigned self) {
			      perform(operation, self);
		      }};
	UniqueFd nmis;
};

} // namespace

void play(const Program &program, const Machine &machine, Tally &tally, uid_t user, bool echo)
{
	catch_signals();
	if (!become(user, program.root))
		::_exit(2);
	::prctl(PR_SET_DUMPABLE, 1);
	::prctl(PR_SET_PDEATHSIG, SIGKILL);
	static Player player(program, machine, tally, echo);
	player.run();
}

int play_executed()
{
	work(1, 100);
	work(2, 40);
	work(3, 20);
	return 0;
}

} // namespace auxpmu::fuzz
