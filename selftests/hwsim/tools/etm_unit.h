/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * EtmUnit: what a decoder has to know of a trace unit: those of its registers, identifying and programmed ones, on which the form of its
 * trace depends. The plugin writes them beside the truth (TRUTH-PREFIX.unit.N), by name, in one line.
 */
#ifndef HWSIM_TOOLS_ETM_UNIT_H
#define HWSIM_TOOLS_ETM_UNIT_H

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

#include "../base/number.h"

namespace hwsim
{

struct EtmUnit {
	std::uint32_t configr = 0, idr0 = 0, idr1 = 0, idr2 = 0, idr8 = 0, devarch = 0;
	std::uint8_t traceid = 0;

	/* TRCDEVARCH.ARCHID differs between ETMv4 and ETE; for ETMv4 TRCIDR1.TRCARCHMAJ has to be 4, too. */
	bool is_ete() const { return (devarch & 0xffff) == 0x5a13; }
	bool is_etmv4() const { return (devarch & 0xffff) == 0x4a13 && (idr1 >> 8 & 15) == 4; }

	static EtmUnit parse(const std::string &line)
	{
		std::istringstream words(line);
		std::map<std::string, std::uint64_t> registers;
		for (std::string name, value; words >> name >> value;)
			if (const auto known = number(value))
				registers[name] = *known;
		const auto get = [&](const char *name) {
			const auto found = registers.find(name);
			if (found == registers.end())
				throw std::runtime_error(std::string("a trace unit without ") + name);
			return static_cast<std::uint32_t>(found->second);
		};
		const EtmUnit unit = {get("configr"), get("idr0"), get("idr1"), get("idr2"), get("idr8"),
			get("devarch"), static_cast<std::uint8_t>(get("traceid"))};
		if (!unit.is_ete() && !unit.is_etmv4())
			throw std::runtime_error("a trace unit that is neither ETE nor ETMv4");
		return unit;
	}
	static EtmUnit read(const std::string &path)
	{
		std::ifstream file(path);
		std::string line;
		if (!std::getline(file, line))
			throw std::runtime_error("cannot read " + path);
		return parse(line);
	}
};

} // namespace hwsim

#endif
