/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Truth: what a vCPU did while it was traced, written down beside the trace. It comes from the flow tracker and has not been
 * through packets, output, driver and decoder; it shares with them the tracker itself, and the decision that tracing is on.
 *
 * One file per vCPU, a record for each taken branch or interrupt. Begin and end of tracing are records, too: from, or to, is 0;
 * except that where the trace says where a program went when it left the traced addresses, this does, too.
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

/* For "from": trace of what stands before this was lost, up to where the trace begins anew. */
constexpr std::uint64_t loss = 2;
/* For "to" of such a mark, which is not of a loss then: what was lost is what stands between the mark before and this one. */
constexpr std::uint64_t resumption = 1;

/*
 * Flipped in "from": branch trace store had no room for this record, and dropped it. No canonical address has these two bits
 * different.
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
	/* Does nothing until opened. False, with errno, if the file cannot be made. Takes steps up to so many bytes. */
	bool open(const std::string &path, std::uint64_t limit = UINT64_MAX);
	void write(std::uint64_t from, std::uint64_t to)
	{
		if (!file)
			return;
		if (buffer.size() >= batch)
			flush();
		buffer.push_back({from, to});
	}
	/* Where the last step led is not in the trace, which ends with it. One of tracing that began is no step then. */
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
	/* Steps that are in no file, of all that were opened: they were behind the limit, or the disk was full. */
	std::uint64_t missing() const { return unwritten; }

private:
	static constexpr std::size_t batch = 4096;

	struct Close {
		void operator()(std::FILE *file) const { std::fclose(file); }
	};
	std::unique_ptr<std::FILE, Close> file;
	std::vector<Step> buffer;
	std::uint64_t room = 0; /* steps */
	std::uint64_t unwritten = 0;
};

/* All of a file; throws std::runtime_error with the name of one that cannot be read. */
std::vector<Step> read_truth(const std::string &path);

} // namespace hwsim

#endif
