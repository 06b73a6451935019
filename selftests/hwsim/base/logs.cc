// SPDX-License-Identifier: GPL-2.0-or-later
#include "logs.h"

#include "control.h"

namespace hwsim
{

std::string Logs::path(const std::string &prefix, const char *kind) const
{
	if (called == Control::no_log)
		return "/dev/null";
	return prefix + (called.empty() ? "" : "." + called) + kind + "." + std::to_string(index);
}

bool Logs::open_truth(TruthWriter &log, const char *kind) const
{
	return log.open(path(wanted.truth, kind), called == Control::no_log ? UINT64_MAX : wanted.limit);
}

bool Logs::open(const std::string &name)
{
	called = name;
	if (has_truth() && !open_truth(truth, ""))
		return false;
	if (wanted.blocks && !open_truth(blocks, ".blocks"))
		return false;
	if (!wanted.raw.empty())
		raw.reset(std::fopen(path(wanted.raw, "").c_str(), "wb"));
	return wanted.raw.empty() || raw;
}

void Logs::write_line(const char *kind, const std::string &line) const
{
	if (std::FILE *file = std::fopen(path(wanted.truth, kind).c_str(), "w")) {
		std::fprintf(file, "%s\n", line.c_str());
		std::fclose(file);
	}
}

void Logs::flush()
{
	truth.flush();
	blocks.flush();
	if (raw)
		std::fflush(raw.get());
}

} // namespace hwsim
