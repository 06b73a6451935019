// SPDX-License-Identifier: GPL-2.0-or-later
#include "judge.h"

#include <algorithm>
#include <cstring>

#include "../tools/image.h"
#include "../tools/trace_walk.h"
#include "text.h"

namespace hwsim::fuzz
{
namespace
{

bool is_software_interrupt(const Executed &one)
{
	return one.bytes[0] == 0xcc || one.bytes[0] == 0xcd;
}

class PtJudge : public WalkListener
{
public:
	PtJudge(std::vector<Executed> &steps, bool tells_payloads, const Tell &to) : executed(steps), tell(to)
	{
		for (const Executed &one : executed)
			if (tells_payloads && one.payload.size)
				payloads.push_back(one.payload);
	}

	std::string judge(std::vector<std::uint8_t> &trace)
	{
		const Image image = new_image();
		pt_image_set_callback(image.get(), read, this);
		TraceWalk(trace, image.get(), *this).run();
		if (wrong.empty() && at < executed.size())
			wrong = text("the trace ends %zu instructions before the program, at %lx", executed.size() - at,
				executed[at].ip);
		if (wrong.empty() && told < payloads.size())
			wrong = text("of %zu PTWRITEs %zu are told", payloads.size(), told);
		return wrong;
	}

private:
	void instruction(const pt_insn &instruction) override
	{
		if (!wrong.empty())
			return;
		if (at == executed.size())
			wrong = text("the trace goes on behind the end, at %lx", instruction.ip);
		else if (executed[at].ip != instruction.ip)
			differs(instruction.ip);
		else
			pass(instruction);
	}
	void differs(std::uint64_t ip)
	{
		wrong = text("instruction %zu, behind %lx, is at %lx, in the trace at %lx", at,
			at ? executed[at - 1].ip : 0, executed[at].ip, ip);
	}
	void pass(const pt_insn &instruction)
	{
		executed[at].size = instruction.size;
		executed[at].branches = always_branches(instruction.iclass);
		at++;
	}
	void branch(std::uint64_t from, std::uint64_t to) override { tell(from, to); }
	/* INT n is not an instruction to a decoder, but a place where an interrupt comes (FUP of its own address). */
	void left(std::uint64_t where) override
	{
		if (at < executed.size() && executed[at].ip == where && is_software_interrupt(executed[at]))
			at++;
	}
	void payload(std::uint64_t value, unsigned size) override
	{
		if (wrong.empty() && (told == payloads.size() || payloads[told] != Payload(value, size)))
			wrong = text("PTWRITE %zu, of %zu, is %lx (%u bytes)", told, payloads.size(), value, size);
		told++;
	}
	void overflowed(std::uint64_t behind) override
	{
		if (wrong.empty())
			wrong = text("the internal buffer has overflowed behind instruction %zu at %lx", at, behind);
	}
	void error(int status, std::uint64_t offset, std::uint64_t behind) override
	{
		if (wrong.empty())
			wrong = text("libipt at byte %lu, behind instruction %zu at %lx: %s", offset, at, behind,
				pt_errstr(pt_errcode(status)));
	}

	/*
	 * The bytes of the next instruction, as they were when it was executed. libipt has no reason to read any
	 * others.
	 */
	static int read(std::uint8_t *to, std::size_t size, const pt_asid *, std::uint64_t ip, void *context)
	{
		PtJudge &judge = *static_cast<PtJudge *>(context);
		if (judge.at == judge.executed.size())
			return -pte_nomap;
		if (judge.executed[judge.at].ip != ip) {
			if (judge.wrong.empty())
				judge.differs(ip);
			return -pte_nomap;
		}
		const Executed &next = judge.executed[judge.at];
		size = std::min<std::size_t>(size, next.available);
		std::memcpy(to, next.bytes.data(), size);
		return static_cast<int>(size);
	}

	std::vector<Executed> &executed;
	const Tell &tell;
	std::size_t at = 0;
	std::vector<Payload> payloads;
	std::size_t told = 0; /* of them */
	std::string wrong;
};

struct Record {
	std::uint64_t from, to, flags;
};

bool of_kernel(std::uint64_t address)
{
	return address >> 63;
}

/* Does the instruction enter the kernel: SYSCALL, INT n? */
bool enters_kernel(const Executed &one)
{
	return (one.bytes[0] == 0x0f && one.bytes[1] == 0x05) || is_software_interrupt(one);
}

} // namespace

std::string judge_pt(
	std::vector<Executed> &executed, std::vector<std::uint8_t> trace, bool tells_payloads, const Tell &tell)
{
	return PtJudge(executed, tells_payloads, tell).judge(trace);
}

std::string judge_bts(const std::vector<Executed> &executed, const std::vector<std::uint8_t> &trace, const Tell &tell)
{
	std::vector<Record> records;
	Record record;
	for (std::size_t at = 0; at + sizeof record <= trace.size(); at += sizeof record) {
		std::memcpy(&record, trace.data() + at, sizeof record);
		if (!record.from && !record.to)
			continue;
		tell(record.from, record.to);
		if (!of_kernel(record.from))
			records.push_back(record);
	}
	std::size_t n = 0;
	for (std::size_t i = 0; i + 1 < executed.size(); i++) {
		const Executed &one = executed[i], &next = executed[i + 1];
		if (enters_kernel(one))
			continue;
		/* If a signal came, the branch led to the instruction that was interrupted. */
		const std::uint64_t to = next.led_from ? next.led_from : next.ip;
		const auto is_it = [&](const Record &record) {
			return record.from == one.ip && record.to == to;
		};
		const bool has_to = one.branches || to != one.ip + one.size;
		std::size_t m = n;
		while (m < records.size() && of_kernel(records[m].to) && !is_it(records[m]))
			m++;
		/* A conditional branch to the next instruction may have been taken: steps do not tell. */
		if (m < records.size() && is_it(records[m]))
			n = m + 1;
		else if (has_to)
			return text("instruction %zu, a branch from %lx to %lx, has no record; of %zu the next one is "
				    "%zu, from %lx to %lx",
				i, one.ip, to, records.size(), n, n < records.size() ? records[n].from : 0,
				n < records.size() ? records[n].to : 0);
	}
	while (n < records.size() && of_kernel(records[n].to))
		n++;
	if (n < records.size())
		return text("a record from %lx to %lx is of no branch of the program", records[n].from, records[n].to);
	return "";
}

} // namespace hwsim::fuzz
