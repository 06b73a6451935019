// SPDX-License-Identifier: GPL-2.0-only
#include "journal.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <format>
#include <fstream>

namespace auxpmu::machine
{
namespace
{

/*
 * Lines of the file: a word, a blank, a text. "begin" and "end" frame a step; what lies between belongs to it.
 */
constexpr std::string_view words[] = {"begin", "boot", "verdict", "stands", "reason", "finding", "says", "line", "end"};

std::string one_line(std::string_view text)
{
	std::string line(text);

	std::ranges::replace(line, '\n', ' ');
	return line;
}

Verdict verdict_of(std::string_view text)
{
	for (const Verdict one : {Verdict::passed, Verdict::failed, Verdict::not_applicable})
		if (text == text_of(one))
			return one;
	return Verdict::not_done;
}

/* What a step was doing when its end did not come to be written. */
StepResult interrupted(const std::string &name, bool rebooted)
{
	StepResult result;

	result.name = name;
	result.reason = rebooted ? "the machine went down, or was restarted, while this was done"
				 : "this program ended, or was killed, while this was done";
	result.find({rebooted ? "machine-down" : "check-killed", result.reason});
	return result;
}

} // namespace

Result<Journal> Journal::open(const std::string &folder, std::string_view boot)
{
	Journal journal;
	std::error_code error;

	std::filesystem::create_directories(folder, error);
	journal.folder = folder;
	journal.path = folder + "/journal";
	journal.booted = boot;
	journal.read(boot);
	journal.file = UniqueFd(::open(journal.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
	if (!journal.file)
		return Error{errno, std::format("cannot write the journal {}: {}; name another folder with --state",
					    journal.path, std::strerror(errno))};
	return journal;
}

/* A line that is cut, because the machine went down while it was written, has no newline, and is none. */
void Journal::read(std::string_view boot)
{
	std::ifstream from(path);
	std::string line, at;
	StepResult step;
	bool open = false;

	while (std::getline(from, line) && !from.eof()) {
		const std::size_t blank = line.find(' ');
		const std::string word = line.substr(0, blank);
		const std::string text = blank == std::string::npos ? "" : line.substr(blank + 1);

		if (std::ranges::find(words, word) == std::end(words))
			continue;
		found = true;
		if (word == "begin") {
			if (open)
				ended.push_back(interrupted(step.name, at != boot));
			step = {};
			step.name = text;
			open = true;
		} else if (word == "boot") {
			at = text;
		} else if (word == "verdict") {
			step.verdict = verdict_of(text);
		} else if (word == "stands") {
			step.stands = text == "1";
		} else if (word == "reason") {
			step.reason = text;
		} else if (word == "finding") {
			step.findings.push_back({text, ""});
		} else if (word == "says" && !step.findings.empty()) {
			step.findings.back().says = text;
		} else if (word == "line") {
			step.excerpt.push_back(text);
		} else if (word == "end" && open) {
			ended.push_back(step);
			open = false;
		}
	}
	if (open)
		ended.push_back(interrupted(step.name, at != boot));
}

const StepResult *Journal::find(std::string_view step) const
{
	const auto one = std::ranges::find(ended, step, &StepResult::name);

	return one == ended.end() ? nullptr : &*one;
}

void Journal::add(const std::string &text)
{
	/* A disk that is full, or gone: the check goes on, it could not be resumed only. */
	[[maybe_unused]] const ssize_t written = write(file.get(), text.data(), text.size());
	fsync(file.get());
}

void Journal::begin(std::string_view step)
{
	add(std::format("begin {}\nboot {}\n", step, booted));
}

void Journal::end(const StepResult &result)
{
	std::string text = std::format("verdict {}\nstands {:d}\nreason {}\n", text_of(result.verdict), result.stands,
		one_line(result.reason));

	for (const auto &finding : result.findings)
		text += std::format("finding {}\nsays {}\n", finding.name, one_line(finding.says));
	for (const auto &line : result.excerpt)
		text += std::format("line {}\n", one_line(line));
	add(text + "end \n");
	ended.push_back(result);
}

void Journal::remove()
{
	std::error_code error;

	std::filesystem::remove(path, error);
	/* succeeds if nothing else is in it */
	std::filesystem::remove(folder, error);
}

} // namespace auxpmu::machine
