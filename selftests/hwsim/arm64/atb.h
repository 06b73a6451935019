/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Atb: the paths of trace from sources to sinks (IHI0032, "AMBA ATB protocol"): bytes go downstream, flush requests go upstream. All
 * processors share these paths, under the one lock of Coresight.
 */
#ifndef HWSIM_ARM64_ATB_H
#define HWSIM_ARM64_ATB_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace hwsim::arm64
{

/* An input of a component that trace passes through or ends in. */
class AtbReceiver
{
public:
	/* Takes as many bytes of this trace ID as it can now, and returns how many; the caller keeps the rest. */
	virtual std::size_t receive(std::uint8_t id, std::span<const std::uint8_t> bytes) = 0;
	/* How many bytes of this trace ID it is certain to take now; it may take more. */
	virtual std::size_t room(std::uint8_t id) const = 0;
	/* The source with this trace ID signals a trigger. */
	virtual void trigger(std::uint8_t id) = 0;

protected:
	~AtbReceiver() = default;
};

/* An output of a component that trace passes through. */
class AtbSender
{
public:
	/* Sends all trace still held at or above this point downstream, starting at the components nearest the sources. */
	virtual void drain() = 0;
	/* Is there still trace at or above this point that drain() could not send? */
	virtual bool holds() const = 0;

protected:
	~AtbSender() = default;
};

} // namespace hwsim::arm64

#endif
