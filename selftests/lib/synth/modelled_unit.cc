// SPDX-License-Identifier: GPL-2.0-only
#include "synth/modelled_unit.h"

#include <cerrno>
#include <cstring>
#include <format>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/auxpmu.h>

#include "kit/handle.h"
#include "kit/pmu.h"

namespace auxpmu
{

Result<ModelledUnit> ModelledUnit::make(std::string_view name)
{
	std::string path = std::format("{}/{}", AUXPMU_CONFIGFS, name);

	if (::mkdir(path.c_str(), 0755)) {
		int code = errno;

		return Error{code,
			std::format(
				"mkdir {}: {}: configfs has to be mounted there, auxpmu loaded, and the name one of "
				"letters, digits and _ that is not used yet; the kernel log says more",
				path, std::strerror(code))};
	}
	return ModelledUnit(std::move(path));
}

ModelledUnit::~ModelledUnit()
{
	if (folder.empty())
		return;
	static_cast<void>(live(false));
	static_cast<void>(remove());
}

Result<void> ModelledUnit::set(std::string_view attribute, std::string_view value)
{
	auto outcome = write_small_file(std::format("{}/{}", folder, attribute), value);

	if (!outcome)
		return Error{outcome.error().code, outcome.error().text + "; the kernel log says why"};
	return {};
}

Result<void> ModelledUnit::set(std::string_view attribute, std::uint64_t value)
{
	return set(attribute, std::to_string(value));
}

std::string ModelledUnit::get(std::string_view attribute) const
{
	return read_small_file(std::format("{}/{}", folder, attribute)).value_or("");
}

Result<void> ModelledUnit::remove()
{
	if (::rmdir(folder.c_str())) {
		int code = errno;

		return Error{code, std::format("rmdir {}: {}: live units stay", folder, std::strerror(code))};
	}
	folder.clear();
	return {};
}

} // namespace auxpmu
