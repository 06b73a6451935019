/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs another program, with a limit: what it prints, and how it ended.
 */
#ifndef AUXPMU_MACHINE_COMMAND_H
#define AUXPMU_MACHINE_COMMAND_H

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace auxpmu::machine
{

struct Command {
	std::vector<std::string> words; /* the program first; looked for in PATH if it has no slash */
	std::chrono::seconds limit{600};
	std::optional<int> cpu{};               /* the only one that it may run on */
	std::vector<std::string> environment{}; /* NAME=VALUE, besides our own */
};

struct Outcome {
	enum class How { exited, killed, expired, not_started };

	How how = How::not_started;
	int code = 0; /* exit status, signal, or errno of the start */
	std::string output;

	bool ok() const noexcept { return how == How::exited && code == 0; }
	/* "exit status 3", "killed by signal 9", "not finished after 600 s": for a sentence. */
	std::string text() const;
};

/* Waits until it has ended, or kills it and all of its children when the limit is over. */
Outcome execute(const Command &command);

/* A program that goes on until it is killed, with all of its children; what it prints is thrown away. */
class Background
{
public:
	explicit Background(const Command &command);
	~Background() { kill(); }
	Background(Background &&other) noexcept : pid(std::exchange(other.pid, -1)) {}
	Background(const Background &) = delete;
	/* Is it still there? */
	bool alive();
	void kill();

private:
	int pid;
};

/* The file of this name in the first of these folders that has it, which can be executed. */
std::optional<std::string> find_program(const std::string &name, const std::vector<std::string> &folders);
/* The same, in PATH. */
std::optional<std::string> find_in_path(const std::string &name);

} // namespace auxpmu::machine

#endif /* AUXPMU_MACHINE_COMMAND_H */
