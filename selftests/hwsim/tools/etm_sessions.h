/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a trace of an ETE or ETMv4 begins anew: in front of each of its sessions, from where the trace unit was switched on to where it was
 * switched off. What found no room in the sink by then is lost, so the one before may end within a packet, of which a decoder must know
 * nothing when it reads the next.
 */
#ifndef HWSIM_TOOLS_ETM_SESSIONS_H
#define HWSIM_TOOLS_ETM_SESSIONS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hwsim
{

/* IHI0064, "Alignment Synchronization packet": where the next one is, or the end. */
inline std::size_t next_sync(std::span<const std::uint8_t> trace, std::size_t from)
{
	static constexpr std::uint8_t sync[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80};
	const auto rest = trace.subspan(std::min(from, trace.size()));
	return trace.size() - static_cast<std::size_t>(rest.end() - std::ranges::search(rest, sync).begin());
}

/*
 * Is the A-sync here the first packet of a session? Then a Trace On packet is next behind Trace Info, as it is where tracing was off when a
 * periodic one was due: what was before does not matter there, either.
 */
inline bool begins_session(std::span<const std::uint8_t> trace, std::size_t sync)
{
	constexpr std::uint8_t trace_info = 0x01, trace_on = 0x04, more = 0x80;
	constexpr unsigned sections = 4; /* INFO, KEY, SPEC, CYCT */
	std::size_t at = sync + 12;
	const auto next = [&] {
		return at < trace.size() ? trace[at++] : std::uint8_t{0};
	};
	const auto skip = [&] {
		while (next() & more)
			;
	};
	if (next() != trace_info)
		return false;
	const std::uint8_t control = next();
	if (control & more)
		skip();
	for (unsigned n = 0; n < sections; n++)
		if (control >> n & 1)
			skip();
	return next() == trace_on;
}

/* A trace in parts that begin so; what may be in front of the first A-sync is a part, too. */
inline std::vector<std::span<const std::uint8_t>> etm_sessions(std::span<const std::uint8_t> trace)
{
	std::vector<std::span<const std::uint8_t>> all;
	std::size_t begin = 0;
	for (std::size_t at = next_sync(trace, 1); at < trace.size(); at = next_sync(trace, at + 1)) {
		if (!begins_session(trace, at))
			continue;
		all.push_back(trace.subspan(begin, at - begin));
		begin = at;
	}
	if (begin < trace.size())
		all.push_back(trace.subspan(begin));
	return all;
}

} // namespace hwsim

#endif
