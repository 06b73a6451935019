// SPDX-License-Identifier: GPL-2.0-or-later
#include "injector.h"

namespace hwsim
{

void Injector::set_faults(const InterruptFaults &now, std::uint64_t instructions)
{
	if (now.spurious != faults.spurious)
		spurious_at = instructions + now.spurious;
	faults = now;
}

std::uint64_t Injector::delay(bool skids)
{
	constexpr unsigned most = 128;
	if (faults.late)
		return faults.late;
	return skids ? random() % most : 0;
}

bool Injector::plan(std::uint64_t late, std::uint64_t instructions)
{
	/* The second one comes while the handler of the first runs: two at the same time would be one. */
	constexpr std::uint64_t within_handler = 200;
	/*
	 * The next request does not put off an interrupt that is on its way: branch trace store requests one with each
	 * record.
	 */
	if (late && !late_at)
		late_at = instructions + late;
	if (faults.doubled && asked % faults.doubled == 0)
		doubled_at = instructions + late + within_handler;
	return !late;
}

Injector::Due Injector::take_due(std::uint64_t instructions)
{
	Due due;
	if (late_at && instructions >= late_at)
		due.late = std::exchange(late_at, 0);
	if (doubled_at && instructions >= doubled_at)
		due.doubled = std::exchange(doubled_at, 0);
	if (faults.spurious && instructions >= spurious_at) {
		spurious_at = instructions + faults.spurious;
		due.spurious = true;
	}
	return due;
}

std::uint64_t Injector::until_next(std::uint64_t instructions, std::uint64_t never) const
{
	std::uint64_t least = never;
	for (const std::uint64_t at : {late_at, doubled_at, faults.spurious ? spurious_at : 0})
		if (at)
			least = std::min(least, at > instructions ? at - instructions : 1);
	return least;
}

} // namespace hwsim
