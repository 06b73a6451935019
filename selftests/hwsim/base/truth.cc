// SPDX-License-Identifier: GPL-2.0-or-later
#include "truth.h"

#include <stdexcept>

namespace hwsim
{

bool TruthWriter::open(const std::string &path)
{
	file.reset(std::fopen(path.c_str(), "wb"));
	buffer.reserve(batch);
	return is_open();
}

void TruthWriter::flush()
{
	if (!file)
		return;
	std::fwrite(buffer.data(), sizeof(Step), buffer.size(), file.get());
	std::fflush(file.get());
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
