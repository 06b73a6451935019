// SPDX-License-Identifier: GPL-2.0-only
#include "forecast.h"

namespace auxpmu::fuzz
{

void Forecast::remember(const Operation &operation)
{
	const auto &a = operation.arguments;

	switch (operation.kind) {
	case Kind::open:
		events[a[arg::event]] = {
			true, false, a[arg::period] && !(a[arg::flags] & 1ull << flag::inherit), a[arg::type]};
		break;
	case Kind::close:
		events[a[0]] = {};
		break;
	case Kind::map_data:
		mappings[a[0]] = {true, static_cast<unsigned>(a[1])};
		events[a[1]].mapped = true;
		break;
	case Kind::unmap:
		if (!a[1])
			mappings[a[0]].data = false;
		break;
	case Kind::start:
		if (a[0])
			actors[a[0]] = true;
		break;
	case Kind::kill:
		if (a[0])
			actors[a[0]] = false;
		break;
	case Kind::exec:
	case Kind::leave:
		actors[operation.actor] = false;
		break;
	case Kind::group_make:
		groups[a[0]] = true;
		break;
	case Kind::group_remove:
		groups[a[0]] = false;
		break;
	case Kind::model_make:
		made[a[0]] = true;
		break;
	case Kind::model_live:
		live[a[0]] = made[a[0]] && a[1];
		break;
	default:
		break;
	}
}

} // namespace auxpmu::fuzz
