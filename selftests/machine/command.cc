// SPDX-License-Identifier: GPL-2.0-only
#include "command.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <format>
#include <poll.h>
#include <sched.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace auxpmu::machine
{
namespace
{

/* In the child: becomes the program. Only what may be called between fork() and exec(). */
[[noreturn]] void become(char *const *words, char *const *environment, const cpu_set_t *cpus, int output)
{
	const int nothing = open("/dev/null", O_RDWR);

	setsid();
	dup2(nothing, STDIN_FILENO);
	dup2(output >= 0 ? output : nothing, STDOUT_FILENO);
	dup2(output >= 0 ? output : nothing, STDERR_FILENO);
	if (cpus && sched_setaffinity(0, sizeof *cpus, cpus))
		_exit(126);
	execvpe(words[0], words, environment);
	_exit(127);
}

/* Starts it as the leader of a session of its own. Its pid, or -1. */
int start(const Command &command, int output)
{
	std::vector<char *> words, environment;
	cpu_set_t cpus;

	for (const auto &word : command.words)
		words.push_back(const_cast<char *>(word.c_str()));
	words.push_back(nullptr);
	for (const auto &one : command.environment)
		environment.push_back(const_cast<char *>(one.c_str()));
	for (char **one = environ; *one; one++)
		environment.push_back(*one);
	environment.push_back(nullptr);
	if (command.cpu) {
		CPU_ZERO(&cpus);
		CPU_SET(static_cast<std::size_t>(*command.cpu), &cpus);
	}
	const int pid = fork();

	if (!pid)
		become(words.data(), environment.data(), command.cpu ? &cpus : nullptr, output);
	return pid;
}

Outcome ended(int status)
{
	Outcome outcome;

	outcome.how = WIFEXITED(status) ? Outcome::How::exited : Outcome::How::killed;
	outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
	return outcome;
}

/* What comes out of fd until its other end is closed. False if the limit was over before. */
bool read_until(int fd, std::chrono::steady_clock::time_point end, std::string &to)
{
	char piece[4096];

	for (;;) {
		const auto left =
			std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
		pollfd one = {fd, POLLIN, 0};

		if (left.count() <= 0)
			return false;
		if (poll(&one, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 1000000))) <= 0)
			continue;
		const ssize_t size = read(fd, piece, sizeof piece);

		if (size <= 0)
			return true;
		to.append(piece, static_cast<std::size_t>(size));
	}
}

} // namespace

std::string Outcome::text() const
{
	switch (how) {
	case How::exited:
		return std::format("exit status {}", code);
	case How::killed:
		return std::format("killed by signal {} ({})", code, strsignal(code));
	case How::expired:
		return std::format("not finished after {} s", code);
	default:
		return std::format("cannot be started: {}", std::strerror(code));
	}
}

Outcome execute(const Command &command)
{
	const auto end = std::chrono::steady_clock::now() + command.limit;
	Outcome outcome;
	int ends[2], status = 0;

	if (pipe2(ends, O_CLOEXEC)) {
		outcome.code = errno;
		return outcome;
	}
	const int pid = start(command, ends[1]);

	outcome.code = errno;
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return outcome;
	}
	std::string output;
	const bool in_time = read_until(ends[0], end, output);

	close(ends[0]);
	if (!in_time)
		kill(-pid, SIGKILL);
	waitpid(pid, &status, 0);
	outcome = ended(status);
	if (!in_time) {
		outcome.how = Outcome::How::expired;
		outcome.code = static_cast<int>(command.limit.count());
	}
	outcome.output = std::move(output);
	return outcome;
}

Background::Background(const Command &command) : pid(start(command, -1)) {}

bool Background::alive()
{
	if (pid > 0 && waitpid(pid, nullptr, WNOHANG) == pid)
		pid = -1;
	return pid > 0;
}

void Background::kill()
{
	if (pid <= 0)
		return;
	/* before it has a session of its own, too */
	::kill(pid, SIGKILL);
	::kill(-pid, SIGKILL);
	waitpid(pid, nullptr, 0);
	pid = -1;
}

std::optional<std::string> find_program(const std::string &name, const std::vector<std::string> &folders)
{
	for (const auto &folder : folders)
		if (std::string path = folder + "/" + name; !access(path.c_str(), R_OK))
			return path;
	return std::nullopt;
}

std::optional<std::string> find_in_path(const std::string &name)
{
	const char *path = std::getenv("PATH");
	std::istringstream folders(path ? path : "/usr/sbin:/usr/bin:/sbin:/bin");
	std::vector<std::string> list;

	for (std::string folder; std::getline(folders, folder, ':');)
		list.push_back(folder);
	return find_program(name, list);
}

} // namespace auxpmu::machine
