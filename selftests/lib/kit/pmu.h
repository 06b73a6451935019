/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pmu: one PMU as sysfs describes it: its type, its capabilities, and where its config fields lie. find() reads them, once.
 */
#ifndef AUXPMU_KIT_PMU_H
#define AUXPMU_KIT_PMU_H

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

/* Contents of a small file of sysfs, procfs or debugfs, without the newline at its end; nothing when it cannot be read. */
std::optional<std::string> read_small_file(const std::string &path);
/* Writes such a file, which has to be there, in one piece. */
Result<void> write_small_file(const std::string &path, std::string_view text);

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
	/* From the text sysfs shows, for example "config1:0-31". */
	static std::optional<FormatField> parse(std::string_view text);
	/* value's bits moved to where they belong in the config word; value must not exceed limit(). */
	std::uint64_t place(std::uint64_t value) const noexcept;
};

class Pmu
{
public:
	/* The PMU of that name (a folder of /sys/bus/event_source/devices).  ENOENT when there is none. */
	static Result<Pmu> find(std::string_view name);
	/* All PMUs of this machine, sorted. */
	static std::vector<std::string> names();

	const std::string &name() const noexcept { return label; }
	/* For perf_event_attr.type. */
	std::uint32_t type() const noexcept { return number; }
	const std::map<std::string, FormatField, std::less<>> &format() const noexcept { return fields; }
	bool has_field(std::string_view field) const { return fields.find(field) != fields.end(); }
	/* Contents of caps/<name>, if there is one. */
	std::optional<std::string> cap(std::string_view name) const;
	/* CPUs of cpumask, when the PMU has one: it can then be opened on those only. */
	std::optional<std::string> cpumask() const;

	/*
	 * In overwrite mode, is aux_head a monotonic byte count (which tells "wrapped" from "not yet full") or, as with in-tree
	 * PMUs, an offset in the buffer? From caps/aux_head; offset when that is absent.
	 */
	bool monotonic_aux_head() const noexcept { return monotonic; }

	/* An attr for this PMU: type, size, and disabled set; everything else zero. */
	perf_event_attr attr() const noexcept;
	/* Puts value into the config field of that name.  EINVAL when there is no such field or the value does not fit. */
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
