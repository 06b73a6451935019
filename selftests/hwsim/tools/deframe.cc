// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hwsim-deframe: takes the frames off what a TMC has written: a judge that shares nothing with our formatter (Deframer).
 *
 *   hwsim-deframe FRAMES OUT-PREFIX
 *
 * FRAMES is what AUX records hold, one behind the other. Writes the bytes of each trace ID to OUT-PREFIX.ID (the ID in hexadecimal), and
 * prints how many they are.
 */
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>

#include "deframer.h"

namespace
{

using namespace hwsim;

void write(const std::string &path, const std::vector<std::uint8_t> &bytes)
{
	std::ofstream file(path, std::ios::binary);
	file.write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
	if (!file.flush())
		throw std::runtime_error("cannot write " + path);
}

void run(const std::string &path, const std::string &prefix)
{
	std::ifstream file(path, std::ios::binary);
	if (!file)
		throw std::runtime_error("cannot read " + path);
	const std::vector<char> frames{std::istreambuf_iterator<char>(file), {}};
	Deframer deframer;
	deframer.process({reinterpret_cast<const std::uint8_t *>(frames.data()), frames.size()});
	for (std::uint8_t id = 1; id < Deframer::most_ids; id++) {
		if (deframer.of(id).empty())
			continue;
		char name[4];
		std::snprintf(name, sizeof name, "%x", id);
		write(prefix + "." + name, deframer.of(id));
		std::cout << name << ": " << deframer.of(id).size() << " bytes\n";
	}
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 3) {
		std::cerr << "usage: hwsim-deframe FRAMES OUT-PREFIX\n";
		return 2;
	}
	try {
		run(argv[1], argv[2]);
	} catch (const std::exception &error) {
		std::cerr << "hwsim-deframe: " << error.what() << "\n";
		return 2;
	}
}
