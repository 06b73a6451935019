/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Truth: a log of what a vCPU did while it was traced, written beside the trace. It comes from the flow tracker and not through
 * packets, output, driver and decoder; it shares with them the tracker itself and the decision whether tracing is on.
 *
 * One file per vCPU, with a record for each taken branch or interrupt. Tracing begins with a record from 0 and ends with a
 * record to 0; but if the trace tells the address at which a program left the traced addresses, the record has it, too.
 */
#ifndef HWSIM_BASE_TRUTH_H
#define HWSIM_BASE_TRUTH_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace hwsim
{

/*
 * "from" of a mark: trace was lost. The lost steps are those just before the mark, and those behind it up to where the trace
 * begins anew.
 */
constexpr std::uint64_t loss = 2;
/* "to" of a mark that ends a loss instead: the steps between the mark before and this one were lost. */
constexpr std::uint64_t resumption = 1;

/*
 * Inverted in "from" if the branch trace store had no room for the record and dropped it. Bits 62 and 63 of a canonical address
 * are equal.
 */
constexpr std::uint64_t dropped = std::uint64_t{1} << 62;

constexpr bool is_dropped(std::uint64_t from)
{
	return (from >> 62 & 1) != from >> 63;
}

struct Step {
	std::uint64_t from = 0;
	std::uint64_t to = 0;

	bool operator==(const Step &) const = default;
};

class TruthWriter
{
public:
	/*
	 * Until it is opened, a writer drops its steps. False, with errno, if the file cannot be created. The file takes at
	 * most "limit" bytes.
	 */
	bool open(const std::string &path, std::uint64_t limit = UINT64_MAX);
	void write(std::uint64_t from, std::uint64_t to)
	{
		if (file)
			keep({from, to});
	}
	/*
	 * The trace ends with the last step, whose target it does not tell. If that step is the beginning of tracing, there is
	 * no step at all.
	 */
	void open_end()
	{
		if (buffer.empty())
			return;
		buffer.back().to = 0;
		if (!buffer.back().from)
			buffer.pop_back();
	}
	bool is_open() const { return static_cast<bool>(file); }
	void flush();
	/* Steps that were not written to any of the files opened so far, because of the limit or a full disk. */
	std::uint64_t missing() const { return unwritten; }

private:
	static constexpr std::size_t batch = 4096;

	/* Never inline: most machines have no logs. */
	[[gnu::noinline]] void keep(const Step &step);

	struct Close {
		void operator()(std::FILE *file) const { std::fclose(file); }
	};
	std::unique_ptr<std::FILE, Close> file;
	std::vector<Step> buffer;
	std::uint64_t room = 0; /* steps */
	std::uint64_t unwritten = 0;
};

/* Reads a whole file; throws std::runtime_error with its name if it cannot be opened. */
std::vector<Step> read_truth(const std::string &path);

} // namespace hwsim

#endif
