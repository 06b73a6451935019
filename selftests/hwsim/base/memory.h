/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GuestMemory: the memory of the machine as a trace unit sees it. Implemented by the QEMU plugin, and by an array in unit tests.
 */
#ifndef HWSIM_BASE_MEMORY_H
#define HWSIM_BASE_MEMORY_H

#include <cstdint>
#include <span>
#include <type_traits>

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
		return read(address, bytes_of(value));
	}
	template <class T>
	bool store(std::uint64_t address, T value)
	{
		return write(address, bytes_of(value));
	}
	template <class T>
	bool load_linear(std::uint64_t address, T &value)
	{
		return read_linear(address, bytes_of(value));
	}
	template <class T>
	bool store_linear(std::uint64_t address, T value)
	{
		return write_linear(address, bytes_of(value));
	}

protected:
	~GuestMemory() = default;

private:
	template <class T>
	static std::span<std::uint8_t> bytes_of(T &value)
	{
		static_assert(std::is_trivially_copyable_v<T>);
		return {reinterpret_cast<std::uint8_t *>(&value), sizeof(T)};
	}
};

} // namespace hwsim

#endif
