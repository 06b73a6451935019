// SPDX-License-Identifier: GPL-2.0-only
#include "shared/endure.h"

#include <cstdio>
#include <format>
#include <fstream>

#include <sys/stat.h>

#include "shared/fixture.h"

namespace auxpmu::test
{

void endure(const std::string &name, std::uint64_t rounds, const std::function<void(std::uint64_t)> &round)
{
	const std::string file =
		options().progress.empty() ? "" : std::format("{}/{}-{}", options().progress, name, options().seed);
	std::uint64_t done = 0;

	if (!file.empty()) {
		::mkdir(options().progress.c_str(), 0755);
		std::ifstream(file) >> done;
		if (done)
			std::printf("# %s: going on after round %llu\n", name.c_str(),
				static_cast<unsigned long long>(done));
	}
	for (; done < rounds; done++) {
		INFO(name << ", seed " << options().seed << ", round " << done);
		round(done);
		if (!file.empty() && (done % 16 == 15 || done + 1 == rounds))
			REQUIRE(std::ofstream(file) << done + 1 << std::endl);
		if (done % 250 == 249)
			std::printf("# %s: %llu rounds\n", name.c_str(), static_cast<unsigned long long>(done + 1));
	}
}

} // namespace auxpmu::test
