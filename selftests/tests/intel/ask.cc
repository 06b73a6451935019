// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a user may ask of PT and BTS: whatever can be put into an attr is asked of the PMU under test and of the kernel's own, which
 * has to give the same answer, to root and to nobody, and to write the same into the registers.  Where ours is to answer otherwise a
 * test says so, and why.  Run with --pmu auxpmu_pt or auxpmu_bts beside the kernel's own; everywhere else all of it is skipped.
 */
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <format>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "shared/fixture.h"
#include "shared/hardware.h"
#include "shared/knob.h"

using namespace auxpmu;
using namespace auxpmu::test;

namespace
{

constexpr std::uint64_t bit(unsigned n)
{
	return std::uint64_t{1} << n;
}

/* --- asking ---------------------------------------------------------------------------------- */

/* An attr of a PMU that is yet to be said, for whom, and how it reads in a failure. */
struct Ask {
	std::string what;
	perf_event_attr attr;
	Target target = Target::on_cpu(0);
};

perf_event_attr plain()
{
	perf_event_attr attr{};

	attr.size = sizeof(attr);
	attr.disabled = 1;
	return attr;
}

Ask ask_config(std::uint64_t config)
{
	Ask ask{std::format("config {:#x}", config), plain()};

	ask.attr.config = config;
	return ask;
}

/* 0 or an errno.  Not Event::open(), which on failure reads files for its sentence. */
int answer(const Pmu &whose, Ask ask)
{
	ask.attr.type = whose.type();
	long fd = ::syscall(SYS_perf_event_open, &ask.attr, ask.target.pid, ask.target.cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno;
	::close(static_cast<int>(fd));
	return 0;
}

using Errors = std::vector<int>;

Errors answers(const Pmu &whose, const std::vector<Ask> &asks)
{
	Errors errors;

	for (const Ask &ask : asks)
		errors.push_back(answer(whose, ask));
	return errors;
}

/* The same asked by nobody. */
Errors answers_to_nobody(const Pmu &whose, const std::vector<Ask> &asks)
{
	SharedNumbers errors(asks.size());

	REQUIRE(succeeded(spawn([&] {
		if (!become_nobody())
			return false;
		for (std::size_t n = 0; n < asks.size(); n++)
			errors[n] = static_cast<std::uint64_t>(answer(whose, asks[n]));
		return true;
	})));
	Errors copy;
	for (std::size_t n = 0; n < asks.size(); n++)
		copy.push_back(static_cast<int>(errors[n].load()));
	return copy;
}

std::string name_of(int code)
{
	return code ? ::strerrorname_np(code) : "accepted";
}

/* Is that how ours is meant to answer, although the kernel's own says "theirs"? */
using Meant = std::function<bool(const Ask &, int ours, int theirs)>;

bool nothing_meant(const Ask &, int, int)
{
	return false;
}

/* The first few asks that are answered otherwise, or "". */
std::string differences(const std::vector<Ask> &asks, const Errors &ours, const Errors &theirs, const Meant &meant)
{
	std::string all;
	unsigned count = 0;

	for (std::size_t n = 0; n < asks.size(); n++)
		if (ours[n] != theirs[n] && !meant(asks[n], ours[n], theirs[n]) && ++count <= 12)
			all += std::format("{}: {} by ours, {} by the kernel's own\n", asks[n].what, name_of(ours[n]),
				name_of(theirs[n]));
	return count > 12 ? all + std::format("and {} more", count - 12) : all;
}

const Pmu &theirs()
{
	static const Pmu found = Pmu::find(intree()).value();

	return found;
}

void need_root()
{
	if (::geteuid())
		SKIP("it takes root to become somebody else");
}

/* Everything is asked of the kernel's own first, which cannot be opened while ours is claimed. */
void compare_answers(const std::vector<Ask> &asks, const Meant &meant = nothing_meant)
{
	wait_until_free();
	const Errors to_root = answers(theirs(), asks);
	CHECK(differences(asks, answers(pmu(), asks), to_root, meant) == "");
	/* A table of what is refused only, or accepted only, compares nothing. */
	CHECK(std::ranges::count(to_root, 0) > 0);
	CHECK(std::ranges::count(to_root, 0) < static_cast<std::ptrdiff_t>(asks.size()));
}

void compare_answers_to_nobody(const std::vector<Ask> &asks, const Meant &meant = nothing_meant)
{
	wait_until_free();
	const Errors to_nobody = answers_to_nobody(theirs(), asks);
	CHECK(differences(asks, answers_to_nobody(pmu(), asks), to_nobody, meant) == "");
}

/* --- registers ------------------------------------------------------------------------------- */

constexpr std::uint32_t debugctl = 0x1d9, rtit_ctl = 0x570, rtit_addr0_a = 0x580;

/* Of one CPU, by /dev/cpu/N/msr, which reads on that CPU: so also what is there while it traces. */
class Registers
{
public:
	explicit Registers(int cpu) : file(::open(std::format("/dev/cpu/{}/msr", cpu).c_str(), O_RDONLY | O_CLOEXEC))
	{
		if (!file)
			SKIP("registers cannot be read: modprobe msr");
	}
	std::uint64_t operator[](std::uint32_t number) const
	{
		std::uint64_t value = 0;

		REQUIRE(::pread(file.get(), &value, sizeof(value), number) == sizeof(value));
		return value;
	}

private:
	UniqueFd file;
};

/* An event that traces, with room for more than happens while registers are read. */
struct Tracing {
	Tracing(const Pmu &whose, Ask ask, AuxMode mode = AuxMode::full_trace)
	{
		ask.attr.type = whose.type();
		event = Event::open(ask.attr, ask.target).value();
		data = DataRing::map(event, 4 * KiB).value();
		aux = AuxRing::map(data, event, bytes(whose, mode), mode).value();
	}

	/* A record of a branch is 24 bytes. */
	static std::size_t bytes(const Pmu &whose, AuxMode mode)
	{
		return !whose.name().ends_with("bts") ? 64 * KiB : mode == AuxMode::overwrite ? 128 * KiB : 1 * MiB;
	}

	Event event;
	DataRing data;
	AuxRing aux;
};

/* The CPU whose registers are looked at: not that of this program, so that hardly anything is traced. */
int watched()
{
	return cpus() - 1;
}

/* What IA32_RTIT_CTL or IA32_DEBUGCTL hold while each of the asks is traced; none where it is refused. */
std::vector<std::uint64_t> controls(const Pmu &whose, const std::vector<Ask> &asks)
{
	Registers registers(watched());
	std::vector<std::uint64_t> all;

	pin(0);
	for (Ask ask : asks) {
		ask.target = Target::on_cpu(watched());
		if (answer(whose, ask)) {
			all.push_back(0);
			continue;
		}
		INFO(whose.name() << ", " << ask.what);
		Tracing tracing(whose, ask);
		const bool bts = whose.name().ends_with("bts");
		const std::uint64_t on = bts ? 0xc0 : 1;
		std::uint64_t control = 0;
		/* On a slow machine the area may be full, and the unit off, before it is looked at. */
		wait_until("the trace unit to be on", [&] {
			tracing.aux.consume(tracing.aux.readable().size());
			tracing.event.restart().value();
			control = registers[bts ? debugctl : rtit_ctl];
			return (control & on) == on;
		});
		all.push_back(control);
		tracing.event.disable().value();
	}
	return all;
}

void compare_controls(const std::vector<Ask> &asks)
{
	wait_until_free();
	const auto wanted = controls(theirs(), asks), got = controls(pmu(), asks);
	const std::uint64_t on = intree() == "intel_bts" ? 0xc0 : 1;
	std::string wrong;
	unsigned traced = 0;

	for (std::size_t n = 0; n < asks.size(); n++) {
		traced += (wanted[n] & on) == on;
		if (wanted[n] != got[n])
			wrong += std::format("{}: {:#x} instead of {:#x}\n", asks[n].what, got[n], wanted[n]);
	}
	CHECK(wrong == "");
	CHECK(traced > 0);
}

/* --- tables ---------------------------------------------------------------------------------- */

/* Fields of config as the kernel's own has them, by name. */
std::map<std::string, std::uint64_t> fields()
{
	std::map<std::string, std::uint64_t> all;

	for (const auto &[name, field] : theirs().format())
		if (field.word == 0 && !field.ranges.empty())
			all[name] = field.place(field.limit());
	return all;
}

std::uint64_t field(const std::string &name)
{
	return fields().at(name);
}

/* Bits that make a difference to what others mean: fields of one bit. */
std::vector<std::uint64_t> switches()
{
	std::vector<std::uint64_t> all;

	for (const auto &[name, bits] : fields())
		if (!(bits & (bits - 1)))
			all.push_back(bits);
	return all;
}

/* None of them, two that often come together, and all. */
std::vector<std::uint64_t> companions()
{
	std::uint64_t all = 0;

	for (std::uint64_t bits : switches())
		all |= bits;
	return {0, field("pt") | field("branch"), all};
}

std::vector<Ask> of_configs(const std::set<std::uint64_t> &configs)
{
	std::vector<Ask> asks;

	for (std::uint64_t config : configs)
		asks.push_back(ask_config(config));
	return asks;
}

/* Each of the 64 bits, alone and beside others; and each two of the switches. */
std::vector<Ask> every_bit()
{
	std::set<std::uint64_t> configs;

	for (std::uint64_t companion : companions()) {
		configs.insert(companion);
		for (unsigned n = 0; n < 64; n++)
			configs.insert(companion ^ bit(n));
	}
	for (std::uint64_t one : switches())
		for (std::uint64_t other : switches())
			configs.insert(one | other);
	return of_configs(configs);
}

/* Each value of the fields that have several bits: with no switch, with those of timing, and with all. */
std::vector<Ask> every_encoding()
{
	std::set<std::uint64_t> configs;
	auto beside = companions();

	beside.push_back(field("cyc"));
	beside.push_back(field("mtc"));
	for (const auto &[name, bits] : fields()) {
		const std::uint64_t lowest = bits & -bits;
		for (std::uint64_t companion : beside)
			for (std::uint64_t value = 0; value <= bits / lowest; value++)
				configs.insert(companion | value * lowest);
	}
	return of_configs(configs);
}

/* What makes a difference in the register: each switch, and each encoding beside the switch that it is of. */
std::vector<Ask> every_control()
{
	const std::uint64_t branches = field("pt") | field("branch"), timing = branches | field("cyc") | field("mtc");
	std::set<std::uint64_t> configs{0, branches, timing};

	for (const auto &[name, bits] : fields()) {
		const std::uint64_t lowest = bits & -bits;
		configs.insert(branches | bits);
		/* Without branches, which are not asked for then. */
		configs.insert(field("pt") | bits);
		for (std::uint64_t value = 0; value <= bits / lowest; value++)
			configs.insert(timing | value * lowest);
	}
	return of_configs(configs);
}

constexpr std::array<const char *, 8> exclude_names = {
	"user", "kernel", "hv", "idle", "host", "guest", "callchain_kernel", "callchain_user"};

Ask ask_exclude(unsigned flags)
{
	Ask ask{"exclude", plain()};

	ask.attr.exclude_user = flags & 1;
	ask.attr.exclude_kernel = flags >> 1 & 1;
	ask.attr.exclude_hv = flags >> 2 & 1;
	ask.attr.exclude_idle = flags >> 3 & 1;
	ask.attr.exclude_host = flags >> 4 & 1;
	ask.attr.exclude_guest = flags >> 5 & 1;
	ask.attr.exclude_callchain_kernel = flags >> 6 & 1;
	ask.attr.exclude_callchain_user = flags >> 7 & 1;
	for (std::size_t n = 0; n < exclude_names.size(); n++)
		if (flags >> n & 1)
			ask.what += std::format(" {}", exclude_names[n]);
	if (!flags)
		ask.what += " nothing";
	return ask;
}

/* What is of a level, in every combination; and each of the others beside those. */
std::vector<Ask> every_exclusion()
{
	std::vector<Ask> asks;

	for (unsigned levels = 0; levels < 8; levels++) {
		asks.push_back(ask_exclude(levels));
		for (std::size_t n = 3; n < exclude_names.size(); n++)
			if (levels < 4)
				asks.push_back(ask_exclude(levels | 1U << n));
	}
	return asks;
}

/* As users have to ask: of a thread of their own, without the kernel; and as they may not. */
std::vector<Ask> of_own_thread(std::vector<Ask> asks, bool exclude_kernel)
{
	for (Ask &ask : asks) {
		ask.attr.exclude_kernel = exclude_kernel;
		ask.target = Target::task();
	}
	return asks;
}

bool on_6_1()
{
	utsname kernel{};

	::uname(&kernel);
	return std::string(kernel.release).starts_with("6.1.");
}

} // namespace

/* --- config ---------------------------------------------------------------------------------- */

TEST_CASE("Each bit of config is taken or refused as by intel_pt, alone and beside each field", "[pt][ask]")
{
	need_in_tree();
	need("auxpmu_pt");
	need_root();
	const auto asks = every_bit();
	compare_answers(asks);
	Paranoid two(2);
	compare_answers_to_nobody(of_own_thread(asks, true));
}

TEST_CASE("Each encoding of a field is taken or refused as by intel_pt", "[pt][ask]")
{
	need_in_tree();
	need("auxpmu_pt");
	const auto asks = every_encoding();
	compare_answers(asks);
}

TEST_CASE("IA32_RTIT_CTL is what intel_pt writes, for each field and each of its encodings", "[pt][ask]")
{
	need_in_tree();
	need("auxpmu_pt");
	compare_controls(every_control());
}

TEST_CASE("Words behind config have to be 0, each bit of them", "[hardware][ask]")
{
	need_hardware();
	/* The kernel's own look at none of them; ours keeps them for what may come.  BTS has nothing in config, either. */
	static const struct {
		const char *name;
		std::size_t offset;
	} words[] = {
		{"config", offsetof(perf_event_attr, config)},
		{"config1", offsetof(perf_event_attr, config1)},
		{"config2", offsetof(perf_event_attr, config2)},
		/* Behind what older headers have; a kernel that has not got them says E2BIG. */
		{"config3", 128},
		{"config4", 136},
	};
	struct {
		perf_event_attr attr;
		std::array<std::uint64_t, 8> more;
	} asked;
	const auto opens = [&] {
		long fd = ::syscall(SYS_perf_event_open, &asked, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd >= 0)
			::close(static_cast<int>(fd));
		return fd < 0 ? errno : 0;
	};
	std::string wrong;
	for (const auto &word : words)
		for (unsigned n = 0; n < 64; n++) {
			if (options().pmu == "auxpmu_pt" && word.name == std::string("config"))
				continue;
			asked = {};
			asked.attr = plain();
			asked.attr.type = pmu().type();
			asked.attr.size = 144;
			const std::uint64_t value = bit(n);
			std::memcpy(reinterpret_cast<char *>(&asked) + word.offset, &value, sizeof(value));
			const int error = opens();
			if (error != EINVAL && (error != E2BIG || word.offset < 128))
				wrong += std::format(" {}:{}", word.name, n);
		}
	CHECK(wrong == "");
	CHECK(answer(pmu(), ask_config(0)) == 0);
}

/* --- who, and what of it ------------------------------------------------------------------------ */

TEST_CASE("Every combination of exclude_ flags has the kernel's own driver's bits in the control register",
	"[hardware][ask]")
{
	need_in_tree();
	compare_controls(every_exclusion());
}

TEST_CASE("Who may trace what is what the kernel's own driver says, at each perf_event_paranoid", "[hardware][ask]")
{
	need_in_tree();
	need_root();
	std::vector<Ask> asks;
	for (unsigned flags = 0; flags < 4; flags++)
		for (Target target : {Target::task(), Target::on_cpu(0), Target::task_on_cpu(0, 0), Target::task(1)}) {
			Ask ask = ask_exclude(flags);
			ask.target = target;
			ask.what += std::format(", pid {}, CPU {}", target.pid, target.cpu);
			asks.push_back(ask);
		}
	for (int paranoid : {-1, 0, 1, 2}) {
		Paranoid level(paranoid);
		REQUIRE(level);
		INFO("perf_event_paranoid " << paranoid);
		compare_answers_to_nobody(asks, [&](const Ask &ask, int ours, int) {
			/* 6.1 does not tell modules what users may see: BTS takes CAP_PERFMON then. */
			return intree() == "intel_bts" && on_6_1() && paranoid < 2 && ask.attr.exclude_kernel &&
			       ours == EACCES;
		});
	}
}

namespace
{

/* What else an attr can have, each alone: samples, other kinds of events, who is followed, what is recorded beside. */
std::vector<Ask> every_other_wish()
{
	std::vector<Ask> asks;
	const auto ask = [&](std::string what, const std::function<void(perf_event_attr &)> &change) {
		for (Target target : {Target::on_cpu(0), Target::task()}) {
			Ask one{what + (target.pid ? "" : ", of a thread"), plain(), target};
			change(one.attr);
			asks.push_back(one);
		}
	};

	ask("nothing", [](auto &) {});
	for (unsigned n = 0; n < 26; n++)
		ask(std::format("sample_type bit {}", n), [&](auto &attr) { attr.sample_type = bit(n); });
	for (unsigned n = 0; n < 6; n++)
		ask(std::format("read_format bit {}", n), [&](auto &attr) { attr.read_format = bit(n); });
	for (std::uint64_t period : {std::uint64_t{1}, std::uint64_t{100'000}, bit(63)})
		ask(std::format("a period of {}", period), [&](auto &attr) { attr.sample_period = period; });
	for (std::uint64_t frequency : {1, 1000, 1'000'000'000})
		ask(std::format("a frequency of {}", frequency), [&](auto &attr) {
			attr.freq = 1;
			attr.sample_freq = frequency;
		});
	for (unsigned precise : {1, 2, 3})
		ask(std::format("precise_ip {}", precise), [&](auto &attr) { attr.precise_ip = precise & 3; });
	for (unsigned n : {0, 3, 16})
		ask(std::format("branch stack, kind {}", n), [&](auto &attr) {
			attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
			attr.branch_sample_type = bit(n);
		});
	ask("inherit", [](auto &attr) { attr.inherit = 1; });
	ask("inherit_stat", [](auto &attr) { attr.inherit = attr.inherit_stat = 1; });
	ask("inherit_thread", [](auto &attr) { attr.inherit = attr.inherit_thread = 1; });
	ask("pinned", [](auto &attr) { attr.pinned = 1; });
	ask("exclusive", [](auto &attr) { attr.exclusive = 1; });
	ask("enable_on_exec", [](auto &attr) { attr.enable_on_exec = 1; });
	ask("remove_on_exec", [](auto &attr) { attr.remove_on_exec = 1; });
	ask("sigtrap", [](auto &attr) { attr.sigtrap = attr.remove_on_exec = 1; });
	ask("tasks, mappings, names",
		[](auto &attr) { attr.task = attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = 1; });
	ask("context switches", [](auto &attr) { attr.context_switch = 1; });
	ask("namespaces", [](auto &attr) { attr.namespaces = 1; });
	ask("kernel symbols", [](auto &attr) { attr.ksymbol = attr.bpf_event = attr.text_poke = 1; });
	ask("build IDs", [](auto &attr) { attr.mmap2 = attr.build_id = 1; });
	ask("write_backward", [](auto &attr) { attr.write_backward = 1; });
	ask("a clock", [](auto &attr) {
		attr.use_clockid = 1;
		attr.clockid = 1;
	});
	ask("wake-ups", [](auto &attr) { attr.wakeup_events = 1; });
	ask("aux_watermark", [](auto &attr) { attr.aux_watermark = 4096; });
	ask("aux_output", [](auto &attr) { attr.aux_output = 1; });
	ask("aux_sample_size", [](auto &attr) {
		attr.sample_type = PERF_SAMPLE_AUX;
		attr.aux_sample_size = 4096;
	});
	for (unsigned n = 0; n < 4; n++)
		ask(std::format("aux_action bit {}", n), [&](auto &attr) { set_aux_action(attr, AuxAction{1U << n}); });
	ask("bits that nobody knows", [](auto &attr) { attr.__reserved_1 = 1; });
	ask("an older attr", [](auto &attr) { attr.size = PERF_ATTR_SIZE_VER0; });
	ask("a longer attr", [](auto &attr) { attr.size = 4096; });
	return asks;
}

/* Where ours is meant to say something else than the kernel's own, and why. */
bool meant_otherwise(const Ask &ask, int ours, int theirs)
{
	/* Children could trace on several CPUs at once, into a ring that takes one writer. */
	if (ask.attr.inherit && ask.target.cpu == -1)
		return ours == EINVAL;
	/* A trace has no branch stack; the kernel's own takes it, and there is none in any sample. */
	if (ask.attr.sample_type & PERF_SAMPLE_BRANCH_STACK)
		return ours == EOPNOTSUPP && theirs == 0;
	/* The kernel's own BTS has none of this. */
	if (intree() == "intel_bts" && theirs == EOPNOTSUPP)
		return ours == 0 && ask.what.starts_with("aux_action");
	return false;
}

} // namespace

TEST_CASE("Whatever else an attr has is taken or refused as by the kernel's own driver", "[hardware][ask]")
{
	need_in_tree();
	compare_answers(every_other_wish(), meant_otherwise);
}

/* --- sysfs ------------------------------------------------------------------------------------ */

namespace
{

/* Files of a PMU's folder, or of one in it, with what they say. */
std::map<std::string, std::string> files(const Pmu &whose, const std::string &folder = "")
{
	const std::filesystem::path path = "/sys/bus/event_source/devices/" + whose.name() + "/" + folder;
	std::map<std::string, std::string> all;

	if (std::filesystem::is_directory(path))
		for (const auto &entry : std::filesystem::directory_iterator(path))
			if (entry.is_regular_file())
				all[entry.path().filename()] = read_small_file(entry.path()).value_or("(unreadable)");
	return all;
}

/* Whatever the kernel's own file says ours says, too; "" or what is otherwise. */
std::string other_text(const std::map<std::string, std::string> &ours, const std::map<std::string, std::string> &theirs)
{
	std::string all;

	for (const auto &[name, text] : theirs)
		if (auto found = ours.find(name); found == ours.end())
			all += std::format("{} is missing\n", name);
		else if (found->second != text)
			all += std::format("{}: \"{}\" instead of \"{}\"\n", name, found->second, text);
	return all;
}

/* Names that ours has and the kernel's own has not. */
std::set<std::string> more(
	const std::map<std::string, std::string> &ours, const std::map<std::string, std::string> &theirs)
{
	std::set<std::string> names;

	for (const auto &[name, text] : ours)
		if (!theirs.contains(name))
			names.insert(name);
	return names;
}

} // namespace

TEST_CASE("sysfs caps/ and the ratios say what the kernel's own driver says, and claim nothing else", "[hardware][ask]")
{
	need_in_tree();
	auto folder = files(pmu()), their_folder = files(theirs());
	for (const char *own : {"type", "uevent", "perf_event_mux_interval_ms"})
		for (auto *all : {&folder, &their_folder})
			all->erase(own);
	CHECK(other_text(folder, their_folder) == "");
	CHECK(more(folder, their_folder) == std::set<std::string>{"claim", "claims"});
	const auto caps = files(pmu(), "caps"), their_caps = files(theirs(), "caps");
	CHECK(other_text(caps, their_caps) == "");
	/* Every PMU of auxpmu's has these: docs/consumers.md. */
	CHECK(more(caps, their_caps) ==
		std::set<std::string>{"aux_head", "granule", "max_order", "overwrite", "pause", "sampling", "yields"});
	if (intree() == "intel_pt") {
		CHECK(their_folder.contains("max_nonturbo_ratio"));
		CHECK(their_folder.contains("tsc_art_ratio"));
		CHECK(their_caps.contains("psb_periods"));
	}
}

TEST_CASE("A field is in format/ if the processor has it, at intel_pt's place", "[pt][ask]")
{
	need_in_tree();
	need("auxpmu_pt");
	wait_until_free();
	auto wanted = files(theirs(), "format");
	REQUIRE(wanted.contains("pt"));
	/* The kernel's own shows all of them; whether the processor has one is seen by asking for it. */
	for (const auto &[name, bits] : fields()) {
		const std::uint64_t lowest = bits & -bits;
		bool had = false;
		for (std::uint64_t value = 1; value <= bits / lowest; value++)
			for (std::uint64_t companion : companions())
				had |= answer(theirs(), ask_config(companion | value * lowest)) == 0;
		/* Where the processor needs BranchEn and has little else, no word with all switches is taken. */
		had |= answer(theirs(), ask_config(bits | field("ptw"))) == 0;
		if (!had)
			wanted.erase(name);
	}
	CHECK(files(pmu(), "format") == wanted);
}

/* --- address filters --------------------------------------------------------------------------- */

namespace
{

/* Ranges, or none where the processor has none. */
unsigned ranges()
{
	return static_cast<unsigned>(std::stoul(
		read_small_file("/sys/bus/event_source/devices/" + intree() + "/nr_addr_filters").value_or("0")));
}

/* IA32_RTIT_CTL and the ranges that it says are in force. */
std::string filters_in_force(const Registers &registers)
{
	const std::uint64_t ctl = registers[rtit_ctl];
	std::string all = std::format("CTL {:#x}", ctl);

	for (unsigned n = 0; n < 4; n++)
		if (ctl >> (32 + 4 * n) & 0xf)
			all += std::format(", {:#x} to {:#x}", registers[rtit_addr0_a + 2 * n],
				registers[rtit_addr0_a + 2 * n + 1]);
	return all;
}

/* What is in the registers after each of the changes, which are made while it traces; or why one is refused. */
std::vector<std::string> after_each(const Pmu &whose, const std::vector<std::string> &changes, Ask ask, int cpu)
{
	Registers registers(cpu);
	std::vector<std::string> all;
	Tracing tracing(whose, ask);

	tracing.event.enable().value();
	all.push_back("at first: " + filters_in_force(registers));
	for (const auto &filters : changes) {
		const auto done = tracing.event.set_filter(filters);
		all.push_back(std::format("\"{}\": {}", filters,
			done ? filters_in_force(registers) : std::string(::strerrorname_np(done.error().code))));
	}
	tracing.event.disable().value();
	/* Set before it is enabled. */
	tracing.event.set_filter(changes.front()).value();
	tracing.event.enable().value();
	all.push_back("enabled: " + filters_in_force(registers));
	tracing.event.disable().value();
	tracing.event.set_filter("").value();
	tracing.event.enable().value();
	all.push_back("cleared, enabled: " + filters_in_force(registers));
	return all;
}

/* A file of one page that is mapped as code. */
class Code
{
public:
	Code() : file(::mkstemp(name.data()))
	{
		REQUIRE(file);
		REQUIRE(::ftruncate(file.get(), 4096) == 0);
		void *at = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0);
		REQUIRE(at != MAP_FAILED);
		mapping = Mapping(at, 4096);
	}
	~Code() { ::unlink(name.c_str()); }
	Code(const Code &) = delete;
	const std::string &path() const { return name; }

private:
	std::string name = "/tmp/auxpmu-ask-XXXXXX";
	UniqueFd file;
	Mapping mapping;
};

} // namespace

TEST_CASE("Address filters are in the registers as intel_pt has them, and none is when they are cleared", "[pt][ask]")
{
	need_in_tree();
	need("auxpmu_pt");
	if (!ranges()) {
		/* Then nobody takes any. */
		Tracing tracing(pmu(), ask_config(0));
		CHECK_FALSE(tracing.event.set_filter("filter 0xffffffff81000000/0x1000"));
		return;
	}
	const std::vector<std::string> of_kernel = {
		"filter 0xffffffff81000000/0x1000",
		"stop 0xffffffff81200000/0x10",
		"filter 0xffffffff81000000/0x1000,stop 0xffffffff81000800/1",
		"stop 0xffffffff81000800/1,filter 0xffffffff81000000/0x1000",
		"filter 0xffff800000000000/0x7fffffffffff",
		/* From and to an address that is not canonical. */
		"filter 0x800000000000/0xffff000000001000",
		"filter 0x7ffffffff000/0x2000",
		"filter 0xffffffff82000000/0x1000,filter 0xffffffff83000000/0x1000",
		"stop 0xffffffff81000123/3",
		"",
		"stop 0xffffffff82000000/0x1000,stop 0xffffffff83000000/0x1000",
		"filter 0xffffffff82000000/1,filter 0xffffffff83000000/1,filter 0xffffffff84000000/1",
		"filter 0xffffffff82000000/1,filter 0xffffffff83000000/1,filter 0xffffffff84000000/1,"
		"filter 0xffffffff85000000/1,filter 0xffffffff86000000/1",
		"start 0xffffffff81000000/0x1000",
		"start 0xffffffff81000000",
		"stop 0xffffffff81000000",
		"nonsense",
		"",
	};
	Code code;
	const std::vector<std::string> of_file = {
		std::format("filter 0x100/0x80@{}", code.path()),
		std::format("stop 0x0/0x1000@{}", code.path()),
		"",
		std::format("filter 0x10/1@{0},stop 0x20/1@{0}", code.path()),
		std::format("filter 0x10/1@{0},filter 0x20/1@{0},filter 0x30/1@{0},filter 0x40/1@{0},filter 0x50/1@{0}",
			code.path()),
		"filter 0xffffffff81000000/0x1000", /* of the kernel, which is excluded */
		"",
	};

	wait_until_free();
	pin(0);
	Ask kernel = ask_config(0), file = ask_exclude(2);
	kernel.target = Target::on_cpu(watched());
	file.target = Target::task();
	file.attr.mmap = 1;
	const auto wanted_of_kernel = after_each(theirs(), of_kernel, kernel, watched());
	const auto wanted_of_file = after_each(theirs(), of_file, file, 0);
	CHECK(after_each(pmu(), of_kernel, kernel, watched()) == wanted_of_kernel);
	CHECK(after_each(pmu(), of_file, file, 0) == wanted_of_file);
	/* One with filters, and then one without, on the same CPU. */
	std::vector<std::uint64_t> controls;
	for (const char *filters : {"filter 0xffffffff81000000/0x1000,stop 0xffffffff81000800/1", ""}) {
		Tracing tracing(pmu(), kernel);
		if (*filters)
			tracing.event.set_filter(filters).value();
		tracing.event.enable().value();
		controls.push_back(Registers(watched())[rtit_ctl] >> 32);
	}
	CHECK(controls == std::vector<std::uint64_t>{0x21, 0});
}

/* --- what is then in the trace ------------------------------------------------------------------- */

TEST_CASE("Records of branches begin where they may: in the kernel alone, in programs alone, or in both", "[bts][ask]")
{
	need("auxpmu_bts");
	constexpr std::uint64_t kernel = bit(63);
	pin(0);
	for (unsigned excluded : {0U, 1U, 2U, 3U}) {
		Ask ask = ask_exclude(excluded);
		INFO(ask.what);
		/* The newest records, whatever else this CPU has to do. */
		Tracing tracing(pmu(), ask, AuxMode::overwrite);
		std::array<unsigned, 2> records{}; /* of programs, of the kernel */
		const auto look = [&] {
			tracing.event.enable().value();
			for (unsigned n = 0; n < 20; n++) {
				churn(20);
				::getppid();
			}
			tracing.event.disable().value();
			/* 24 bytes, "from" first; zeros are padding, or nobody wrote them yet. */
			const auto bytes = tracing.aux.view(0, tracing.aux.size()).first;
			records = {};
			for (std::size_t at = 0; at + 24 <= bytes.size(); at += 24) {
				std::uint64_t from;
				std::memcpy(&from, &bytes[at], sizeof(from));
				records[from >= kernel] += from != 0;
			}
		};
		wait_until("records", [&] {
			look();
			return (excluded & 1 || records[0] > 400) && (excluded & 2 || records[1] > 100);
		});
		if (excluded & 1)
			CHECK(records[0] == 0);
		if (excluded & 2)
			CHECK(records[1] == 0);
	}
}
