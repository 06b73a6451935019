/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TraceSink: where the bytes of a trace unit go. */
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
	/* Is there any use in tracing? One that is full, but will go on, is enabled. */
	virtual bool enabled() const = 0;
	/* Takes as many bytes as it can now; the others wait. */
	virtual std::size_t take(std::span<const std::uint8_t> bytes) = 0;
	/* The trace unit has a trigger for it. */
	virtual void trigger() = 0;

protected:
	~TraceSink() = default;
};

} // namespace hwsim::arm64

#endif
