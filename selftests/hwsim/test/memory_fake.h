/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guest memory in one array, from address 0 on; linear addresses equal physical ones, and accesses beyond the end fail. */
#ifndef HWSIM_TEST_MEMORY_FAKE_H
#define HWSIM_TEST_MEMORY_FAKE_H

#include <algorithm>
#include <vector>

#include "../base/memory.h"

class FakeMemory final : public hwsim::GuestMemory
{
public:
	explicit FakeMemory(std::size_t size) : bytes(size) {}

	bool read(std::uint64_t address, std::span<std::uint8_t> to) override
	{
		if (!has(address, to.size()))
			return false;
		reads++;
		std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(address), to.size(), to.begin());
		return true;
	}
	bool write(std::uint64_t address, std::span<const std::uint8_t> from) override
	{
		if (!has(address, from.size()))
			return false;
		std::ranges::copy(from, bytes.begin() + static_cast<std::ptrdiff_t>(address));
		return true;
	}
	bool read_linear(std::uint64_t address, std::span<std::uint8_t> to) override { return read(address, to); }
	bool write_linear(std::uint64_t address, std::span<const std::uint8_t> from) override
	{
		return write(address, from);
	}

	std::vector<std::uint8_t> bytes;
	std::uint64_t reads = 0;

private:
	bool has(std::uint64_t address, std::size_t size) const
	{
		return address <= bytes.size() && size <= bytes.size() - address;
	}
};

#endif
