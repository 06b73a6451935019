// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records a program by branch trace store, in the ways that perf does not, and prints the branches: "[cpu] from => to", as
 * hwsim-compare wants them.  Reads the AUX area as docs/intel-bts.md describes it.  What it noticed goes to standard error.
 *
 *   auxpmu_bts_record [--pmu NAME] [--until TRACE] MODE CPU BYTES WATERMARK PROGRAM [ARGUMENT...]
 *
 * MODE: task, inherit (the task's children, too), cpu (and the kernel), snapshot, sample, pause.  CPU: where the program runs;
 * we are on another one.  BYTES: of the AUX area; WATERMARK: aux_watermark, or of mode sample aux_sample_size.  TRACE: the
 * program is ended as soon as there are so many bytes of it.  While a full buffer waits for us a program runs on untraced,
 * for as long as we do not get a CPU: one that is to fill it several times must not end by itself.
 */
#include <algorithm>
#include <cinttypes>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit/pmu.h"
#include "kit/record.h"
#include "kit/recorder.h"

using namespace auxpmu;

namespace
{

struct Branch {
	std::uint64_t from, to, flags;
};
constexpr std::size_t unit = sizeof(Branch);

struct Wanted {
	std::string pmu = "auxpmu_bts";
	std::string mode;
	int cpu = 0;
	std::uint64_t bytes = 0;
	std::uint64_t until = UINT64_MAX;
	std::uint32_t watermark = 0;
	char **program = nullptr;
};

void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (::sched_setaffinity(0, sizeof(set), &set))
		throw std::runtime_error("there is no CPU " + std::to_string(cpu));
}

/* The traced program, which waits on its CPU until it is told to begin. */
class Program
{
public:
	Program(char **arguments, int cpu)
	{
		int ends[2];
		char byte = 0;

		if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			throw std::runtime_error("no sockets");
		child = ::fork();
		if (child < 0)
			throw std::runtime_error("no process");
		if (!child) {
			pin(cpu);
			::close(ends[1]);
			if (::write(ends[0], &byte, 1) == 1 && ::read(ends[0], &byte, 1) == 1) {
				::close(ends[0]);
				/* Its output must not mix with the branches. */
				::dup2(2, 1);
				::execv(arguments[0], arguments);
			}
			::_exit(127);
		}
		::close(ends[0]);
		start = ends[1];
		/* If it were traced on the way to its CPU, there would be trace of two CPUs. */
		if (::read(start, &byte, 1) != 1)
			throw std::runtime_error("the program is gone");
	}
	~Program()
	{
		::close(start);
		if (!over)
			::waitpid(child, nullptr, 0);
	}
	Program(const Program &) = delete;
	void begin()
	{
		if (::write(start, "", 1) != 1)
			throw std::runtime_error("the program is gone");
	}
	void end()
	{
		ending = true;
		::kill(child, SIGTERM);
	}
	bool ended()
	{
		int status;

		if (!over && ::waitpid(child, &status, WNOHANG) == child) {
			over = true;
			if (status && !(ending && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM))
				throw std::runtime_error("the program failed");
		}
		return over;
	}
	/* Stops the program until go_on(), so that none of its trace is missed. */
	void halt()
	{
		int status;

		if (!over && ::kill(child, SIGSTOP) == 0 && ::waitpid(child, &status, WUNTRACED) == child &&
			!WIFSTOPPED(status))
			over = true;
	}
	void go_on()
	{
		if (!over)
			::kill(child, SIGCONT);
	}
	pid_t pid() const { return child; }

private:
	pid_t child;
	int start;
	bool ending = false;
	bool over = false;
};

/* Counts of what the recording observed. */
struct Notes {
	std::uint64_t records = 0, truncated = 0, partial = 0, lost = 0, padding = 0, bytes = 0, samples = 0, wrong = 0;
};

class Printer
{
public:
	Printer(int on, bool only_user, Notes &into) : cpu(on), user(only_user), notes(into) {}
	void branch(const Branch &one)
	{
		/* Kernel branches may appear only if they were requested. */
		if (user && one.from >> 63) {
			notes.wrong++;
			std::fprintf(stderr, "# of the kernel: %" PRIx64 " => %" PRIx64 "\n", one.from, one.to);
		}
		std::printf("[%03d] %" PRIx64 " => %" PRIx64 "\n", cpu, one.from, one.to);
	}

	/*
	 * Decodes the bytes of an AUX area from a position on: records lie at multiples of their size, counted from the
	 * beginning of the area; everything else is zeros.
	 */
	void area(const std::vector<std::byte> &bytes, std::uint64_t position, std::uint64_t size)
	{
		std::size_t at = 0;

		while (at < bytes.size()) {
			const std::uint64_t offset = (position + at) % size;
			const std::uint64_t off = offset % unit;
			const std::size_t left = bytes.size() - at;

			if (off || offset + unit > size || left < unit) {
				const std::size_t gap = std::min({left, size - offset, off ? unit - off : left});
				zeros(bytes, at, gap);
				at += gap;
				continue;
			}
			Branch one;
			std::memcpy(&one, &bytes[at], unit);
			if (one.from || one.to)
				branch(one);
			else
				zeros(bytes, at, unit);
			at += unit;
		}
	}

	/*
	 * Decodes the newest trace backwards from where the unit was. The end of the area may lie in it, with less room than a
	 * record takes.
	 */
	std::vector<Branch> backwards(std::span<const std::byte> bytes, std::uint64_t size)
	{
		std::vector<Branch> found;
		std::size_t end = bytes.size();

		while (end >= unit) {
			Branch one;
			std::memcpy(&one, &bytes[end - unit], unit);
			if (one.from && one.to >= 0x1000) {
				found.push_back(one);
				end -= unit;
			} else {
				const bool none = !one.from && !one.to && !one.flags;
				const std::size_t gap = none ? unit : size % unit;
				notes.padding += gap;
				end -= std::min(end, gap);
			}
		}
		std::ranges::reverse(found);
		return found;
	}

private:
	void zeros(const std::vector<std::byte> &bytes, std::size_t from, std::size_t count)
	{
		for (std::size_t i = from; i < from + count; i++)
			if (bytes[i] != std::byte{}) {
				notes.wrong++;
				std::fprintf(stderr, "# %02x in the padding, byte %zu of %zu+%zu\n",
					std::to_integer<unsigned>(bytes[i]), i, from, count);
			}
		notes.padding += count;
	}

	int cpu;
	bool user;
	Notes &notes;
};

perf_event_attr instructions(std::uint64_t period)
{
	perf_event_attr attr{};

	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_INSTRUCTIONS;
	attr.sample_period = period;
	attr.exclude_kernel = 1;
	return attr;
}

class Recording
{
public:
	explicit Recording(const Wanted &asked)
		: wanted(asked), program(asked.program, asked.cpu), recorder(Recorder::open(setup()).value())
	{
		if (wanted.mode == "sample") {
			auto one = instructions(50'000);
			one.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_AUX;
			one.aux_sample_size = wanted.watermark;
			add_member(one);
		} else if (wanted.mode == "pause") {
			auto one = instructions(30'000);
			set_aux_action(one, AuxAction::resume);
			add_member(one);
			one = instructions(50'000);
			set_aux_action(one, AuxAction::pause);
			add_member(one);
		}
	}

	Notes run()
	{
		if (auto blocks = read_small_file("/sys/kernel/debug/auxpmu/" + wanted.pmu + "/buffers"))
			std::fprintf(stderr, "# buffer %.*s\n", static_cast<int>(blocks->find('\n')), blocks->c_str());
		first = recorder.aux().head();
		recorder.start().value();
		program.begin();
		while (!program.ended()) {
			take();
			if (notes.bytes >= wanted.until)
				program.end();
		}
		recorder.finish([this](const Spans &spans) { append(spans); },
				[this](const RecordView &view) { record(view); })
			.value();
		Printer printer(wanted.cpu, wanted.mode != "cpu", notes);
		if (mode() == AuxMode::overwrite && wanted.mode != "sample") {
			const auto all = recorder.aux().snapshot();
			append(all.spans);
			first = all.from;
			notes.bytes = all.to;
		}
		if (wanted.mode != "sample")
			printer.area(bytes, first, recorder.aux().size());
		return notes;
	}

private:
	AuxMode mode() const
	{
		return wanted.mode == "snapshot" || wanted.mode == "sample" ? AuxMode::overwrite : AuxMode::full_trace;
	}
	Target target() const
	{
		if (wanted.mode == "cpu")
			return Target::on_cpu(wanted.cpu);
		return wanted.mode == "inherit" ? Target::task_on_cpu(program.pid(), wanted.cpu)
						: Target::task(program.pid());
	}
	perf_event_attr attr() const
	{
		perf_event_attr asked = Pmu::find(wanted.pmu).value().attr();

		asked.exclude_kernel = wanted.mode != "cpu";
		asked.inherit = wanted.mode == "inherit";
		asked.aux_watermark = wanted.mode == "sample" ? 0 : wanted.watermark;
		if (wanted.mode == "pause")
			set_aux_action(asked, AuxAction::start_paused);
		return asked;
	}
	Recorder::Setup setup() const
	{
		return {.attr = attr(),
			.target = target(),
			.data_bytes = 512 * 1024,
			.aux_bytes = wanted.bytes,
			.mode = mode(),
			.monotonic_head = true};
	}
	void add_member(const perf_event_attr &asked)
	{
		recorder.add_member(asked, Target::task(program.pid())).value();
	}
	void append(const Spans &spans)
	{
		bytes.insert(bytes.end(), spans.first.begin(), spans.first.end());
		bytes.insert(bytes.end(), spans.second.begin(), spans.second.end());
		notes.bytes += spans.size();
	}

	/*
	 * The newest branch is the interrupt that takes the sample; or, if this interrupt came so late that the kernel was
	 * already running, whose branches are not stored, it is the branch into the kernel. Kernel 7.3 reports 0 instead of the
	 * kernel address to an event that excludes the kernel (perf_instruction_pointer()).
	 */
	bool is_newest(const Branch &branch, const SampleRecord &sample) const
	{
		const auto in_kernel = [](std::uint64_t address) {
			return static_cast<bool>(address >> 63);
		};

		if (wanted.mode != "cpu" && (!sample.ip || in_kernel(sample.ip)))
			return in_kernel(branch.to) && !in_kernel(branch.from);
		return branch.from == sample.ip;
	}

	/* Prints the sample and its newest branches, the last one last. */
	static void tell_wrong(const std::vector<Branch> &found, const SampleRecord &sample)
	{
		std::fprintf(stderr,
			"# sample at %#" PRIx64 ", %zu bytes of trace, %zu branches:", std::uint64_t{sample.ip},
			sample.aux.size(), found.size());
		for (std::size_t i = found.size() - std::min<std::size_t>(found.size(), 4); i < found.size(); i++)
			std::fprintf(stderr, " %#" PRIx64 "-%#" PRIx64, std::uint64_t{found[i].from},
				std::uint64_t{found[i].to});
		std::fputc('\n', stderr);
	}

	void record(const RecordView &view)
	{
		const bool sample = view.header.type == PERF_RECORD_SAMPLE;
		const Record one = decode(view, sample ? recorder.members().front().attr() : recorder.event().attr());

		if (auto *announced = std::get_if<AuxRecord>(&one)) {
			notes.records++;
			notes.truncated += announced->truncated();
			notes.partial += announced->partial();
		} else if (auto *taken = std::get_if<SampleRecord>(&one); taken && wanted.mode == "sample") {
			Printer printer(wanted.cpu, wanted.mode != "cpu", notes);
			const auto found = printer.backwards(taken->aux, recorder.aux().size());

			notes.samples++;
			if (found.empty() || !is_newest(found.back(), *taken)) {
				notes.wrong++;
				tell_wrong(found, *taken);
			}
			for (const Branch &branch : found)
				printer.branch(branch);
		} else if (auto *dropped = std::get_if<LostRecord>(&one)) {
			notes.lost += dropped->lost;
		}
	}

	/* Takes what is available, after waiting a moment for more; restarts the event if the buffer was full. */
	void take()
	{
		recorder.wait(1).value();
		drain();
		if (!recorder.is_full())
			return;
		program.halt();
		drain();
		recorder.restart().value();
		program.go_on();
	}
	void drain()
	{
		recorder.drain([this](const Spans &spans) { append(spans); },
			[this](const RecordView &view) { record(view); });
	}

	Wanted wanted;
	Program program;
	Recorder recorder;
	std::vector<std::byte> bytes;
	std::uint64_t first = 0;
	Notes notes;
};

Wanted parse(int argc, char **argv)
{
	Wanted wanted;
	int next = 1;

	for (; argc > next + 1 && !std::strncmp(argv[next], "--", 2); next += 2) {
		if (!std::strcmp(argv[next], "--pmu"))
			wanted.pmu = argv[next + 1];
		else if (!std::strcmp(argv[next], "--until"))
			wanted.until = std::strtoull(argv[next + 1], nullptr, 0);
		else
			throw std::runtime_error("there is no option " + std::string(argv[next]));
	}
	if (argc < next + 5)
		throw std::runtime_error("usage: auxpmu_bts_record [--pmu NAME] [--until TRACE] MODE CPU BYTES "
					 "WATERMARK PROGRAM [ARGUMENT...]");
	wanted.mode = argv[next];
	wanted.cpu = std::atoi(argv[next + 1]);
	wanted.bytes = std::strtoull(argv[next + 2], nullptr, 0);
	wanted.watermark = static_cast<std::uint32_t>(std::strtoul(argv[next + 3], nullptr, 0));
	wanted.program = argv + next + 4;
	return wanted;
}

} // namespace

int main(int argc, char **argv)
{
	try {
		const Wanted wanted = parse(argc, argv);

		/* The reader does not run on the CPU that is traced. */
		pin(wanted.cpu ? 0 : 1);
		const Notes notes = Recording(wanted).run();
		std::fprintf(stderr,
			"# records %" PRIu64 " truncated %" PRIu64 " partial %" PRIu64 " lost %" PRIu64
			" bytes %" PRIu64 " padding %" PRIu64 " samples %" PRIu64 " wrong %" PRIu64 "\n",
			notes.records, notes.truncated, notes.partial, notes.lost, notes.bytes, notes.padding,
			notes.samples, notes.wrong);
		return notes.wrong || notes.lost ? 1 : 0;
	} catch (const std::exception &failure) {
		std::fprintf(stderr, "%s\n", failure.what());
		return 2;
	}
}
