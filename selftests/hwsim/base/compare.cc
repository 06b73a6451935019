// SPDX-License-Identifier: GPL-2.0-or-later
#include "compare.h"

#include <algorithm>
#include <cinttypes>
#include <unordered_map>

namespace hwsim
{
namespace
{

bool same(const Step &truth, const Step &decoded)
{
	return truth == decoded || (truth == Step{unknown, 0} && decoded.to == 0);
}

/* Steps that are the same have the same hash. */
std::uint64_t hash_run(std::span<const Step> steps)
{
	std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
	for (const Step &step : steps)
		for (const std::uint64_t word : {step.to ? step.from : unknown, step.to})
			hash = (hash ^ word) * 0x1000'0000'01b3;
	return hash;
}

bool agree(std::span<const Step> a, std::span<const Step> b, std::size_t run)
{
	const std::size_t size = std::min({a.size(), b.size(), run});
	/* A short tail has to be the tail of both. */
	if (size < run && a.size() != b.size())
		return false;
	return std::ranges::equal(a.first(size), b.first(size), same);
}

/*
 * The nearest pair of places at which "run" steps are the same, nearest meaning fewest steps skipped. The first places of all
 * runs of the truth are looked up by hash, so the cost is linear in the window.
 */
Difference resynchronize(
	std::span<const Step> truth, std::span<const Step> decoded, std::size_t window, std::size_t run)
{
	Difference best = {0, truth.size(), 0, decoded.size()};
	std::unordered_map<std::uint64_t, std::size_t> places;
	const std::size_t truth_end = std::min(truth.size(), window), decoded_end = std::min(decoded.size(), window);
	for (std::size_t i = 0; i < truth_end; i++)
		places.try_emplace(hash_run(truth.subspan(i, std::min(run, truth.size() - i))), i);
	for (std::size_t j = 0; j < decoded_end && j < best.truth_size + best.decoded_size; j++) {
		const auto rest = decoded.subspan(j);
		const auto found = places.find(hash_run(rest.first(std::min(run, rest.size()))));
		if (found == places.end() || found->second + j >= best.truth_size + best.decoded_size)
			continue;
		if (agree(truth.subspan(found->second), rest, run))
			best = {0, found->second, 0, j};
	}
	return best;
}

} // namespace

Comparison compare(std::span<const Step> truth, std::span<const Step> decoded, std::size_t window, std::size_t run)
{
	Comparison result = {truth.size(), decoded.size(), 0, {}};
	std::size_t i = 0, j = 0;
	while (i < truth.size() || j < decoded.size()) {
		if (i < truth.size() && j < decoded.size() && same(truth[i], decoded[j])) {
			result.equal++;
			i++;
			j++;
			continue;
		}
		Difference difference = resynchronize(truth.subspan(i), decoded.subspan(j), window, run);
		difference.truth_at = i;
		difference.decoded_at = j;
		i += difference.truth_size;
		j += difference.decoded_size;
		result.differences.push_back(difference);
	}
	return result;
}

namespace
{

void list(std::string &text, const char *who, std::span<const Step> steps, std::size_t at, std::size_t size)
{
	constexpr std::size_t around = 3, most = 6;
	const std::size_t begin = at - std::min(at, around);
	const std::size_t end = std::min(steps.size(), at + std::min(size, most) + around);
	for (std::size_t i = begin; i < end; i++) {
		if (i == at + most && size > most) {
			text += "    ...\n";
			break;
		}
		char line[96];
		std::snprintf(line, sizeof line, "  %c %-7s %9zu %16" PRIx64 " => %" PRIx64 "\n",
			i >= at && i < at + size ? '*' : ' ', who, i, steps[i].from, steps[i].to);
		text += line;
	}
}

} // namespace

std::string describe(const Difference &difference, std::span<const Step> truth, std::span<const Step> decoded)
{
	std::string text = std::to_string(difference.truth_size) + " steps of the truth are not in the trace, " +
			   std::to_string(difference.decoded_size) + " of the trace are not in the truth:\n";
	list(text, "truth", truth, difference.truth_at, difference.truth_size);
	list(text, "decoded", decoded, difference.decoded_at, difference.decoded_size);
	return text;
}

} // namespace hwsim
