// SPDX-License-Identifier: GPL-2.0-only
#include "play.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <format>
#include <mutex>
#include <string>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../uapi/linux/auxpmu.h"
#include "../lib/event.h"
#include "../lib/handle.h"
#include "../lib/pmu.h"

namespace auxpmu::fuzz
{

namespace
{

/* What an actor answers last. */
constexpr std::uint32_t gone_away = ~0u;
/* What an operation comes to besides an errno. */
constexpr int avoided = -1;

constexpr std::size_t most_attr_bytes = 160;

/* Each mapping has a place of its own, far from where the kernel puts what it chooses a place for: nobody moves into holes. */
constexpr std::uintptr_t first_place = 0x100000000000;
constexpr std::size_t place_bytes = 64 << 20;
constexpr std::size_t aux_place = place_bytes / 2;

std::byte *place(std::uint64_t mapping, bool aux)
{
	return reinterpret_cast<std::byte *>(first_place + mapping * place_bytes + (aux ? aux_place : 0));
}

/* --- memory that may not be there --- */

thread_local sigjmp_buf *way_out = nullptr;

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

int result_of(long outcome)
{
	return outcome < 0 ? errno : 0;
}

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

std::uint64_t watched = 0; /* what a breakpoint is on */

/* --- work of a program's own --- */

void work(std::uint64_t what, std::uint64_t amount)
{
	volatile std::uint64_t sum = 0;

	switch (what) {
	case 0:
		for (std::uint64_t n = 0; n < amount * 500; n++)
			sum = sum + n;
		break;
	case 1:
		for (std::uint64_t n = 0; n < amount; n++)
			::syscall(SYS_getppid);
		break;
	case 2: {
		const std::size_t bytes = (1 + amount / 4) * page_size();
		void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory != MAP_FAILED) {
			std::memset(memory, 1, bytes);
			::munmap(memory, bytes);
		}
		break;
	}
	case 3:
		for (std::uint64_t n = 0; n < amount; n++)
			::sched_yield();
		break;
	default:
		for (std::uint64_t n = 0; n < 1 + amount / 64; n++) {
			const pid_t child = ::fork();

			if (!child) {
				::syscall(SYS_getppid);
				::_exit(0);
			}
			if (child > 0)
				::waitpid(child, nullptr, 0);
		}
	}
	watched = sum;
}

/* --- the player --- */

class Player
{
public:
	Player(const Program &from, const Machine &on, Tally &in, bool loud)
		: program(from), machine(on), tally(in), echo(loud)
	{
		for (auto &event : events)
			event = -1;
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
			begin(n);
		}
		for (unsigned n = 1; n < nr_actors; n++)
			while (actors[n].alive && actors[n].sent != actors[n].done)
				receive(n);
		/* Whoever is left ends with this one. */
		::_exit(0);
	}

private:
	struct Actor {
		bool alive = false;
		pid_t process = 0; /* 0: a thread */
		UniqueFd socket;
		unsigned sent = 0, done = 0;
	};
	struct Slice { /* of a thread */
		Player *player;
		unsigned actor;
		int socket;
	};

	/* --- who does it --- */

	void begin(std::uint32_t n)
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

	void receive(unsigned n)
	{
		Actor &actor = actors[n];
		std::uint32_t answer;
		const auto got = ::recv(actor.socket.get(), &answer, sizeof(answer), 0);

		if (got == sizeof(answer) && answer != gone_away)
			actor.done++;
		else if (got >= 0 || errno != EINTR)
			gone(actor, n);
	}

	void gone(Actor &actor, unsigned n)
	{
		actor.alive = false;
		::shutdown(actor.socket.get(), SHUT_RDWR);
		actor.socket.reset();
		tally.threads[n] = 0;
	}

