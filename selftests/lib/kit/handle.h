/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owners of a file descriptor and of a mapping. They are move-only and release it in the destructor.
 */
#ifndef AUXPMU_KIT_HANDLE_H
#define AUXPMU_KIT_HANDLE_H

#include <cstddef>
#include <cstdint>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace auxpmu
{

class UniqueFd
{
public:
	UniqueFd() = default;
	explicit UniqueFd(int fd) noexcept : number(fd) {}
	UniqueFd(UniqueFd &&other) noexcept : number(std::exchange(other.number, -1)) {}
	UniqueFd &operator=(UniqueFd &&other) noexcept
	{
		if (this != &other) {
			reset();
			number = std::exchange(other.number, -1);
		}
		return *this;
	}
	~UniqueFd() { reset(); }

	int get() const noexcept { return number; }
	explicit operator bool() const noexcept { return number >= 0; }
	void reset() noexcept
	{
		if (number >= 0)
			::close(std::exchange(number, -1));
	}

private:
	int number = -1;
};

class Mapping
{
public:
	Mapping() = default;
	/* Takes over [address, address + bytes), a range that mmap() returned. */
	Mapping(void *address, std::size_t bytes) noexcept : start(address), length(bytes) {}
	Mapping(Mapping &&other) noexcept
		: start(std::exchange(other.start, nullptr)), length(std::exchange(other.length, 0))
	{
	}
	Mapping &operator=(Mapping &&other) noexcept
	{
		if (this != &other) {
			reset();
			start = std::exchange(other.start, nullptr);
			length = std::exchange(other.length, 0);
		}
		return *this;
	}
	~Mapping() { reset(); }

	std::byte *data() const noexcept { return static_cast<std::byte *>(start); }
	std::size_t size() const noexcept { return length; }
	explicit operator bool() const noexcept { return start != nullptr; }
	void reset() noexcept
	{
		if (start)
			::munmap(std::exchange(start, nullptr), std::exchange(length, 0));
	}

private:
	void *start = nullptr;
	std::size_t length = 0;
};

/* Size of a page in bytes. */
inline std::size_t page_size() noexcept
{
	static const std::size_t size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
	return size;
}

} // namespace auxpmu

#endif /* AUXPMU_KIT_HANDLE_H */
