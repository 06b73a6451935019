// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests last branch records through perf and MSRs. Samples of a program with a known sequence of branches must contain these in order, all
 * that the filter passes and no others. It also tests which registers can be enabled together. The expected results come from the program
 * below and from the SDM, and share nothing with the virtual hardware. Needs root, the msr driver, and no other user of the counters.
 *
 *   lbr yes|no     do LBR and TR each exclude TraceEn?
 *
 * Prints failures, and last the number of checks.
 */
#include <atomic>
#include <cinttypes>
#include <cstring>
#include <linux/perf_event.h>
#include <sched.h>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <vector>

#include "expect.h"
#include "msr.h"

// --- the program ---------------------------------------------------------------------------

/* The kinds of branches that perf's filters distinguish. */
enum Kind : std::uint64_t { jump, conditional, call, indirect_call, indirect_jump, ret };

struct Known {
	std::uint64_t from, to, kind;
};

extern "C" {
void chain(std::uint64_t rounds);
extern const Known chain_branches[10];
}

/* chain() executes the branches of the table in this order, "rounds" times. An entry is a branch's address, its target, and its Kind. */
asm(R"(
	.text
	.type	chain, @function
chain:
	lea	.Lcallee(%rip), %r11
	lea	.Lbehind(%rip), %r10
.Lround:
.Lb0:	jmp	.Lt0
	ud2
.Lt0:	xor	%eax, %eax
.Lb1:	jz	.Lt1
	ud2
.Lt1:	jnz	.Lround
.Lb2:	call	.Lleaf
.Lr2:	nop
.Lb4:	call	*%r11
.Lr4:	nop
.Lb8:	jmp	*%r10
	ud2
.Lbehind:
	dec	%rdi
.Lb9:	jnz	.Lround
	ret
.Lleaf:	nop
.Lb3:	ret
.Lcallee:
	nop
.Lb5:	call	.Linner
.Lr5:	nop
.Lb7:	ret
.Linner:
	nop
.Lb6:	ret
	.size	chain, . - chain

	.section .data.rel.ro, "aw"
	.balign	8
	.globl	chain, chain_branches
chain_branches:
	.quad	.Lb0, .Lt0, 0,  .Lb1, .Lt1, 1,  .Lb2, .Lleaf, 2,  .Lb3, .Lr2, 5,  .Lb4, .Lcallee, 3
	.quad	.Lb5, .Linner, 2,  .Lb6, .Lr5, 5,  .Lb7, .Lr4, 5,  .Lb8, .Lbehind, 4,  .Lb9, .Lround, 1
	.text
)");

