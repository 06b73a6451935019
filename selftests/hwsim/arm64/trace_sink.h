/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TraceSink: the destination of a trace unit's bytes. */
#ifndef HWSIM_ARM64_TRACE_SINK_H
#define HWSIM_ARM64_TRACE_SINK_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace hwsim::arm64
{

class TraceSink
{
public:
	/* Can the sink accept trace? One that is only stopped for the moment, such as a full one, counts as enabled. */
	virtual bool enabled() const = 0;
	/* Takes as many bytes as it can now, and returns how many; the caller keeps the rest. */
	virtual std::size_t take(std::span<const std::uint8_t> bytes) = 0;
	/* Of the bytes behind those that the last take() took, how many are gone: memory did not take them. */
	virtual std::size_t gone() const { return 0; }
	/*
	 * More waits for the sink than the trace unit's FIFO holds. True if that is the host's doing, which has not let another
	 * processor go on: the sink takes trace again, or may at the next try. False if it is the machine's, and trace is lost.
	 */
	virtual bool wait() { return false; }
	/* The trace unit signals a trigger. */
	virtual void trigger() = 0;

protected:
	~TraceSink() = default;
};

} // namespace hwsim::arm64

#endif