	/* An actor: does what it is told until it is told no more. */
	void serve(unsigned self, int socket)
	{
		std::uint32_t n;

		if (is_thread)
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

	static void *thread_main(void *argument)
	{
		const Slice slice = *static_cast<Slice *>(argument);

		delete static_cast<Slice *>(argument);
		is_thread = true;
		slice.player->serve(slice.actor, slice.socket);
		return nullptr;
	}

	int start(unsigned n, std::uint64_t as)
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
			pthread_t thread;
			const int error = ::pthread_create(&thread, nullptr, thread_main, new Slice{this, n, ends[1]});

			if (error) {
				::close(ends[1]);
				return error;
			}
			::pthread_detach(thread);
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

	int started(Actor &actor, unsigned n)
	{
		actor.alive = true;
		actor.sent = 1;
		while (actor.alive && !actor.done)
			receive(n);
		return actor.alive ? 0 : ESRCH;
	}

	[[noreturn]] void be_process(unsigned self, std::uint64_t as, int socket)
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

	int stop(unsigned n)
	{
		Actor &actor = actors[n];

		if (!actor.alive)
			return ESRCH;
		const int outcome = actor.process ? result_of(::kill(actor.process, SIGKILL)) : 0;
		reap(actor);
		gone(actor, n); /* a thread sees that nobody is there */
		return outcome;
	}

	void reap(Actor &actor)
	{
		if (actor.process) {
			::kill(actor.process, SIGKILL);
			::waitpid(actor.process, nullptr, 0);
			actor.process = 0;
		}
	}

	/* --- what is done --- */

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

	int event(std::uint64_t n) const { return events[n % nr_events]; }

	int control(std::uint64_t n, unsigned long request, std::uint64_t argument) const
	{
		return result_of(::ioctl(event(n), request, argument));
	}

	int act(const Operation &operation, unsigned self)
	{
		const auto &a = operation.arguments;
		const std::uint64_t mapping = a.empty() ? 0 : a[0] % nr_mappings;

		switch (operation.kind) {
		case Kind::open:
			return open(operation);
		case Kind::close: {
			if (needed(event(a[0])))
				return avoided;
			const int fd = events[a[0] % nr_events].exchange(-1);

			return fd < 0 ? EBADF : result_of(::close(fd));
		}
		case Kind::dup:
			return put(a[1] % nr_events, ::fcntl(event(a[0]), F_DUPFD_CLOEXEC, 3));
		case Kind::map_data:
			return map_data(mapping, a[1], a[2], a[3]);
		case Kind::map_aux:
			return map_aux(mapping, a[1], a[2], a[3]);
		case Kind::unmap: {
			const bool aux = a[1];

			if (!sizes[aux][mapping].exchange(0))
				return ENOENT;
			return result_of(::munmap(place(mapping, aux), aux_place));
		}
		case Kind::unmap_part:
			return result_of(
				::munmap(place(mapping, a[1]) + std::min<std::uint64_t>(a[2], 64) * page_size(),
					std::clamp<std::uint64_t>(a[3], 1, 64) * page_size()));
		case Kind::move:
			return move(mapping, a[1] % nr_mappings, a[2], a[3]);
		case Kind::protect:
			return with_size(mapping, a[1], [&](std::byte *at, std::size_t bytes) {
				return result_of(::mprotect(at, bytes, static_cast<int>(a[2] & 7)));
			});
		case Kind::advise: {
			constexpr int advices[] = {MADV_DOFORK, MADV_DONTFORK, MADV_DODUMP, MADV_FREE, MADV_WILLNEED};

			return with_size(mapping, a[1], [&](std::byte *at, std::size_t bytes) {
				return result_of(::madvise(at, bytes, advices[a[2] % std::size(advices)]));
			});
		}
		case Kind::poke:
			return poke(mapping, a[1], a[2]);
		case Kind::drain:
			return drain(mapping);
		case Kind::read: {
			std::uint64_t values[512];

			return result_of(::read(event(a[0]), values, std::min<std::uint64_t>(a[1], sizeof(values))));
		}
		case Kind::poll: {
			pollfd one = {event(a[0]), POLLIN, 0};

			return one.fd < 0 ? EBADF : result_of(::poll(&one, 1, 0));
		}
		case Kind::enable:
			return control(a[0], PERF_EVENT_IOC_ENABLE, a[1]);
		case Kind::disable:
			return control(a[0], PERF_EVENT_IOC_DISABLE, a[1]);
		case Kind::reset:
			return control(a[0], PERF_EVENT_IOC_RESET, a[1]);
		case Kind::refresh:
			return control(a[0], PERF_EVENT_IOC_REFRESH, a[1]);
		case Kind::period:
			return control(a[0], PERF_EVENT_IOC_PERIOD, reinterpret_cast<std::uint64_t>(&a[1]));
		case Kind::set_output:
			return set_output(a[0], a[1]);
		case Kind::pause_output:
			return control(a[0], PERF_EVENT_IOC_PAUSE_OUTPUT, a[1]);
		case Kind::filter:
			return set_filter(a[0], a[1], a[2]);
		case Kind::modify:
			return modify(a[0], a[1], a[2]);
		case Kind::id: {
			std::uint64_t id;

			return control(a[0], PERF_EVENT_IOC_ID, reinterpret_cast<std::uint64_t>(&id));
		}
		case Kind::notify:
			return notify(a);
		case Kind::start:
			return start(static_cast<unsigned>(a[0] % nr_actors), a[1]);
		case Kind::kill:
			return stop(static_cast<unsigned>(a[0] % nr_actors));
		case Kind::exec:
			return execute(self);
		case Kind::unshare: {
			constexpr int what[] = {
				CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWPID, CLONE_NEWUSER, CLONE_NEWCGROUP};

			/* The first one has children to make, and threads share with it. */
			return self == 0 || is_thread ? avoided : result_of(::unshare(what[a[0] % std::size(what)]));
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
		case Kind::revoke: {
			const auto model = static_cast<Type>(1 + a[0] % nr_models);

			/* The members that it leaves can be enabled again (docs/compatibility.md). */
			if (tally.any_needed(machine.type_of(model)))
				return avoided;
			const int error = write_to(debugfs(static_cast<unsigned>(model)) + "/faults/unregister", "1");

			return error ? error : write_to(Machine::model_folder(a[0] % nr_models) + "/live", "0");
		}
		case Kind::cpu:
			return write_to("/sys/devices/system/cpu/cpu1/online", a[0] ? "1" : "0");
		case Kind::module:
			if (machine.control() || machine.hardware())
				return avoided;
			return a[0] ? load_module() : unload_module();
		case Kind::leave:
			break;
		}
		return EINVAL;
	}

	std::string debugfs(std::uint64_t type) const
	{
		return std::string(AUXPMU_DEBUGFS "/") + machine.name_of(static_cast<Type>(type));
	}

	/* Whoever pauses, resumes or samples an event that is closed may have the kernel warn (docs/compatibility.md). */
	bool needed(int fd)
	{
		const KnownEvent *known = fd < 0 ? nullptr : tally.find(id_of(fd));

		return known && known->needed;
	}

	/* Takes the place of what was in the slot. */
	int put(std::uint64_t slot, int fd)
	{
		if (fd < 0)
			return errno;
		if (needed(events[slot])) {
			::close(fd);
			return avoided;
		}
		const int old = events[slot].exchange(fd);
		if (old >= 0)
			::close(old);
		return 0;
	}

	static std::uint64_t id_of(int fd)
	{
		std::uint64_t id = 0;

		return ::ioctl(fd, PERF_EVENT_IOC_ID, &id) ? 0 : id;
	}

	perf_event_attr attr_of(const Operation &a) const
	{
		constexpr std::uint64_t software[] = {PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK,
			PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_DUMMY};
		Type type =
			static_cast<Type>(std::min<std::uint64_t>(a[arg::type], static_cast<unsigned>(Type::other)));
		perf_event_attr attr{};

		attr.size = sizeof(attr);
		attr.config = a[arg::config];
		attr.config1 = a[arg::config1];
		attr.config2 = a[arg::config2];
		const bool hardware = machine.hardware() && type == Type::synth;
		if (machine.control() && is_aux(a[arg::type]) && !hardware)
			type = Type::clock;
		attr.type = machine.type_of(type);
		if (type >= Type::clock && type <= Type::dummy) {
			attr.config = software[static_cast<unsigned>(type) - static_cast<unsigned>(Type::clock)];
			attr.config1 = attr.config2 = 0;
		} else if (hardware) {
			attr.config = machine.config_of(attr.config);
			attr.config1 = attr.config2 = 0;
		} else if (type == Type::syscall) {
			attr.config = machine.syscall_id();
		} else if (type == Type::cycles) {
			attr.config = PERF_COUNT_HW_CPU_CYCLES;
		} else if (type == Type::breakpoint) {
			attr.config = 0;
			attr.bp_type = HW_BREAKPOINT_W;
			attr.bp_addr = reinterpret_cast<std::uint64_t>(&watched);
			attr.bp_len = HW_BREAKPOINT_LEN_8;
		}
		attr.sample_period = a[arg::period];
		attr.sample_type = a[arg::sample];
		attr.read_format = a[arg::read_format];
		std::memcpy(reinterpret_cast<std::byte *>(&attr) + offsetof(perf_event_attr, read_format) +
				    sizeof(attr.read_format),
			&a.arguments[arg::flags], sizeof(std::uint64_t));
		attr.wakeup_events = static_cast<std::uint32_t>(a[arg::wakeup]);
		attr.aux_watermark = static_cast<std::uint32_t>(a[arg::watermark]);
		attr.aux_sample_size = static_cast<std::uint32_t>(a[arg::aux_sample]);
		attr.branch_sample_type = a[arg::branches];
		if (a[arg::action])
			set_aux_action(attr, static_cast<AuxAction>(a[arg::action]));
		return attr;
	}

	int open(const Operation &a)
	{
		std::byte raw[most_attr_bytes] = {};
		const perf_event_attr attr = attr_of(a);
		const bool group = a[arg::who] == 3;
		const bool leads = a[arg::leader], redirects = a[arg::output];
		unsigned long flags = a[arg::open_flags] & (PERF_FLAG_FD_CLOEXEC | PERF_FLAG_FD_NO_GROUP);
		UniqueFd folder;
		pid_t pid = 0;
		constexpr int cpus[] = {-1, 0, 1, 100};

		if (attr.type == ~0u)
			return ENODEV;
		std::memcpy(raw, &attr, sizeof(attr));
		if (const auto at = a[arg::spoil] >> 8; at && at <= sizeof(raw))
			raw[at - 1] = static_cast<std::byte>(a[arg::spoil]);
		/* The kernel's own driver warns of samples of an area that is written once (docs/compatibility.md). */
		if (machine.control() && machine.hardware() && attr.aux_sample_size)
			return avoided;
		switch (a[arg::who]) {
		case 1:
			pid = tally.threads[a[arg::whom] % nr_actors];
			if (!pid)
				return ESRCH;
			break;
		case 2:
			pid = -1;
			break;
		case 3:
			folder = UniqueFd(::open(Machine::group_folder(a[arg::whom] % nr_groups).c_str(),
				O_RDONLY | O_DIRECTORY | O_CLOEXEC));
			pid = folder.get();
			flags |= PERF_FLAG_PID_CGROUP;
		}
		if (redirects)
			flags |= PERF_FLAG_FD_OUTPUT | (leads ? 0 : PERF_FLAG_FD_NO_GROUP);
		const int other = leads ? event(a[arg::leader] - 1) : redirects ? event(a[arg::output] - 1) : -1;
		std::unique_lock<Tally> guard(tally, std::defer_lock);
		if (redirects && machine.miscounts_redirected())
			guard.lock();
		if (group && !folder)
			return ENOENT;
		const long fd =
			::syscall(SYS_perf_event_open, raw, pid, cpus[a[arg::cpu] % std::size(cpus)], other, flags);
		if (fd < 0)
			return errno;
		perf_event_attr asked;
		std::memcpy(&asked, raw, sizeof(asked));
		tally.remember(id_of(static_cast<int>(fd)), asked, redirects);
		if (KnownEvent *leader = leads && raw_needs_leader(raw) ? tally.find(id_of(other)) : nullptr)
			leader->needed = true;
		return put(a[arg::event] % nr_events, static_cast<int>(fd));
	}

	/* aux_sample_size, and aux_action behind it, which older headers have no name for. */
	static bool raw_needs_leader(const std::byte *raw)
	{
		std::uint32_t size_action[2];

		std::memcpy(size_action, raw + offsetof(perf_event_attr, aux_sample_size), sizeof(size_action));
		return size_action[0] || (size_action[1] & ~1u);
	}

	int map_data(std::uint64_t mapping, std::uint64_t from, std::uint64_t pages, std::uint64_t ring)
	{
		const std::size_t bytes = (1 + std::min<std::uint64_t>(pages, 1024)) * page_size();
		const int access = PROT_READ | (ring ? 0 : PROT_WRITE);

		if (::mmap(place(mapping, false), bytes, access, MAP_SHARED | MAP_FIXED, event(from), 0) == MAP_FAILED)
			return errno;
		sizes[0][mapping] = bytes;
		note_mapping(event(from), false);
		return 0;
	}

	/* Of one that writes into another's ring, or is not known, the ring may be mapped already. */
	void note_mapping(int fd, bool aux)
	{
		KnownEvent *known = tally.find(id_of(fd));

		if (!known || known->redirected || known->mapped[aux].exchange(true))
			tally.paid_twice = true;
	}

	/* The place of the area is told in the user page, which of a ring that is not writable has to become so. */
	int place_aux(std::uint64_t mapping, std::size_t bytes)
	{
		const auto say = [&] {
			auto *page = reinterpret_cast<perf_event_mmap_page *>(place(mapping, false));

			return touching([&] {
				page->aux_offset = sizes[0][mapping];
				page->aux_size = bytes;
			});
		};
		if (!say())
			return 0;
		const std::size_t length = sizes[0][mapping];
		if (!length || ::mprotect(place(mapping, false), length, PROT_READ | PROT_WRITE))
			return EFAULT;
		const int error = say();
		::mprotect(place(mapping, false), length, PROT_READ);
		return error;
	}

	int map_aux(std::uint64_t mapping, std::uint64_t from, std::uint64_t pages, std::uint64_t ring)
	{
		const std::size_t bytes = std::min<std::uint64_t>(pages, 1024) * page_size();
		const int fd = event(from), access = PROT_READ | (ring ? 0 : PROT_WRITE);
		std::unique_lock<Tally> guard(tally, std::defer_lock);

		if (fd < 0)
			return EBADF;
		if (machine.miscounts_redirected()) {
			guard.lock();
			const KnownEvent *known = tally.find(id_of(fd));
			/* One that is not known may be anything. */
			if (!known || known->redirected)
				return avoided;
		}
		if (const int error = place_aux(mapping, bytes))
			return error;
		if (::mmap(place(mapping, true), bytes, access, MAP_SHARED | MAP_FIXED, fd,
			    static_cast<off_t>(sizes[0][mapping].load())) == MAP_FAILED)
			return errno;
		sizes[1][mapping] = bytes;
		note_mapping(fd, true);
		return 0;
	}

	template <class Body>
	int with_size(std::uint64_t mapping, bool aux, Body &&body)
	{
		const std::size_t bytes = sizes[aux][mapping];

		return bytes ? body(place(mapping, aux), bytes) : ENOENT;
	}

	int move(std::uint64_t mapping, std::uint64_t to, bool aux, std::uint64_t pages)
	{
		return with_size(mapping, aux, [&](std::byte *at, std::size_t bytes) {
			const std::size_t wanted =
				pages % 2 ? bytes : std::clamp<std::uint64_t>(pages, 1, 1024) * page_size();

			if (::mremap(at, bytes, wanted, MREMAP_MAYMOVE | MREMAP_FIXED, place(to, aux)) == MAP_FAILED)
				return errno;
			sizes[aux][mapping] = 0;
			sizes[aux][to] = wanted;
			return 0;
		});
	}

	int poke(std::uint64_t mapping, std::uint64_t member, std::uint64_t value)
	{
		return with_size(mapping, false, [&](std::byte *at, std::size_t) {
			auto *page = reinterpret_cast<perf_event_mmap_page *>(at);

			return touching([&] {
				switch (member % 7) {
				case 0:
					page->data_tail = value;
					break;
				case 1:
					page->aux_head = value;
					break;
				case 2:
					page->aux_tail = value;
					break;
				case 3:
					page->aux_offset = value;
					break;
				case 4:
					page->aux_size = value;
					break;
				case 5:
					page->data_head = value;
					break;
				default:
					page->lock = static_cast<std::uint32_t>(value);
				}
			});
		});
	}

	/* Gives all room back, as a consumer does. */
	int drain(std::uint64_t mapping)
	{
		return with_size(mapping, false, [&](std::byte *at, std::size_t) {
			auto *page = reinterpret_cast<perf_event_mmap_page *>(at);

			return touching([&] {
				__atomic_store_n(&page->data_tail, __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE),
					__ATOMIC_RELEASE);
				__atomic_store_n(&page->aux_tail, __atomic_load_n(&page->aux_head, __ATOMIC_ACQUIRE),
					__ATOMIC_RELEASE);
			});
		});
	}

	int set_output(std::uint64_t from, std::uint64_t to)
	{
		const int fd = event(from), target = to ? event(to - 1) : -1;
		const std::lock_guard<Tally> guard(tally);
		KnownEvent *known = fd < 0 ? nullptr : tally.find(id_of(fd));

		/* Children of it write to a ring whose end the core does not tell them of (docs/compatibility.md). */
		if (known && known->attr.inherit)
			return avoided;
		if (fd >= 0 && !known)
			return avoided;
		const int error = result_of(::ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, target));
		if (!error)
			known->redirected = target >= 0;
		return error;
	}

