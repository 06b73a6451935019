/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TraceWalk: has libipt walk along the code by a raw trace, instruction by instruction, and tells a listener. */
#ifndef HWSIM_TOOLS_TRACE_WALK_H
#define HWSIM_TOOLS_TRACE_WALK_H

#include <cstdint>
#include <intel-pt.h>
#include <memory>
#include <span>
#include <stdexcept>

namespace hwsim
{

/* Calls come in program order. */
class WalkListener
{
public:
	virtual void instruction(const pt_insn &instruction) = 0;
	/*
	 * A branch or an interrupt; or the trace begins (from is 0) or ends. A branch to the next instruction is told only if its kind always
	 * branches.
	 */
	virtual void branch(std::uint64_t from, std::uint64_t to) = 0;
	/* The trace ends, for now, before the instruction at this address. */
	virtual void left(std::uint64_t at) = 0;
	/* An interrupt comes before the instruction at this address, and the trace goes on at its handler. branch() follows. */
	virtual void interrupted(std::uint64_t) {}
	/* The trace ends, for now, behind an instruction that led to this address; 0 if the trace does not tell it. branch() follows. */
	virtual void exits(std::uint64_t) {}
	/* The payload of a PTWRITE, and its size in bytes; the value that was loaded into CR3. */
	virtual void payload(std::uint64_t, unsigned) {}
	virtual void address_space(std::uint64_t) {}
	/* The trace unit's internal buffer has overflowed behind the instruction at this address: trace is missing. */
	virtual void overflowed(std::uint64_t) {}
	/* libipt's error at this byte of the trace, behind the instruction at this address. The walk goes on at the next PSB. */
	virtual void error(int status, std::uint64_t offset, std::uint64_t behind) = 0;

protected:
	~WalkListener() = default;
};

/* Kinds that are branches even where they lead to the next instruction. */
constexpr bool always_branches(pt_insn_class kind)
{
	switch (kind) {
	case ptic_call:
	case ptic_return:
	case ptic_jump:
	case ptic_far_call:
	case ptic_far_return:
	case ptic_far_jump:
	case ptic_indirect:
		return true;
	default:
		return false;
	}
}

class TraceWalk
{
public:
	TraceWalk(std::span<std::uint8_t> trace, pt_image *image, WalkListener &to)
		: listener(to), decoder(nullptr, pt_insn_free_decoder)
	{
		pt_config config;
		pt_config_init(&config);
		config.begin = trace.data();
		config.end = trace.data() + trace.size();
		decoder.reset(pt_insn_alloc_decoder(&config));
		if (!decoder || pt_insn_set_image(decoder.get(), image) < 0)
			throw std::runtime_error("libipt: no decoder");
	}

	void run()
	{
		int status;
		while ((status = pt_insn_sync_forward(decoder.get())) >= 0) {
			status = walk(status);
			if (status == -pte_eos)
				break;
			std::uint64_t offset = 0;
			pt_insn_get_offset(decoder.get(), &offset);
			listener.error(status, offset, last.ip);
		}
	}

private:
	/* From a PSB, which may have had events, to the end or to an error. */
	int walk(int status)
	{
		flowing = false;
		for (;;) {
			while (status & pts_event_pending) {
				pt_event event;
				status = pt_insn_event(decoder.get(), &event, sizeof event);
				if (status < 0)
					return status;
				tell(event);
			}
			if (status & pts_eos)
				return -pte_eos;
			pt_insn instruction;
			status = pt_insn_next(decoder.get(), &instruction, sizeof instruction);
			if (status < 0)
				return status;
			arrive(instruction.ip);
			listener.instruction(instruction);
			last = instruction;
			flowing = true;
		}
	}
	void tell(const pt_event &event)
	{
		/* PSB+ repeats the state; nothing has happened. */
		if (event.status_update)
			return;
		switch (event.type) {
		case ptev_enabled:
			listener.branch(0, event.variant.enabled.ip);
			flowing = false;
			break;
		case ptev_disabled:
			listener.exits(event.ip_suppressed ? 0 : event.variant.disabled.ip);
			listener.branch(last.ip, event.ip_suppressed ? 0 : event.variant.disabled.ip);
			flowing = false;
			break;
		case ptev_async_disabled:
			arrive(event.variant.async_disabled.at);
			listener.left(event.variant.async_disabled.at);
			listener.branch(event.variant.async_disabled.at,
				event.ip_suppressed ? 0 : event.variant.async_disabled.ip);
			flowing = false;
			break;
		case ptev_async_branch:
			arrive(event.variant.async_branch.from);
			listener.interrupted(event.variant.async_branch.from);
			listener.branch(event.variant.async_branch.from, event.variant.async_branch.to);
			flowing = false;
			break;
		case ptev_overflow:
			listener.overflowed(last.ip);
			flowing = false;
			break;
		case ptev_ptwrite:
			listener.payload(event.variant.ptwrite.payload, event.variant.ptwrite.size);
			break;
		case ptev_paging:
			listener.address_space(event.variant.paging.cr3);
			break;
		case ptev_async_paging:
			listener.address_space(event.variant.async_paging.cr3);
			break;
		default:
			break;
		}
	}
	/* The walk is at an instruction, or at an interrupt before it: tell the branch that led here, be it a jump to the next instruction. */
	void arrive(std::uint64_t ip)
	{
		if (flowing && (ip != last.ip + last.size || always_branches(last.iclass)))
			listener.branch(last.ip, ip);
	}

	WalkListener &listener;
	std::unique_ptr<pt_insn_decoder, void (*)(pt_insn_decoder *)> decoder;
	pt_insn last{};
	bool flowing = false; /* the next instruction follows the last one, or a branch led to it */
};

} // namespace hwsim

#endif
