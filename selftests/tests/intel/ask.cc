// SPDX-License-Identifier: GPL-2.0-only
#include "intel/ask.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/syscall.h>

#include "shared/knob.h"

namespace auxpmu::test::asking
{

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

std::vector<Ask> of_own_thread(std::vector<Ask> asks, bool exclude_kernel)
{
	for (Ask &ask : asks) {
		ask.attr.exclude_kernel = exclude_kernel;
		ask.target = Target::task();
	}
	return asks;
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

/* Not by Event::open(), which on failure reads files to compose its error message. */
int answer(const Pmu &whose, Ask ask)
{
	ask.attr.type = whose.type();
	long fd = ::syscall(SYS_perf_event_open, &ask.attr, ask.target.pid, ask.target.cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno;
	::close(static_cast<int>(fd));
	return 0;
}

namespace
{

using Errors = std::vector<int>;

Errors answers(const Pmu &whose, const std::vector<Ask> &asks)
{
	Errors errors;

	for (const Ask &ask : asks)
		errors.push_back(answer(whose, ask));
	return errors;
}

/* The answers to the same requests made as user nobody. */
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

/* The first twelve requests that the two PMUs answer differently and are not meant to, or "". */
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

} // namespace

void compare_answers(const std::vector<Ask> &asks, const Meant &meant)
{
	wait_until_free();
	const Errors to_root = answers(theirs(), asks);
	CHECK(differences(asks, answers(pmu(), asks), to_root, meant) == "");
	/* Requests that are all refused, or all accepted, would compare nothing. */
	CHECK(std::ranges::count(to_root, 0) > 0);
	CHECK(std::ranges::count(to_root, 0) < static_cast<std::ptrdiff_t>(asks.size()));
}

void compare_answers_to_nobody(const std::vector<Ask> &asks, const Meant &meant)
{
	wait_until_free();
	const Errors to_nobody = answers_to_nobody(theirs(), asks);
	const bool another = !another_in_tree().empty();
	CHECK(differences(asks, answers_to_nobody(pmu(), asks), to_nobody, [&](const Ask &ask, int ours, int theirs) {
		return meant(ask, ours, theirs) || (another && ours == EACCES);
	}) == "");
}

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

std::vector<std::uint64_t> switches()
{
	std::vector<std::uint64_t> all;

	for (const auto &[name, bits] : fields())
		if (!(bits & (bits - 1)))
			all.push_back(bits);
	return all;
}

std::vector<std::uint64_t> companions()
{
	std::uint64_t all = 0;

	for (std::uint64_t bits : switches())
		all |= bits;
	return {0, field("pt") | field("branch"), all};
}

int watched()
{
	return cpus() - 1;
}

namespace
{

/* The value of IA32_RTIT_CTL or IA32_DEBUGCTL while each request is traced; 0 if it is refused. */
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
		const bool bts = whose.name().ends_with("bts");
		const std::uint64_t on = bts ? 0xc0 : 1;
		std::uint64_t control = 0;
		/*
		 * A full buffer switches the unit off, perhaps before the register is read: with an MTC for each tick of the
		 * crystal clock, 64 KiB last a millisecond. In overwrite mode the buffer never gets full; but BTS then does not set
		 * BTINT.
		 */
		Tracing tracing(whose, ask, bts ? AuxMode::full_trace : AuxMode::overwrite);
		wait_until("the trace unit to be on", [&] {
			if (bts)
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

} // namespace

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

} // namespace auxpmu::test::asking
