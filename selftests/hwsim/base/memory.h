/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GuestMemory: the memory of the machine as a trace unit sees it. Implemented by the QEMU plugin, and by an array in unit tests.
 */
#ifndef HWSIM_BASE_MEMORY_H
#define HWSIM_BASE_MEMORY_H

#include <cstdint>
#include <cstring>
#include <span>

namespace hwsim
{

class GuestMemory
{
public:
	/* By physical address, which reaches devices, too. False if nothing answers there. */
	virtual bool read(std::uint64_t address, std::span<std::uint8_t> bytes) = 0;
	virtual bool write(std::uint64_t address, std::span<const std::uint8_t> bytes) = 0;
	/* By linear address of the current address space, with any privilege. */
	virtual bool read_linear(std::uint64_t address, std::span<std::uint8_t> bytes) = 0;
	virtual bool write_linear(std::uint64_t address, std::span<const std::uint8_t> bytes) = 0;

	template <class T>
	bool load(std::uint64_t address, T &value)
	{
		std::uint8_t bytes[sizeof(T)];
		if (!read(address, bytes))
			return false;
		std::memcpy(&value, bytes, sizeof(T));
		return true;
	}
	template <class T>
	bool store(std::uint64_t address, T value)
	{
		std::uint8_t bytes[sizeof(T)];
		std::memcpy(bytes, &value, sizeof(T));
		return write(address, bytes);
	}

protected:
	~GuestMemory() = default;
};

} // namespace hwsim

#endif
