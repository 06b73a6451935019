/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pmu: one PMU as sysfs describes it: its type, its capabilities, and the layout of its config fields. find() reads sysfs once.
 */
#ifndef AUXPMU_KIT_PMU_H
#define AUXPMU_KIT_PMU_H

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <linux/perf_event.h>

#include "kit/result.h"

namespace auxpmu
{

/* Contents of a small file of sysfs, procfs or debugfs, without the trailing newline; std::nullopt if it cannot be read. */
std::optional<std::string> read_small_file(const std::string &path);
/* Writes to such a file in one write(). The file must exist. */
Result<void> write_small_file(const std::string &path, std::string_view text);

/* PMUs of auxpmu for trace units of hardware: does its claim hold them (the file "claim")? */
bool units_held(const std::string &pmu);
/* Waits until they are given back, a moment after the last event. False if that takes longer. */
bool wait_until_free(const std::string &pmu, std::chrono::seconds limit);

/* One entry of format/: a config word and the bits of it, lowest first; "config:0-3,8" has two ranges. */
struct FormatField {
	struct Bits {
		unsigned lowest;
		unsigned highest;
	};
	unsigned word = 0; /* 0: attr.config, 1: config1, 2: config2, 3: config3 */
	std::vector<Bits> ranges;

	unsigned width() const noexcept;
	/* The largest value that fits. */
	std::uint64_t limit() const noexcept;
	/* Parses the text that sysfs shows, for example "config1:0-31". */
	static std::optional<FormatField> parse(std::string_view text);
	/* Moves the bits of value to their positions in the config word; value must not exceed limit(). */
	std::uint64_t place(std::uint64_t value) const noexcept;
};

class Pmu
{
public:
	/* The PMU of this name (a folder of /sys/bus/event_source/devices). ENOENT if there is none. */
	static Result<Pmu> find(std::string_view name);
	/* All PMUs of this machine, sorted. */
	static std::vector<std::string> names();

	const std::string &name() const noexcept { return label; }
	/* For perf_event_attr.type. */
	std::uint32_t type() const noexcept { return number; }
	const std::map<std::string, FormatField, std::less<>> &format() const noexcept { return fields; }
	bool has_field(std::string_view field) const { return fields.find(field) != fields.end(); }
	/* Contents of caps/<name>, if this file exists. */
	std::optional<std::string> cap(std::string_view name) const;
	/* The CPUs in cpumask, if the PMU has one: events of the PMU can then be opened only on these. */
	std::optional<std::string> cpumask() const;

	/*
	 * In overwrite mode, is aux_head a monotonic byte count (which distinguishes "wrapped" from "not yet full") or, as with
	 * in-tree PMUs, an offset in the buffer? Read from caps/aux_head; if that file is absent, it is an offset.
	 */
	bool monotonic_aux_head() const noexcept { return monotonic; }

	/* An attr for this PMU with type, size and disabled set; everything else is zero. */
	perf_event_attr attr() const noexcept;
	/* Stores value in the config field of this name. EINVAL if there is no such field or the value does not fit. */
	Result<void> set(perf_event_attr &attr, std::string_view field, std::uint64_t value) const;

private:
	std::string label;
	std::string folder;
	std::uint32_t number = 0;
	bool monotonic = false;
	std::map<std::string, FormatField, std::less<>> fields;
};

} // namespace auxpmu

#endif /* AUXPMU_KIT_PMU_H */
