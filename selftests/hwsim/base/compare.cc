// SPDX-License-Identifier: GPL-2.0-or-later
#include "compare.h"

#include <algorithm>
#include <cinttypes>
#include <unordered_map>

namespace hwsim
{
namespace
{

std::uint64_t hash_run(std::span<const Step> steps)
{
	std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
	for (const Step &step : steps)
		for (const std::uint64_t word : {step.from, step.to})
			hash = (hash ^ word) * 0x1000'0000'01b3;
	return hash;
}

/* The number of equal steps at the beginning of both, at most "most". */
std::size_t agreement(std::span<const Step> truth, std::span<const Step> decoded, std::size_t most)
{
	const std::size_t size = std::min({truth.size(), decoded.size(), most});
	std::size_t i = 0;
	while (i < size && truth[i] == decoded[i])
		i++;
	return i;
}

/* So many equal steps are proof; and a bound for programs that repeat the same steps for ever. */
constexpr std::size_t sure = 2000, most_places = 2000;

using Places = std::unordered_map<std::uint64_t, std::vector<std::size_t>>;

/* Where runs of steps begin in the window, by the hash of the run; at the end shorter ones, which may be the tail of both. */
Places places_of_runs(std::span<const Step> truth, std::size_t window, std::size_t run)
{
	Places places;
	for (std::size_t i = 0; i < std::min(truth.size(), window); i++) {
		auto &list = places[hash_run(truth.subspan(i, std::min(run, truth.size() - i)))];
		if (list.size() < most_places)
			list.push_back(i);
	}
	return places;
}

/*
 * Finds the place from which both agree for at least "run" steps. Programs repeat themselves, so there may be many such places: takes
 * the one with the longest agreement, and of equally good ones the nearest. Places in the truth are looked up by the hash of a run.
 * Empty if there is no such place.
 */
std::optional<Difference> find_agreement(
	std::span<const Step> truth, std::span<const Step> decoded, std::size_t window, std::size_t run)
{
	/* A bound for programs that repeat the same steps for ever. */
	constexpr std::size_t most_starts = 32;
	std::optional<Difference> best;
	std::size_t longest = 0, starts = 0;
	const Places places = places_of_runs(truth, window, run);
	for (std::size_t j = 0; j < std::min(decoded.size(), window) && starts < most_starts && longest < sure; j++) {
		const auto rest = decoded.subspan(j);
		const auto found = places.find(hash_run(rest.first(std::min(run, rest.size()))));
		if (found == places.end())
			continue;
		starts++;
		for (const std::size_t i : found->second) {
			/* An agreement shorter than a run is the tail of both: no other has its hash. */
			const std::size_t length = agreement(truth.subspan(i), rest, sure);
			if (length > longest) {
				longest = length;
				best = {0, i, 0, j};
			}
		}
	}
	return best;
}

/*
 * In a recursive program a few equal steps are found in more places than can be looked at, and the right one may be the last. So look
 * for a long run first, one that begins with the next decoded step.
 */
Difference resynchronize(std::span<const Step> truth, std::span<const Step> decoded, const Rules &rules)
{
	constexpr std::size_t telling = 256;
	const auto found = find_agreement(truth, decoded, rules.window, telling);
	/* If it begins later, there may be a shorter agreement before it. */
	if (found && !found->decoded_size)
		return *found;
	return find_agreement(truth, decoded, rules.window, rules.run)
		.value_or(Difference{0, truth.size(), 0, decoded.size()});
}

/*
 * For a trace in parts: finds where the next part is in the truth. Its first steps may have been taken for the end of the part before,
 * if they look the same: so up to "back" steps are taken back. Of the places with the longest agreement the nearest is the right one: it
 * cannot be too far, for what comes next is behind it. Empty if the part is too short to be recognized.
 */
std::optional<Difference> find_part(
	std::span<const Step> truth, std::span<const Step> decoded, std::size_t back, const Rules &rules)
{
	const Places places = places_of_runs(truth, rules.window, rules.run);
	/* At the end of the decoded steps fewer than a run are left: take back as many as a run needs. */
	const std::size_t least = back + rules.run - std::min(back + rules.run, decoded.size());
	for (std::size_t taken = least; taken <= back; taken++) {
		const auto rest = decoded.subspan(back - taken);
		const auto found = places.find(hash_run(rest.first(rules.run)));
		if (found == places.end())
			continue;
		std::size_t longest = taken, at = 0;
		for (const std::size_t i : found->second)
			if (const std::size_t length = agreement(truth.subspan(i), rest, sure);
				length > longest && i > back - taken) {
				longest = length;
				at = i;
			}
		if (longest > taken)
			return Difference{back - taken, at - (back - taken), back - taken, 0};
	}
	return {};
}

bool is_loss(const Step &step)
{
	return step.from == loss;
}

bool is_resumption(const Step &step)
{
	return is_loss(step) && step.to == resumption;
}

bool begins_loss(const Step &step)
{
	return is_loss(step) && !is_resumption(step);
}

/* The number of steps without the marks. */
std::size_t steps_of(std::span<const Step> steps)
{
	return steps.size() - static_cast<std::size_t>(std::ranges::count_if(steps, is_loss));
}

/*
 * Outcomes that no packet has told yet are lost with the rest: at most so many steps, including those that need no packet, stand before
 * the mark of such a loss.
 */
constexpr std::size_t most_pending = 512;

/* The number of entries that were lost here, both marks included; 0 if the truth does not mark where the trace resumes. */
std::size_t gap(std::span<const Step> truth)
{
	const auto pending = truth.first(std::min(truth.size(), most_pending));
	const auto mark = std::ranges::find_if(pending, is_loss);
	if (mark == pending.end() || is_resumption(*mark))
		return 0;
	const auto end = std::find_if(truth.begin() + (mark - pending.begin()) + 1, truth.end(), is_loss);
	return end != truth.end() && is_resumption(*end) ? static_cast<std::size_t>(end - truth.begin()) + 1 : 0;
}

/*
 * Where trace is cut, a decoder may follow the program for a few steps more, in the wrong direction or past the beginning of the loss.
 */
constexpr std::size_t most_invented = 4;

/*
 * After a gap: the position in "decoded" where the trace resumes; "at" is where the comparison stands. The lost steps may begin like
 * those after the gap, so the position may be up to "back" steps before "at"; or it is after "at", by the steps that the decoder
 * invented. Empty if there is no agreement there.
 */
std::optional<std::size_t> where_it_goes_on(
	std::span<const Step> truth, std::span<const Step> decoded, std::size_t at, std::size_t back)
{
	std::optional<std::size_t> best;
	std::size_t longest = 0;
	const auto look = [&](std::size_t place, std::size_t distance) {
		const std::size_t length = agreement(truth, decoded.subspan(place), sure);
		if (length <= longest + distance)
			return;
		longest = length - distance;
		best = place;
	};
	for (std::size_t taken = 0; taken <= back; taken++)
		look(at - taken, taken);
	for (std::size_t invented = 1; invented <= std::min(most_invented, decoded.size() - at); invented++)
		look(at + invented, invented);
	return best;
}

/* Trace goes to memory in pieces, so the mark of a loss may come so many steps after the first step that was lost, but no more. */
constexpr std::size_t most_before = 32'768;

/* Do losses that the truth marks explain this difference? */
bool is_marked(const Difference &difference, std::span<const Step> missing)
{
	const auto first = std::ranges::find_if(missing, begins_loss);
	return first != missing.end() && first - missing.begin() <= static_cast<std::ptrdiff_t>(most_before) &&
	       difference.decoded_size <= most_invented;
}

/*
 * Whether a part of fewer steps than a run, of which some may have been taken for what comes first, is in the truth before the next part,
 * in one piece.
 */
bool is_short_part(std::span<const Step> truth, std::span<const Step> part, const Rules &rules)
{
	return part.size() < rules.run && !std::ranges::search(truth, part).empty();
}

} // namespace

/* So many steps at the beginning of a part may have been taken for the end of the part before. */
constexpr std::size_t longest_taken_back = 32;

Comparison compare(std::span<const Step> truth, std::span<const Step> decoded, const Rules &rules)
{
	Comparison result;
	result.losses = static_cast<std::size_t>(std::ranges::count_if(truth, begins_loss));
	result.truth = steps_of(truth);
	result.decoded = decoded.size();
	std::size_t i = 0, j = 0, alike = 0;
	while (i < truth.size() || j < decoded.size()) {
		/* The end of a loss without its beginning, which may be in the log before this one: it excuses nothing here. */
		if (i < truth.size() && is_resumption(truth[i])) {
			i++;
			continue;
		}
		if (i < truth.size() && j < decoded.size() && truth[i] == decoded[j]) {
			result.equal++;
			alike++;
			i++;
			j++;
			continue;
		}
		if (const std::size_t lost = gap(truth.subspan(i))) {
			const std::size_t back = std::min(most_pending, alike);
			if (const auto place = where_it_goes_on(truth.subspan(i + lost), decoded, j, back)) {
				const std::size_t taken = j - std::min(j, *place);
				result.equal -= taken;
				result.missing += steps_of(truth.subspan(i, lost)) + taken;
				i += lost;
				j = *place;
				alike = 0;
				continue;
			}
		}
		if (rules.partial && j < decoded.size()) {
			const std::size_t back = std::min({longest_taken_back, i, j, alike});
			if (const auto part =
					find_part(truth.subspan(i - back), decoded.subspan(j - back), back, rules)) {
				const std::size_t taken = back - part->decoded_at;
				result.equal -= taken;
				result.missing += part->truth_size;
				i += part->truth_size - taken;
				j -= taken;
				alike = 0;
				continue;
			}
		}
		Difference difference = resynchronize(truth.subspan(i), decoded.subspan(j), rules);
		const std::size_t begun = std::min({alike, i, j});
		const bool is_short = rules.partial && difference.decoded_size &&
				      is_short_part(truth.subspan(i - begun, begun + difference.truth_size),
					      decoded.subspan(j - begun, begun + difference.decoded_size), rules);
		const auto missing = truth.subspan(i, difference.truth_size);
		const bool is_excused =
			rules.excuse && rules.excuse(missing, decoded.subspan(j, difference.decoded_size), alike);
		difference.truth_at = i;
		difference.decoded_at = j;
		i += difference.truth_size;
		j += difference.decoded_size;
		alike = 0;
		if (is_short) {
			result.equal += difference.decoded_size;
			result.missing += steps_of(missing) - difference.decoded_size;
			continue;
		}
		result.excused += is_excused;
		if (is_excused || is_marked(difference, missing) || (rules.partial && !difference.decoded_size))
			result.missing += steps_of(missing);
		else
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
