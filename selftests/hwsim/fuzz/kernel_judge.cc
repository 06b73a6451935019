// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel_judge.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "../tools/image.h"
#include "../tools/trace_walk.h"
#include "instruction.h"
#include "text.h"

namespace hwsim::fuzz
{
namespace
{

// --- what was executed ------------------------------------------------------------------------

bool is(const ring0_step &step, std::uint8_t second)
{
	return step.code[0] == 0x0f && step.code[1] == second;
}
bool is_wrmsr(const ring0_step &step)
{
	return is(step, 0x30);
}
bool is_mov_to_cr3(const ring0_step &step)
{
	return is(step, 0x22) && (step.code[2] & 0x38) == 3 << 3;
}
struct Step : ring0_step {
	/* The step led to a handler: it faulted, and was not executed, or it is INT n. To a decoder an interrupt comes there, in both cases. */
	bool torn = false;
};

/* Adds the first instructions of handlers, which are not stepped. */
std::vector<Step> all_steps(const Program &program, const std::vector<ring0_step> &seen)
{
	std::vector<Step> all;
	for (const ring0_step &step : seen) {
		for (const auto &[vector, handler] : program.gates) {
			std::uint64_t behind = handler.begin;
			for (const auto &code : handler.unseen)
				behind += code.size();
			if (step.ip != behind || all.empty())
				continue;
			all.back().torn = true;
			std::uint64_t at = handler.begin;
			for (const auto &code : handler.unseen) {
				Step unseen{};
				unseen.ip = at;
				unseen.cr3 = step.cr3;
				unseen.available = static_cast<std::uint8_t>(code.size());
				std::ranges::copy(code, unseen.code);
				all.push_back(unseen);
				at += code.size();
			}
			break;
		}
		all.push_back({step});
	}
	return all;
}

// --- what has to be traced -----------------------------------------------------------------------

/* The enables (SDM volume 3, "Packet Generation Enable Controls"; "Trace Filtering"), of a processor in ring 0. */
class Enables
{
public:
	/* "Trace Control Registers". A write that is refused has no effect: do not call this for it. */
	void write(std::uint64_t msr, std::uint64_t value)
	{
		if (msr == rtit::ctl)
			ctl = value;
		else if (msr == rtit::status)
			stopped = value & stopped_bit;
		else if (msr == rtit::cr3_match)
			match = value;
		else if (msr >= rtit::addr0_a && msr < rtit::addr0_a + std::size(address))
			address[msr - rtit::addr0_a] = value;
	}
	bool has(std::uint64_t bits) const { return (ctl & bits) == bits; }
	/* TriggerEn and ContextEn. Bits 63:5 of CR3 are compared ("Filtering by CR3"). */
	bool context(std::uint64_t cr3) const
	{
		return has(rtit::trace_en | rtit::os) && !stopped && (!has(rtit::cr3_filter) || !((cr3 ^ match) >> 5));
	}
	/*
	 * PacketEn for an instruction that is about to be executed. "Filtering by IP": it has to be in a filter range, if there are any.
	 * "TraceStop": an instruction in a stop range, and everything after it, is not traced until software clears Stopped; stop ranges count
	 * whenever the context is on.
	 */
	bool packets(std::uint64_t ip, std::uint64_t cr3)
	{
		if (!context(cr3))
			return false;
		if (in_any(ip, rtit::stop)) {
			stopped = true;
			stops++;
			return false;
		}
		return !is_any(rtit::within) || in_any(ip, rtit::within);
	}
	bool is_stopped() const { return stopped; }
	static constexpr std::uint64_t stopped_bit = 1 << 5;
	std::size_t stops = 0;

private:
	static constexpr unsigned ranges = 4;
	std::uint64_t config(unsigned n) const { return ctl >> (rtit::addr_cfg + 4 * n) & 15; }
	bool is_any(std::uint64_t what) const
	{
		for (unsigned n = 0; n < ranges; n++)
			if (config(n) == what)
				return true;
		return false;
	}
	bool in_any(std::uint64_t ip, std::uint64_t what) const
	{
		for (unsigned n = 0; n < ranges; n++)
			if (config(n) == what && ip >= address[2 * n] && ip <= address[2 * n + 1])
				return true;
		return false;
	}

