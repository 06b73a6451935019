/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Logs: what a vCPU writes down beside its trace: the truth, each basic block of programs, and the bytes of the trace themselves. One file of
 * each per vCPU, whose names a command may change while the machine runs (Control).
 */
#ifndef HWSIM_BASE_LOGS_H
#define HWSIM_BASE_LOGS_H

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include "truth.h"

namespace hwsim
{

class Logs
{
public:
	/* Which logs are wanted, by the prefix of their files; an empty one means none. */
	struct Wanted {
		std::string truth, raw;
		bool blocks = false;                           /* beside the truth */
		std::uint64_t limit = std::uint64_t{16} << 30; /* bytes of a file of truth or blocks */
	};

	Logs(const Wanted &which, unsigned cpu) : wanted(which), index(cpu) {}

	/* Opens all logs anew, under a name of Control's. False if a file cannot be created. */
	bool open(const std::string &name);
	/* Opens another truth log, of this kind; only after open(). False if the file cannot be created. */
	bool open_truth(TruthWriter &log, const char *kind) const;
	/* Prefix, name of the log, kind of log, number of the vCPU. */
	std::string path(const std::string &prefix, const char *kind) const;
	bool has_truth() const { return !wanted.truth.empty(); }
	/* One line, in a file of its own beside the truth. */
	void write_line(const char *kind, const std::string &line) const;

	void trace_bytes(std::span<const std::uint8_t> bytes)
	{
		if (raw)
			std::fwrite(bytes.data(), 1, bytes.size(), raw.get());
	}
	void flush();
	std::uint64_t missing() const { return truth.missing() + blocks.missing(); }

	TruthWriter truth;
	TruthWriter blocks;

private:
	const Wanted &wanted;
	const unsigned index;
	std::string called;
	std::unique_ptr<std::FILE, int (*)(std::FILE *)> raw{nullptr, std::fclose};
};

} // namespace hwsim

#endif
