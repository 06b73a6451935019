// SPDX-License-Identifier: GPL-2.0-only
#include "kit/record.h"

#include <algorithm>

namespace auxpmu
{

namespace
{

/* Takes fields off the front of a record; at its end it yields nothing instead of reading beyond. */
class Cursor
{
public:
	explicit Cursor(std::span<const std::byte> bytes) noexcept : left(bytes) {}

	template <class T>
	T take() noexcept
	{
		T value{};

		if (left.size() < sizeof(T)) {
			short_of = true;
			left = {};
			return value;
		}
		std::memcpy(&value, left.data(), sizeof(T));
		left = left.subspan(sizeof(T));
		return value;
	}
	std::span<const std::byte> take_bytes(std::size_t bytes) noexcept
	{
		if (left.size() < bytes) {
			short_of = true;
			bytes = left.size();
		}
		auto part = left.first(bytes);
		left = left.subspan(bytes);
		return part;
	}
	std::span<const std::byte> rest() const noexcept { return left; }
	bool ok() const noexcept { return !short_of; }

private:
	std::span<const std::byte> left;
	bool short_of = false;
};

/* Size in bytes of the trailer that sample_id_all appends. */
std::size_t sample_id_size(const perf_event_attr &attr) noexcept
{
	std::size_t words = 0;

	if (!attr.sample_id_all)
		return 0;
	for (std::uint64_t bit : {PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID,
		     PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER})
		words += (attr.sample_type & bit) != 0;
	return words * 8;
}

SampleId take_sample_id(const RecordView &view, const perf_event_attr &attr) noexcept
{
	SampleId id;
	std::size_t bytes = sample_id_size(attr);

	if (!bytes || view.body.size() < bytes)
		return id;
	Cursor at(view.body.last(bytes));
	if (attr.sample_type & PERF_SAMPLE_TID) {
		id.pid = at.take<std::uint32_t>();
		id.tid = at.take<std::uint32_t>();
	}
	if (attr.sample_type & PERF_SAMPLE_TIME)
		id.time = at.take<std::uint64_t>();
	if (attr.sample_type & PERF_SAMPLE_ID)
		id.id = at.take<std::uint64_t>();
	if (attr.sample_type & PERF_SAMPLE_STREAM_ID)
		id.stream_id = at.take<std::uint64_t>();
	if (attr.sample_type & PERF_SAMPLE_CPU)
		id.cpu = static_cast<std::uint32_t>(at.take<std::uint64_t>());
	if (attr.sample_type & PERF_SAMPLE_IDENTIFIER)
		id.id = at.take<std::uint64_t>();
	return id;
}

/* Skips the value of a read(), as PERF_SAMPLE_READ holds it; its size depends only on read_format. */
void skip_read(Cursor &at, std::uint64_t format) noexcept
{
	std::size_t each = 1 + !!(format & PERF_FORMAT_ID);
#ifdef PERF_ATTR_SIZE_VER8
	each += !!(format & PERF_FORMAT_LOST);
#endif
	std::size_t times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	std::size_t values = format & PERF_FORMAT_GROUP ? at.take<std::uint64_t>() : 1;

	at.take_bytes((times + std::min<std::size_t>(values, 8192) * each) * 8);
}

SampleRecord take_sample(const RecordView &view, const perf_event_attr &attr) noexcept
{
	constexpr std::uint64_t unknown = PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
					  PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION |
					  PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP |
					  PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE |
					  PERF_SAMPLE_WEIGHT_STRUCT;
	std::uint64_t type = attr.sample_type;
	SampleRecord sample;
	Cursor at(view.body);

	if (type & PERF_SAMPLE_IDENTIFIER)
		sample.id.id = at.take<std::uint64_t>();
	if (type & PERF_SAMPLE_IP)
		sample.ip = at.take<std::uint64_t>();
	if (type & PERF_SAMPLE_TID) {
		sample.id.pid = at.take<std::uint32_t>();
		sample.id.tid = at.take<std::uint32_t>();
	}
	if (type & PERF_SAMPLE_TIME)
		sample.id.time = at.take<std::uint64_t>();
	if (type & PERF_SAMPLE_ADDR)
		sample.addr = at.take<std::uint64_t>();
	if (type & PERF_SAMPLE_ID)
		sample.id.id = at.take<std::uint64_t>();
	if (type & PERF_SAMPLE_STREAM_ID)
		sample.id.stream_id = at.take<std::uint64_t>();
	if (type & PERF_SAMPLE_CPU)
		sample.id.cpu = static_cast<std::uint32_t>(at.take<std::uint64_t>());
	if (type & PERF_SAMPLE_PERIOD)
		sample.period = at.take<std::uint64_t>();
	if (type & PERF_SAMPLE_READ)
		skip_read(at, attr.read_format);
	if (type & PERF_SAMPLE_CALLCHAIN)
		sample.callchain = at.take_bytes(std::min<std::uint64_t>(at.take<std::uint64_t>(), 8192) * 8);
	if (type & PERF_SAMPLE_RAW)
		sample.raw = at.take_bytes(at.take<std::uint32_t>());
	if (type & unknown) {
		sample.rest = at.rest();
		return sample;
	}
	if (type & PERF_SAMPLE_AUX)
		sample.aux = at.take_bytes(at.take<std::uint64_t>());
	sample.rest = at.rest();
	return sample;
}

} // namespace

Record decode(const RecordView &view, const perf_event_attr &attr) noexcept
{
	OtherRecord other{view.header.type, view.body};
	std::size_t trailer = sample_id_size(attr);

	if (view.header.type == PERF_RECORD_SAMPLE)
		return take_sample(view, attr);
	if (view.body.size() < trailer)
		return other;

	Cursor at(view.body.first(view.body.size() - trailer));
	Record record = other;
	switch (view.header.type) {
	case PERF_RECORD_AUX: {
		AuxRecord aux{};

		aux.offset = at.take<std::uint64_t>();
		aux.size = at.take<std::uint64_t>();
		aux.flags = at.take<std::uint64_t>();
		aux.id = take_sample_id(view, attr);
		record = aux;
		break;
	}
	case PERF_RECORD_ITRACE_START: {
		ItraceStartRecord start{};

		start.pid = at.take<std::uint32_t>();
		start.tid = at.take<std::uint32_t>();
		start.id = take_sample_id(view, attr);
		record = start;
		break;
	}
	case PERF_RECORD_LOST: {
		LostRecord lost{};

		lost.event_id = at.take<std::uint64_t>();
		lost.lost = at.take<std::uint64_t>();
		lost.id = take_sample_id(view, attr);
		record = lost;
		break;
	}
	case PERF_RECORD_LOST_SAMPLES: {
		LostSamplesRecord lost{};

		lost.lost = at.take<std::uint64_t>();
		lost.id = take_sample_id(view, attr);
		record = lost;
		break;
	}
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE: {
		ThrottleRecord throttle{};

		throttle.throttled = view.header.type == PERF_RECORD_THROTTLE;
		throttle.time = at.take<std::uint64_t>();
		throttle.event_id = at.take<std::uint64_t>();
		throttle.stream_id = at.take<std::uint64_t>();
		throttle.id = take_sample_id(view, attr);
		record = throttle;
		break;
	}
	case PERF_RECORD_AUX_OUTPUT_HW_ID: {
		AuxOutputHwIdRecord hw{};

		hw.hw_id = at.take<std::uint64_t>();
		hw.id = take_sample_id(view, attr);
		record = hw;
		break;
	}
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT: {
		TaskRecord task{};

		task.exit = view.header.type == PERF_RECORD_EXIT;
		task.pid = at.take<std::uint32_t>();
		task.ppid = at.take<std::uint32_t>();
		task.tid = at.take<std::uint32_t>();
		task.ptid = at.take<std::uint32_t>();
		task.time = at.take<std::uint64_t>();
		task.id = take_sample_id(view, attr);
		record = task;
		break;
	}
	}
	return at.ok() ? record : Record(other);
}

} // namespace auxpmu
