// SPDX-License-Identifier: GPL-2.0-only
#include "shared/sampler.h"

#include <algorithm>
#include <cstring>
#include <format>

namespace auxpmu::test
{

namespace
{

template <class T>
T read_at(std::span<const std::byte> bytes, std::size_t at)
{
	T value{};

	if (at + sizeof(T) <= bytes.size())
		std::memcpy(&value, bytes.data() + at, sizeof(T));
	return value;
}

/* Checks the end of the record before this one, whose beginning is cut off: the words of its payload, as far as present. */
std::string wrong_with_cut(std::span<const std::byte> cut, const auxpmu_record &next, const Setup &setup)
{
	if (setup.pattern != AUXPMU_SYNTH_COUNTER || next.kind == AUXPMU_RECORD_START)
		return "";
	const std::uint64_t base = auxpmu_record_base(next.stream, next.seq - 1, next.seed);
	const std::size_t payload = setup.record - sizeof(auxpmu_record);

	for (std::size_t back = 8; back <= std::min(cut.size(), payload); back += 8) {
		std::uint64_t word = read_at<std::uint64_t>(cut, cut.size() - back);

		if (word != base + (payload - back) / 8)
			return std::format("byte {} of the cut record in front is not its own", cut.size() - back);
	}
	return "";
}

} // namespace

std::uint64_t number_of(std::span<const std::byte> raw)
{
	/* struct syscall_trace_enter: 8 bytes common to all events, the number of the system call, its arguments. */
	if (read_at<std::uint32_t>(raw, 8) != SYS_getpgid)
		return 0;
	return read_at<std::uint64_t>(raw, 16);
}

void need_sampling()
{
	if (!can("sampling"))
		SKIP("this kernel offers no AUX sampling");
}

perf_event_attr sampling_member(const std::string &name, std::uint32_t bytes)
{
	return sampling_member(at_syscall(name), bytes);
}

perf_event_attr sampling_member(perf_event_attr asked, std::uint32_t bytes)
{
	asked.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_AUX;
	asked.aux_sample_size = bytes;
	return asked;
}

bool all_zero(std::span<const std::byte> bytes)
{
	return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

std::string wrong_with(std::span<const std::byte> trace, const Setup &setup, std::uint64_t records, std::size_t size)
{
	std::uint64_t written = records * setup.record;
	std::size_t zeros = written < size ? size - written : 0;

	if (trace.size() != size)
		return std::format("{} bytes, expected {}", trace.size(), size);
	if (!all_zero(trace.first(zeros)))
		return std::format("the first {} bytes are not zero", zeros);

	TraceExpectation expectation = make_expectation(setup);
	expectation.any_first = true;
	TraceVerifier verifier(expectation);
	std::size_t cut = (size - zeros) % setup.record;
	auto whole = trace.subspan(zeros + cut);
	verifier.feed(whole);
	verifier.complete();
	if (!verifier.ok())
		return verifier.error();
	if (whole.empty())
		return "";
	if (verifier.streams().size() != 1 || verifier.streams()[0].next_seq != records)
		return std::format("the newest record is number {}, not {}",
			verifier.streams().empty() ? 0 : verifier.streams()[0].next_seq, records);
	return wrong_with_cut(trace.subspan(zeros, cut), read_at<auxpmu_record>(whole, 0), setup);
}

std::string wrong_with_any(
	std::span<const std::byte> trace, const Setup &setup, std::size_t size, std::uint64_t &newest)
{
	newest = 0;
	if (all_zero(trace))
		return trace.size() == size ? "" : std::format("{} zeros, expected {}", trace.size(), size);
	if (trace.size() < setup.record)
		return "it holds no whole record";
	newest = read_at<auxpmu_record>(trace, trace.size() - setup.record).seq + 1;
	return wrong_with(trace, setup, newest, size);
}

Sampler::Sampler(const Setup &wanted, const perf_event_attr &asked, const std::string &filter)
	: tracer(wanted), attr(asked)
{
	need_sampling();
	member = Event::open(attr, wanted.target, tracer.event.fd()).value();
	member.set_output(tracer.event).value();
	if (!filter.empty())
		member.set_filter(filter).value();
	tracer.enable();
}

Sampler::Sampler(const Setup &wanted, std::uint32_t bytes, const std::string &at)
	: Sampler(wanted, sampling_member(at, bytes))
{
}

std::vector<std::vector<std::byte>> Sampler::samples()
{
	std::vector<std::vector<std::byte>> found;

	tracer.data.drain([&](const RecordView &view) {
		if (view.header.type != PERF_RECORD_SAMPLE)
			return;
		auto sample = std::get<SampleRecord>(decode(view, attr));
		found.emplace_back(sample.aux.begin(), sample.aux.end());
	});
	return found;
}

std::uint64_t Sampler::records() const
{
	return emitted / tracer.setup.record + statistics().since(*tracer.before)["sessions"];
}

void Sampler::emit(std::uint64_t bytes)
{
	tracer.emit_all(bytes);
	emitted += bytes;
}

std::vector<std::byte> Sampler::sample()
{
	sample_here();
	auto all = samples();
	REQUIRE(all.size() == 1);
	return all[0];
}

} // namespace auxpmu::test
