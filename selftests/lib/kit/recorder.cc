// SPDX-License-Identifier: GPL-2.0-only
#include "kit/recorder.h"

#include <cerrno>
#include <cstring>
#include <string>

#include <poll.h>

namespace auxpmu
{

Result<Recorder> Recorder::open(const Setup &setup)
{
	Recorder recorder;
	auto event = Event::open(setup.attr, setup.target);

	if (!event)
		return event.error();
	recorder.leader = std::move(*event);
	if (setup.attr.write_backward) {
		auto ring = BackwardRing::map(recorder.leader, setup.data_bytes);
		if (!ring)
			return ring.error();
		recorder.newest_first = std::move(*ring);
	} else {
		auto ring = DataRing::map(recorder.leader, setup.data_bytes);
		if (!ring)
			return ring.error();
		recorder.forward = std::move(*ring);
	}
	auto area = AuxRing::map(recorder.forward ? recorder.forward : recorder.newest_first.data(), recorder.leader,
		setup.aux_bytes, setup.mode, setup.monotonic_head);
	if (!area)
		return area.error();
	recorder.area = std::move(*area);
	return recorder;
}

Result<void> Recorder::add_member(const perf_event_attr &attr, Target target)
{
	auto member = Event::open(attr, target, leader.fd());

	if (!member)
		return member.error();
	if (auto shared = member->set_output(leader); !shared)
		return shared;
	others.push_back(std::move(*member));
	return {};
}

Result<Recorder::Wake> Recorder::wait(int milliseconds) const
{
	pollfd ready{leader.fd(), POLLIN, 0};

	if (::poll(&ready, 1, milliseconds) < 0 && errno != EINTR) {
		int code = errno;

		return Error{code, std::string("cannot wait for trace: poll: ") + std::strerror(code)};
	}
	if (ready.revents & POLLIN)
		return Wake::ready;
	return ready.revents ? Wake::over : Wake::nothing;
}

} // namespace auxpmu