namespace
{

// --- samples -------------------------------------------------------------------------------

struct Filter {
	const char *name;
	std::uint64_t perf;  /* bits of perf_event_attr.branch_sample_type */
	std::uint64_t kinds; /* which kinds of the program's branches the filter passes */
};

constexpr std::uint64_t bit(Kind kind)
{
	return std::uint64_t{1} << kind;
}

constexpr Filter filters[] = {
	{"any", PERF_SAMPLE_BRANCH_ANY, ~std::uint64_t{0}},
	{"any_call", PERF_SAMPLE_BRANCH_ANY_CALL, bit(call) | bit(indirect_call)},
	{"any_ret", PERF_SAMPLE_BRANCH_ANY_RETURN, bit(ret)},
	{"ind_call", PERF_SAMPLE_BRANCH_IND_CALL, bit(indirect_call)},
	{"ind_jmp", PERF_SAMPLE_BRANCH_IND_JUMP, bit(indirect_jump)},
	{"cond", PERF_SAMPLE_BRANCH_COND, bit(conditional)},
	{"call", PERF_SAMPLE_BRANCH_CALL, bit(call)},
};

/* An event that counts this thread's branches and samples branch records, with its ring buffer. */
class Counter
{
public:
	Counter(std::uint64_t filter, std::uint64_t period)
	{
		perf_event_attr attr{};
		attr.size = sizeof attr;
		attr.type = PERF_TYPE_HARDWARE;
		attr.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
		attr.sample_period = period;
		attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK;
		attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | filter;
		attr.exclude_kernel = attr.exclude_hv = attr.disabled = 1;
		file = static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
		if (file < 0)
			give_up("a counter with branch records");
		void *const at = mmap(nullptr, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		if (at == MAP_FAILED)
			give_up("its ring");
		user_page = static_cast<perf_event_mmap_page *>(at);
	}
	Counter(const Counter &) = delete;
	~Counter()
	{
		munmap(user_page, page + size);
		close(file);
	}
	void enable() const { ioctl(file, PERF_EVENT_IOC_ENABLE); }
	void disable() const { ioctl(file, PERF_EVENT_IOC_DISABLE); }

	/* The branch records of each sample, newest first. The ring buffer is large enough for all samples. */
	std::vector<std::vector<perf_branch_entry>> samples() const
	{
		std::vector<std::vector<perf_branch_entry>> all;
		const std::uint64_t head = std::atomic_ref(user_page->data_head).load(std::memory_order_acquire);
		const char *const data = reinterpret_cast<const char *>(user_page) + page;
		perf_event_header header;
		for (std::uint64_t at = 0; at < head; at += header.size) {
			std::memcpy(&header, data + at, sizeof header);
			expect(header.type != PERF_RECORD_LOST, "samples are lost");
			if (header.type != PERF_RECORD_SAMPLE)
				continue;
			std::uint64_t number;
			std::memcpy(&number, data + at + sizeof header + 8, sizeof number);
			all.emplace_back(number);
			std::memcpy(
				all.back().data(), data + at + sizeof header + 16, number * sizeof(perf_branch_entry));
		}
		return all;
	}

private:
	static constexpr std::size_t page = 4096, size = 4 << 20;
	int file;
	perf_event_mmap_page *user_page;
};

std::vector<Known> known(std::uint64_t kinds)
{
	std::vector<Known> all;
	for (const Known &branch : chain_branches)
		if (kinds >> branch.kind & 1)
			all.push_back(branch);
	return all;
}

bool same(const perf_branch_entry &entry, const Known &branch)
{
	return entry.from == branch.from && entry.to == branch.to;
}

/*
 * Checks the order of a sample's records. Returns from interrupts, whose source is in the kernel, are skipped. The check ends at the first
 * record from before the program, and at an empty record.
 */
void judge(const std::vector<perf_branch_entry> &entries, const std::vector<Known> &order, unsigned &judged)
{
	std::size_t next = order.size();
	for (const perf_branch_entry &entry : entries) {
		if (entry.from >> 63)
			continue;
		if (!entry.from || entry.to == reinterpret_cast<std::uint64_t>(&chain))
			return;
		if (next == order.size()) {
			for (next = 0; next < order.size() && !same(entry, order[next]);)
				next++;
			expect(next < order.size(), "%" PRIx64 " to %" PRIx64 " is no branch of the program",
				std::uint64_t{entry.from}, std::uint64_t{entry.to});
			if (next == order.size())
				return;
		} else {
			next = (next + order.size() - 1) % order.size();
			expect(same(entry, order[next]),
				"%" PRIx64 " to %" PRIx64 " where it is %" PRIx64 " to %" PRIx64,
				std::uint64_t{entry.from}, std::uint64_t{entry.to}, order[next].from, order[next].to);
			if (!same(entry, order[next]))
				return;
		}
		judged++;
	}
}

std::vector<std::vector<perf_branch_entry>> samples_of_chain(std::uint64_t filter)
{
	constexpr std::uint64_t rounds = 100'000, period = 4999, branches = 11 * rounds;
	Counter counter(filter, period);
	counter.enable();
	chain(rounds);
	counter.disable();
	auto samples = counter.samples();
	expect(samples.size() >= branches / period / 2, "%zu samples", samples.size());
	return samples;
}

void try_filter(const Filter &filter)
{
	const auto samples = samples_of_chain(filter.perf);
	unsigned judged = 0;
	std::size_t all = 0;
	for (const auto &entries : samples) {
		all += entries.size();
		judge(entries, known(filter.kinds), judged);
	}
	/* Processors have 16 or 32 records; some are returns from interrupts. */
	expect(all >= samples.size() * 15 && judged >= all / 4 * 3, "%u of %zu records in %zu samples", judged, all,
		samples.size());
	std::printf("%zu samples, %u records\n", samples.size(), judged);
}

/*
 * With kernel branches sampled, too: those of the handler that takes the sample must be missing, because records freeze when the interrupt
 * is requested. If another interrupt has just returned, its return is there.
 */
void try_freeze()
{
	const auto samples = samples_of_chain(PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_KERNEL);
	std::size_t late = 0;
	for (const auto &entries : samples)
		late += entries.empty() || entries.front().from >> 63;
	expect(late <= samples.size() / 10, "the newest branch of %zu of %zu samples is the kernel's", late,
		samples.size());
	std::printf("%zu samples, %zu of them behind a branch of the kernel\n", samples.size(), late);
}

/* Call stack mode: a sample has those of chain()'s calls that have not returned, in order, then the call of chain() itself. */
void try_stack()
{
	const Known &leaf = chain_branches[2], &outer = chain_branches[4], &inner = chain_branches[5];
	unsigned deep = 0;
	const auto samples = samples_of_chain(PERF_SAMPLE_BRANCH_CALL_STACK);
	for (const auto &entries : samples) {
		std::size_t n = 0;
		if (n < entries.size() && same(entries[n], leaf)) {
			n++;
		} else {
			const bool nested = n < entries.size() && same(entries[n], inner);
			n += nested;
			deep += nested;
			const bool called = n < entries.size() && same(entries[n], outer);
			expect(!nested || called, "the inner call without the outer one");
			n += called;
		}
		expect(n < entries.size() && entries[n].to == reinterpret_cast<std::uint64_t>(&chain),
			"of %zu calls number %zu is not that of the program", entries.size(), n);
	}
	expect(deep > 0, "no sample within the inner call");
	std::printf("%zu samples, %u of them three deep\n", samples.size(), deep);
}

// --- beside trace ---------------------------------------------------------------------------

/* Traces this thread by the kernel's own intel_pt driver; the trace data are not used. */
class Trace
{
public:
	Trace()
	{
		unsigned type = 0;
		std::FILE *const told = std::fopen("/sys/bus/event_source/devices/intel_pt/type", "r");
		if (!told || std::fscanf(told, "%u", &type) != 1)
			give_up("intel_pt");
		std::fclose(told);
		perf_event_attr attr{};
		attr.size = sizeof attr;
		attr.type = type;
		attr.exclude_kernel = attr.disabled = 1;
		file = static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
		if (file < 0)
			give_up("trace");
		void *const ring = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		if (ring == MAP_FAILED)
			give_up("its ring");
		auto *const user = static_cast<perf_event_mmap_page *>(ring);
		user->aux_offset = 2 * page;
		user->aux_size = size;
		area = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, user->aux_offset);
		if (area == MAP_FAILED)
			give_up("its area");
		user_page = user;
		ioctl(file, PERF_EVENT_IOC_ENABLE);
	}
	Trace(const Trace &) = delete;
	~Trace()
	{
		close(file);
		munmap(area, size);
		munmap(user_page, 2 * page);
	}
	void disable() const { ioctl(file, PERF_EVENT_IOC_DISABLE); }
	/* The area is mapped read-only, so the driver overwrites it in a circle. */
	std::uint64_t head() const { return std::atomic_ref(user_page->aux_head).load(std::memory_order_acquire); }

private:
	static constexpr std::size_t page = 4096, size = 16 * page;
	int file;
	perf_event_mmap_page *user_page;
	void *area;
};

void try_beside_trace()
{
	const Trace trace;
	try_filter(filters[0]);
	trace.disable();
	expect(trace.head() > 0, "no trace beside it");
}

// --- what excludes what --------------------------------------------------------------------

constexpr std::uint32_t debugctl = 0x1d9, rtit_ctl = 0x570, rtit_status = 0x571, lbr_ctl = 0x14ce;
/* LBREn of IA32_LBR_CTL is the same bit as LBR of IA32_DEBUGCTL. */
constexpr std::uint64_t lbr = 1 << 0, tr = 1 << 6;
/* TraceEn, ToPA and BranchEn, but neither OS nor User, so that no trace is stored. */
constexpr std::uint64_t trace = 1 << 0 | 1 << 8 | 1 << 13;

bool architectural()
{
	std::uint32_t a = 7, b, c = 0, d;
	asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return d >> 19 & 1;
}

void try_exclusion(bool excludes)
{
	Registers registers;
	registers.open(sched_getcpu());
	const std::uint64_t debugctl_before = registers[debugctl];
	struct Other {
		const char *name;
		std::uint32_t msr;
		std::uint64_t on;
	};
	const Other records = architectural() ? Other{"LBREn", lbr_ctl, lbr} : Other{"LBR", debugctl, lbr};
	for (const auto &[name, msr, on] : {records, Other{"TR", debugctl, tr}}) {
		const bool both = !excludes;
		expect(registers.write(msr, on), "%s alone", name);
		expect(registers.write(rtit_ctl, trace) == both, "TraceEn beside %s", name);
		expect((registers[rtit_ctl] & 1) == both, "TraceEn behind %s", name);
		registers.write(rtit_ctl, 0);
		registers.write(msr, 0);
		expect(registers.write(rtit_ctl, trace), "TraceEn alone");
		expect(registers.write(msr, on) == both, "%s beside TraceEn", name);
		expect((registers[msr] & on) == (both ? on : 0), "%s behind TraceEn", name);
		registers.write(rtit_ctl, 0);
		registers.write(rtit_status, 0);
		registers.write(msr, 0);
	}
	registers.write(debugctl, debugctl_before);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 2) {
		std::fprintf(stderr, "usage: lbr yes|no\n");
		return 2;
	}
	/* Stays on one processor, so that all MSR accesses go to the registers being tested. */
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof one, &one);
	for (const Filter &filter : filters)
		section(filter.name, [&] { try_filter(filter); });
	section("call stack", try_stack);
	section("freeze", try_freeze);
	const bool excludes = argv[1] == std::string_view("yes");
	if (!excludes)
		section("beside trace", try_beside_trace);
	section("exclusion", [&] { try_exclusion(excludes); });
	std::printf("tried %u, wrong %u\n", tried, wrong);
	return wrong ? 1 : 0;
}