	std::uint64_t ctl = 0, match = 0;
	std::uint64_t address[2 * ranges] = {};
	bool stopped = false;
};

/* What a decoder has to find, in this order. */
struct Expected {
	struct Item {
		std::size_t step;
		bool place; /* no instruction, but a place where an interrupt, or the end of tracing, comes */
	};
	std::vector<Item> items;
	/* For each step: are branches traced there; is the context on? */
	std::vector<bool> on, in_context;
	std::vector<Payload> payloads;
	std::vector<std::uint64_t> address_spaces;
	bool stopped = false;
	std::size_t stops = 0;
};

/*
 * An instruction that changes what is traced belongs to the state before the change. A WRMSR that sets TraceEn is not in the trace; the next
 * instruction is (TIP.PGE has its address). A WRMSR that clears TraceEn is told by a FUP with its own address ("FUP"), so that to a decoder the
 * trace ends before it. A MOV to CR3 that ends the context is in the trace: a decoder walks over it, because TIP.PGD has no address then.
 *
 * MOV to CR3 is told by PIP if the context is on after it ("Paging Information (PIP) Packet"), whatever FilterEn and BranchEn are; PTWRITE is
 * told if packets are enabled, whatever BranchEn is.
 */
Expected expect(const std::vector<Step> &steps)
{
	Expected all;
	Enables enables;
	for (std::size_t i = 0; i < steps.size(); i++) {
		const Step &step = steps[i];
		all.in_context.push_back(enables.context(step.cr3));
		const bool packets = enables.packets(step.ip, step.cr3),
			   branches = packets && enables.has(rtit::branch_en);
		all.on.push_back(branches);
		bool place = step.torn;
		if (is_wrmsr(step) && !step.torn) {
			const std::uint64_t value = (step.ax & 0xffffffff) | step.dx << 32;
			enables.write(step.cx & 0xffffffff, value);
			place = !enables.has(rtit::trace_en);
		}
		if (branches)
			all.items.push_back({i, place});
		if (const auto one = PtwriteForm::of(step.code); one && packets && enables.has(rtit::ptw_en))
			all.payloads.push_back({step.ax, one->wide ? 8u : 4u});
		if (is_mov_to_cr3(step) && i + 1 < steps.size() && enables.context(steps[i + 1].cr3))
			all.address_spaces.push_back(steps[i + 1].cr3);
	}
	all.stopped = enables.is_stopped();
	all.stops = enables.stops;
	return all;
}

// --- what the trace has -------------------------------------------------------------------------

class KernelJudge : public WalkListener
{
public:
	KernelJudge(const std::vector<Step> &all, const Expected &what, std::uint64_t cr3s, const Tell &to)
		: steps(all), expected(what), cr3_differs(cr3s), tell(to)
	{
	}

	std::string judge(std::vector<std::uint8_t> &trace)
	{
		const Image image = new_image();
		pt_image_set_callback(image.get(), read, this);
		TraceWalk(trace, image.get(), *this).run();
		if (at < expected.items.size())
			says("the trace ends %zu instructions before the program, at %lx", expected.items.size() - at,
				next().ip);
		if (payloads < expected.payloads.size() || address_spaces < expected.address_spaces.size())
			says("of %zu PTWRITEs %zu are told, of %zu PIPs %zu", expected.payloads.size(), payloads,
				expected.address_spaces.size(), address_spaces);
		return wrong;
	}
	std::size_t edges = 0;

private:
	void says(const char *format, auto... values)
	{
		if (wrong.empty())
			wrong = text(format, values...);
	}
	bool done() const { return at == expected.items.size(); }
	const Step &next() const { return steps[expected.items[at].step]; }

	void instruction(const pt_insn &instruction) override
	{
		if (leaving && !exiting) {
			beyond++;
			return;
		}
		if (done())
			says("the trace goes on behind the end, at %lx", instruction.ip);
		else if (next().ip != instruction.ip || expected.items[at].place)
			differs(instruction.ip);
		else
			pass();
	}
	void differs(std::uint64_t ip)
	{
		says("instruction %zu, step %zu, behind %lx, is at %lx%s, in the trace at %lx", at,
			expected.items[at].step, at ? steps[expected.items[at - 1].step].ip : 0, next().ip,
			expected.items[at].place ? " (where something comes between)" : "", ip);
	}
	void pass()
	{
		const std::size_t behind = expected.items[at++].step + 1;
		if (behind < steps.size() && !expected.on[behind])
			leaving = behind;
	}
	void place(std::uint64_t where)
	{
		if (done() || !expected.items[at].place || next().ip != where)
			says("nothing comes between at %lx, instruction %zu, which is at %lx", where, at,
				done() ? 0 : next().ip);
		else
			at++;
	}
	void left(std::uint64_t where) override { place(where); }
	void interrupted(std::uint64_t where) override { place(where); }

