// SPDX-License-Identifier: GPL-2.0-or-later
#include "trbe.h"

#include <algorithm>
#include <array>
#include <utility>

namespace hwsim::arm64
{
namespace
{

/* TRBIDR_EL1: hardware updates the flags of translation table entries; programming from EL1 is allowed; any byte alignment. */
constexpr std::uint64_t idr = 0x20;
/* The writable bits of TRBLIMITR_EL1, and of TRBSR_EL1, which software clears and into which it may write any value. */
constexpr std::uint64_t limitr_bits = ~std::uint64_t{0xfff} | 0x7f;
constexpr std::uint64_t sr_bits = 0x00ff'ffff'fc76'ffff;
/* TRBSR_EL1.EC and MSS. */
constexpr std::uint64_t syndrome = (std::uint64_t{0x3f} << trbe::event_class) | 0xffff;
/* Erratum 2054223: bytes that are lost when the buffer is disabled without an effective TSB CSYNC. */
constexpr std::uint64_t most_unsynchronized = 16;
/* A cache line. */
constexpr std::uint64_t line = 64;
/* 4 GiB, more memory than any guest has. Buffer pages beyond this are not translated, and count as unmapped. */
constexpr std::uint64_t most_pages = std::uint64_t{1} << 20;

} // namespace

using namespace trbe;

void Trbe::set_faults(const Faults &now)
{
	if (now.external_abort == abort_every)
		return;
	abort_every = now.external_abort;
	next_abort = abort_every ? counts.bytes + abort_every : UINT64_MAX;
}

std::uint64_t Trbe::read(Reg which) const
{
	switch (which) {
	case Reg::limitr:
		return limitr;
	case Reg::ptr:
		return ptr - unsynchronized;
	case Reg::baser:
		return baser;
	case Reg::sr:
		return sr;
	case Reg::mar:
		return mar;
	case Reg::trg:
		return trg;
	case Reg::idr:
		return idr;
	case Reg::mpam:
		break;
	}
	return 0;
}

void Trbe::lose_context()
{
	constexpr std::uint64_t other = 0x5a5a'a5a5'5a5a'a000;

	write(Reg::limitr, 0);
	deaf = false;
	limitr ^= other & limitr_bits & ~enable;
	ptr ^= other;
	baser ^= other;
	trg ^= other & UINT32_MAX;
	mar ^= other & 0xff;
	set_sr(0);
}

/*
 * While the buffer is enabled, writes to the other registers except TRBSR_EL1 are ignored, and a write to TRBLIMITR_EL1 takes effect only
 * if it clears the enable bit.
 */
bool Trbe::write(Reg which, std::uint64_t value)
{
	if (deaf && which != Reg::mpam && which != Reg::mar && which != Reg::idr)
		return true;
	switch (which) {
	case Reg::limitr: {
		const bool was = enabled();
		limitr = was && (value & enable) ? limitr : value & limitr_bits;
		if (!was && enabled())
			start();
		deaf = was && !enabled() && errata.ignores_writes;
		if (was && !enabled())
			ptr -= std::exchange(unsynchronized, 0);
		return true;
	}
	case Reg::sr:
		set_sr(value & sr_bits);
		return true;
	case Reg::ptr:
		ptr = enabled() ? ptr : value;
		return true;
	case Reg::baser:
		baser = enabled() ? baser : value & ~(page - 1);
		return true;
	case Reg::mar:
		mar = enabled() ? mar : value & 0xfff;
		return true;
	case Reg::trg:
		trg = enabled() ? trg : value & 0xffff'ffff;
		return true;
	case Reg::mpam:
	case Reg::idr:
		break;
	}
	return false;
}

/* The maintenance interrupt is level-sensitive: it is asserted as long as TRBSR_EL1.IRQ is set. */
void Trbe::set_sr(std::uint64_t value)
{
	const std::uint64_t before = sr;
	sr = value;
	if ((before ^ sr) & irq)
		processor.maintenance_interrupt(sr & irq);
}

void Trbe::start()
{
	counts.starts++;
	context_syncs = 0;
	begin = ptr;
	astray = 0;
	pages.clear();
	if (ptr < baser || ptr >= limit()) {
		fault(implementation_defined << event_class);
		return;
	}
	const std::uint64_t count = std::min((limit() - baser) / page + errata.writes_out_of_range, most_pages);
	for (std::uint64_t n = 0; n < count; n++)
		pages.push_back(processor.translate(baser + n * page));
}

void Trbe::stop(std::uint64_t cause)
{
	set_sr((sr & ~syndrome) | cause | irq | stopped);
}

void Trbe::fault(std::uint64_t status, std::uint64_t more)
{
	counts.faults++;
	set_sr((sr & ~syndrome) | status | more | irq | stopped);
}

/* D6.4, "Trace buffer management": at the limit, writing continues at the base, except in fill mode, where collection stops. */
void Trbe::wrap()
{
	counts.wraps++;
	ptr = baser;
	switch (mode()) {
	case Mode::fill:
		stop(trbe::wrap | filled);
		break;
	case Mode::wrap:
		set_sr(sr | trbe::wrap | irq);
		break;
	case Mode::circular:
		set_sr(sr | trbe::wrap);
		astray = errata.writes_out_of_range ? line : 0;
		break;
	}
}

/* Bytes that do not cross a page. False if nothing answers there. */
bool Trbe::store(std::uint64_t address, std::span<const std::uint8_t> bytes)
{
	const std::uint64_t n = (address - baser) / page;
	return n < pages.size() && pages[n] && guest.write(*pages[n] + address % page, bytes);
}

/* Errata: copies of the newest bytes, so that no trace is lost by them, but what they overwrite. */
void Trbe::write_too_much(std::span<const std::uint8_t> newest)
{
	constexpr std::size_t most_lines = 3;
	if (errata.writes_out_of_range)
		store(limit(), newest.last(std::min(newest.size(), line)));
	if (errata.overwrites_base) {
		const auto again = newest.last(std::min(newest.size(), most_lines * line));
		store(baser, again);
		ptr += again.size();
	}
}

/* An erratum: what comes of an inconsistent view of whether trace is prohibited is garbage. */
void Trbe::allowance_changed()
{
	static constexpr std::array<std::uint8_t, 16> garbage{0x5a, 0xa5, 0xff, 0x81};
	if (!errata.wants_second_isb || !accepts() || context_syncs > 1)
		return;
	const std::size_t size = std::min<std::uint64_t>(garbage.size(), std::min(limit() - ptr, page - ptr % page));
	if (store(ptr, std::span(garbage).first(size)))
		ptr += size;
	if (ptr == limit())
		wrap();
	context_syncs = 2;
}

/* How many of the bytes can be written at once: up to the end of the page, the limit, or a pending trigger event. */
std::size_t Trbe::room(std::size_t wanted) const
{
	std::uint64_t most = std::min(page - ptr % page, limit() - ptr);
	if ((sr & trbe::trg) && trigger_mode() != TriggerMode::ignore && trg)
		most = std::min(most, trg);
	return static_cast<std::size_t>(std::min<std::uint64_t>(wanted, most));
}

/* An erratum: not what was told. */
std::span<const std::uint8_t> Trbe::corrupted(std::span<const std::uint8_t> bytes)
{
	wrong.assign(bytes.begin(), bytes.end());
	wrong[0] ^= 1;
	return wrong;
}

std::size_t Trbe::take(std::span<const std::uint8_t> bytes)
{
	std::size_t taken = 0;
	aborted = 0;
	while (taken < bytes.size() && accepts()) {
		const std::size_t size = room(astray ? std::min(bytes.size() - taken, astray) : bytes.size() - taken);
		const std::uint64_t n = (ptr - baser) / page;
		if (n >= pages.size() || !pages[n]) {
			fault(data_abort << event_class | no_translation);
			break;
		}
		const auto part = bytes.subspan(taken, size);
		const std::uint64_t at = astray ? limit() + line - astray : ptr;
		if (counts.bytes >= next_abort || !store(at, errata.corrupts ? corrupted(part) : part)) {
			if (next_abort != UINT64_MAX)
				next_abort = counts.bytes + abort_every;
			aborted = size;
			fault(data_abort << event_class | external, ea);
			break;
		}
		taken += size;
		astray -= std::min(astray, size);
		counts.bytes += size;
		ptr += size;
		if (ptr >= limit()) {
			wrap();
			if (mode() == Mode::fill)
				write_too_much(bytes.first(taken));
		}
		if ((sr & trbe::trg) && trg) {
			trg -= std::min<std::uint64_t>(trg, size);
			if (!trg)
				trigger_event();
		}
	}
	if (errata.synchronizes_at_second && taken)
		unsynchronized = accepts() && ptr > begin ? std::min(ptr - begin, most_unsynchronized) : 0;
	return taken;
}

/* D6.4, "Trigger events": the event follows the trigger after as many bytes as TRBTRG_EL1 says. */
void Trbe::trigger()
{
	if (!accepts() || (sr & trbe::trg))
		return;
	counts.triggers++;
	set_sr(sr | trbe::trg);
	if (!trg)
		trigger_event();
}

void Trbe::trigger_event()
{
	switch (trigger_mode()) {
	case TriggerMode::stop:
		stop(triggered);
		break;
	case TriggerMode::interrupt:
		set_sr(sr | irq);
		break;
	case TriggerMode::ignore:
		break;
	}
}

} // namespace hwsim::arm64
