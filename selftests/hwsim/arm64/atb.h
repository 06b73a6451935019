/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Atb: the ways of trace from its sources to sinks (IHI0032, "AMBA ATB protocol"): bytes go down, requests to flush go up. All of it is
 * shared by processors, under one lock (Coresight).
 */
#ifndef HWSIM_ARM64_ATB_H
#define HWSIM_ARM64_ATB_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace hwsim::arm64
{

/* An input of what trace goes through or into. */
class AtbReceiver
{
public:
	/* Of this trace ID. Takes as many as it can now; the others wait. */
	virtual std::size_t receive(std::uint8_t id, std::span<const std::uint8_t> bytes) = 0;
	/* The source with this trace ID has a trigger. */
	virtual void trigger(std::uint8_t id) = 0;

protected:
	~AtbReceiver() = default;
};

/* An output of what trace goes through. */
class AtbSender
{
public:
	/* What is still inside goes down: from the sources on. */
	virtual void drain() = 0;

protected:
	~AtbSender() = default;
};

} // namespace hwsim::arm64

#endif
