/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ModelledUnit: a synthetic PMU with the properties of some trace hardware, created through configfs and removed by the
 * destructor. Requires root and configfs at /sys/kernel/config.
 */
#ifndef AUXPMU_SYNTH_MODELLED_UNIT_H
#define AUXPMU_SYNTH_MODELLED_UNIT_H

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "kit/result.h"

namespace auxpmu
{

class ModelledUnit
{
public:
	/* Creates the folder of the unit, which is not live yet. ENOENT if there is no configfs or no auxpmu. */
	static Result<ModelledUnit> make(std::string_view name);

	ModelledUnit(ModelledUnit &&other) noexcept : folder(std::exchange(other.folder, {})) {}
	ModelledUnit &operator=(ModelledUnit &&other) = delete;
	/* Unregisters the PMU and removes the folder; both fail silently while the PMU has events or mappings. */
	~ModelledUnit();

	/* Writes an attribute; see docs/modelled-units.md. The kernel log tells why a value was refused. */
	Result<void> set(std::string_view attribute, std::string_view value);
	Result<void> set(std::string_view attribute, std::uint64_t value);
	std::string get(std::string_view attribute) const;

	/* Registers or unregisters the PMU: EBUSY while it has events or mappings. */
	Result<void> live(bool on) { return set("live", on ? "1" : "0"); }
	/* Removes the folder: EBUSY while the unit is live. */
	Result<void> remove();

	const std::string &path() const noexcept { return folder; }

private:
	explicit ModelledUnit(std::string where) : folder(std::move(where)) {}

	std::string folder;
};

} // namespace auxpmu

#endif /* AUXPMU_SYNTH_MODELLED_UNIT_H */
