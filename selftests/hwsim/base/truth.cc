// SPDX-License-Identifier: GPL-2.0-or-later
#include "truth.h"

#include <algorithm>
#include <stdexcept>

namespace hwsim
{

bool TruthWriter::open(const std::string &path, std::uint64_t limit)
{
	file.reset(std::fopen(path.c_str(), "wb"));
	buffer.reserve(batch);
	room = limit / sizeof(Step);
	return is_open();
}

/* Behind a gap the log would be of no use: once steps could not be written, nothing more is. */
void TruthWriter::keep(const Step &step)
{
	if (buffer.size() >= batch)
		flush();
	buffer.push_back(step);
}

void TruthWriter::flush()
{
	if (!file)
		return;
	const std::size_t most = std::min<std::uint64_t>(buffer.size(), room);
	const bool written =
		std::fwrite(buffer.data(), sizeof(Step), most, file.get()) == most && !std::fflush(file.get());
	unwritten += buffer.size() - (written ? most : 0);
	room = written ? room - most : 0;
	buffer.clear();
}

std::vector<Step> read_truth(const std::string &path)
{
	const std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(path.c_str(), "rb"), std::fclose);
	if (!file)
		throw std::runtime_error("cannot read truth log " + path);
	std::vector<Step> steps, part(65536);
	std::size_t got;
	while ((got = std::fread(part.data(), sizeof(Step), part.size(), file.get())))
		steps.insert(steps.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(got));
	return steps;
}

} // namespace hwsim