	/*
	 * If straight code leaves what is traced, TIP.PGD has the address of the next instruction; libipt looks for a branch that leads there,
	 * and walks on as far as the next branch.
	 */
	void exits(std::uint64_t to) override
	{
		if (!leaving) {
			says("the trace ends for %lx behind instruction %zu", to, at);
			return;
		}
		exiting = true;
		const std::uint64_t wanted = expected.in_context[*leaving] ? steps[*leaving].ip : 0;
		if (to != wanted)
			says("the trace ends behind %lx for %lx, not for %lx", steps[*leaving - 1].ip, to, wanted);
	}
	void branch(std::uint64_t from, std::uint64_t to) override
	{
		if (beyond && !exiting)
			return;
		tell(beyond ? steps[*leaving - 1].ip : from, to);
		if (!exiting)
			return;
		edges += beyond > 0;
		beyond = 0;
		exiting = false;
		leaving.reset();
	}
	void payload(std::uint64_t value, unsigned size) override
	{
		if (payloads == expected.payloads.size() || expected.payloads[payloads] != Payload{value, size})
			says("PTWRITE %zu, of %zu, is %lx (%u bytes)", payloads, expected.payloads.size(), value, size);
		else
			payloads++;
	}
	void address_space(std::uint64_t cr3) override
	{
		const bool any = address_spaces < expected.address_spaces.size();
		if (!any || (expected.address_spaces[address_spaces] ^ cr3 ^ cr3_differs) >> 5)
			says("PIP %zu, of %zu, is %lx, not %lx", address_spaces, expected.address_spaces.size(), cr3,
				any ? expected.address_spaces[address_spaces] : 0);
		else
			address_spaces++;
	}
	void error(int status, std::uint64_t offset, std::uint64_t behind) override
	{
		says("libipt at byte %lu, behind instruction %zu at %lx: %s", offset, at, behind,
			pt_errstr(pt_errcode(status)));
	}

	/* The bytes of the next instruction. Where libipt walks on beyond the end, it gets what is in memory. */
	static int read(std::uint8_t *to, std::size_t size, const pt_asid *, std::uint64_t ip, void *context)
	{
		KernelJudge &judge = *static_cast<KernelJudge *>(context);
		if (judge.leaving)
			return read_beyond(to, size, ip);
		if (judge.done())
			return -pte_nomap;
		if (judge.next().ip != ip) {
			judge.differs(ip);
			return -pte_nomap;
		}
		size = std::min<std::size_t>(size, judge.next().available);
		std::memcpy(to, judge.next().code, size);
		return static_cast<int>(size);
	}
	static int read_beyond(std::uint8_t *to, std::size_t size, std::uint64_t ip)
	{
		const auto copy = [&](const Arena &arena) {
			size = std::min<std::size_t>(size, arena.end() - ip);
			std::memcpy(to, reinterpret_cast<const void *>(ip), size);
			return static_cast<int>(size);
		};
		for (const Arena &arena : arenas)
			if (ip >= arena.base && ip < arena.end())
				return copy(arena);
		return ip >= base_arena.base && ip < base_arena.end() ? copy(base_arena) : -pte_nomap;
	}

	const std::vector<Step> &steps;
	const Expected &expected;
	const std::uint64_t cr3_differs;
	const Tell &tell;
	std::size_t at = 0, payloads = 0, address_spaces = 0;
	std::optional<std::size_t> leaving; /* the first step that is not traced any more */
	std::size_t beyond = 0;             /* instructions from there on that libipt has walked over */
	bool exiting = false;
	std::string wrong;
};

} // namespace

std::string judge_kernel(
	const Program &program, const KernelSteps &stepped, KernelTrace trace, const Tell &tell, KernelCounts &counts)
{
	const std::vector<Step> steps = all_steps(program, stepped.steps);
	const Expected expected = expect(steps);
	KernelJudge judge(steps, expected, stepped.cr3 ^ trace.cr3, tell);
	std::string wrong = judge.judge(trace.bytes);
	if (wrong.empty() && expected.stopped != !!(trace.status & Enables::stopped_bit))
		wrong = text("IA32_RTIT_STATUS is %lx, and Stopped has to be %d", trace.status, expected.stopped);
	/* Faults are counted where nothing is traced, too. */
	if (wrong.empty() && stepped.faults != trace.faults)
		wrong = text("of %lu faults it has had %lu", stepped.faults, trace.faults);
	counts.steps += steps.size();
	counts.instructions += expected.items.size();
	for (const Expected::Item &item : expected.items)
		counts.places += item.place;
	counts.payloads += expected.payloads.size();
	counts.address_spaces += expected.address_spaces.size();
	counts.stops += expected.stops;
	counts.edges += judge.edges;
	return wrong;
}

} // namespace hwsim::fuzz