	int set_filter(std::uint64_t from, std::uint64_t filter, std::uint64_t size)
	{
		/* By its name: a link of /proc takes locks that the core holds (docs/compatibility.md). */
		static const std::string self = std::filesystem::read_symlink("/proc/self/exe");
		const std::string texts[] = {"", std::format("filter 0x0/{}@{}", size, self),
			std::format("filter 0x0/{0}@{1},filter 0x1000/{0}@{1}", size, self),
			std::format("stop 0x10@{0},start 0x1000@{0}", self),
			std::format("filter 0xffffffff81000000/{}", size),
			std::format("filter 0/{}@/usr/bin/env", size), "filter 0x/@,,"};

		return result_of(
			::ioctl(event(from), PERF_EVENT_IOC_SET_FILTER, texts[filter % std::size(texts)].c_str()));
	}

	/* Breakpoints can be modified, in where they are and whether they are on; the rest has to be as it was. */
	int modify(std::uint64_t which, std::uint64_t member, std::uint64_t value)
	{
		const int fd = event(which);
		const KnownEvent *known = fd < 0 ? nullptr : tally.find(id_of(fd));
		perf_event_attr attr{};

		attr.size = sizeof(attr);
		attr.type = PERF_TYPE_BREAKPOINT;
		if (known && known->attr.type == PERF_TYPE_BREAKPOINT)
			attr = known->attr;
		attr.bp_type = HW_BREAKPOINT_W;
		attr.bp_addr = reinterpret_cast<std::uint64_t>(&watched) + (member == 1 ? 8 : 0);
		attr.bp_len = member == 2 ? HW_BREAKPOINT_LEN_4 : HW_BREAKPOINT_LEN_8;
		attr.disabled = member == 3;
		if (member == 4)
			attr.type = machine.type_of(Type::synth);
		if (member == 5)
			attr.config = value;
		return result_of(::ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr));
	}

	int notify(const std::vector<std::uint64_t> &a)
	{
		const int signals[] = {0, SIGUSR1, SIGRTMIN + 1};
		const int fd = event(a[0]);
		const pid_t whom = tally.threads[a[1] % nr_actors];

		if (fd < 0 || !whom)
			return EBADF;
		/* Who can revoke the event would have the core lose what this allocates (docs/compatibility.md). */
		if (a[3] && program.root && machine.loses_revoked())
			return avoided;
		if (::fcntl(fd, F_SETOWN, whom) || ::fcntl(fd, F_SETSIG, signals[a[2] % std::size(signals)]))
			return errno;
		const int flags = ::fcntl(fd, F_GETFL);
		return result_of(::fcntl(fd, F_SETFL, a[3] ? flags | O_ASYNC : flags & ~O_ASYNC));
	}

	/* Comes back only if it fails. */
	int execute(unsigned self)
	{
		const char *const words[] = {"auxpmu_fuzz", "--executed", nullptr};

		/* A thread would take its process, which is the first actor's, with it. */
		if (self == 0 || is_thread)
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
		constexpr const char *outputs[] = {"any", "scatter", "window", "copy", "none"};
		const auto &words = grammar(Kind::model_set).arguments[1].words;
		const std::string name = words[a[1] % words.size()];
		std::string value = std::to_string(a[2]);

		if (name == "output")
			value = outputs[a[2] / 64 % std::size(outputs)];
		if (name == "overwrite")
			value = std::to_string(a[2] / 64 % 2);
		if (name == "name")
			value = std::format("fuzz{}", a[2] / 64 % 3);
		return write_to(std::format("{}/{}", Machine::model_folder(a[0] % nr_models), name), value);
	}

	static thread_local bool is_thread;

	const Program &program;
	const Machine &machine;
	Tally &tally;
	const bool echo;
	std::array<Actor, nr_actors> actors;
	std::array<std::atomic<int>, nr_events> events;
	std::array<std::array<std::atomic<std::size_t>, nr_mappings>, 2> sizes{};
	UniqueFd nmis;
};

thread_local bool Player::is_thread = false;

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
