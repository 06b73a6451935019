/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code: machine code for a certain address, as it grows; and Random, from which everything in a program follows. */
#ifndef HWSIM_FUZZ_CODE_H
#define HWSIM_FUZZ_CODE_H

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace hwsim::fuzz
{

/* splitmix64: the same numbers for the same seed, wherever it is compiled. */
class Random
{
public:
	explicit Random(std::uint64_t seed) : state(seed) {}
	std::uint64_t next()
	{
		std::uint64_t z = state += 0x9e3779b97f4a7c15;
		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
		z = (z ^ z >> 27) * 0x94d049bb133111eb;
		return z ^ z >> 31;
	}
	/* 0 to n - 1 */
	unsigned below(unsigned n) { return static_cast<unsigned>(next() % n); }
	unsigned between(unsigned least, unsigned most) { return least + below(most - least + 1); }
	bool one_in(unsigned n) { return !below(n); }
	template <class T, std::size_t N>
	const T &of(const T (&choice)[N])
	{
		return choice[below(N)];
	}

private:
	std::uint64_t state;
};

class Code
{
public:
	explicit Code(std::uint64_t at) : base(at) {}

	std::uint64_t begin() const { return base; }
	std::uint64_t here() const { return base + bytes.size(); }
	const std::vector<std::uint8_t> &all() const { return bytes; }

	Code &put(std::initializer_list<unsigned> some)
	{
		for (const unsigned byte : some)
			bytes.push_back(static_cast<std::uint8_t>(byte));
		return *this;
	}
	/* So many bytes of a number, the lowest first. */
	Code &number(std::uint64_t value, unsigned size)
	{
		for (unsigned i = 0; i < size; i++)
			bytes.push_back(static_cast<std::uint8_t>(value >> 8 * i));
		return *this;
	}
	/* A displacement of so many bytes, behind which the instruction ends. */
	Code &to(std::uint64_t target, unsigned size) { return number(target - (here() + size), size); }
	bool reaches(std::uint64_t target, unsigned behind = 16) const
	{
		const auto distance = static_cast<std::int64_t>(target - (here() + behind));
		return distance > -0x7fffff00 && distance < 0x7fffff00;
	}
	/* A displacement whose target comes later. */
	struct Hole {
		std::size_t at;
		unsigned size;
	};
	Hole hole(unsigned size)
	{
		const Hole left{bytes.size(), size};
		number(0, size);
		return left;
	}
	/*
	 * Fills in the displacement: it leads here, or "further" bytes on. "behind": bytes of its instruction that come
	 * after it.
	 */
	void land(Hole hole, unsigned further = 0, unsigned behind = 0)
	{
		const std::uint64_t value = bytes.size() + further - (hole.at + hole.size + behind);
		for (unsigned i = 0; i < hole.size; i++)
			bytes[hole.at + i] = static_cast<std::uint8_t>(value >> 8 * i);
	}
	/* Fills in the address of this place. */
	void land_absolute(Hole hole)
	{
		for (unsigned i = 0; i < hole.size; i++)
			bytes[hole.at + i] = static_cast<std::uint8_t>(here() >> 8 * i);
	}

	/* Registers as instructions code them: 0 RAX, 1 RCX, 2 RDX, 3 RBX, 4 RSP, 5 RBP, 6 RSI, 7 RDI, 14 R14. */
	Code &load(unsigned reg, std::uint64_t value)
	{
		if (value >> 32)
			return put({0x48u | reg >> 3, 0xb8 | (reg & 7)}).number(value, 8);
		if (reg >> 3)
			put({0x41});
		return put({0xb8 | (reg & 7)}).number(value, 4);
	}
	Code &push_address(std::uint64_t value) { return load(0, value).put({0x50}); }
	/* SYSCALL with these arguments; RCX and R11 are lost. */
	Code &call_kernel(unsigned nr, std::initializer_list<std::uint64_t> arguments = {})
	{
		static constexpr unsigned in[] = {7, 6, 2, 10, 8, 9};
		unsigned i = 0;
		for (const std::uint64_t value : arguments)
			if (const unsigned reg = in[i++]; reg < 8)
				load(reg, value);
			else
				put({value >> 32 ? 0x49u : 0x41u, 0xb8 | (reg & 7)}).number(value, value >> 32 ? 8 : 4);
		return load(0, nr).put({0x0f, 0x05});
	}

private:
	std::uint64_t base;
	std::vector<std::uint8_t> bytes;
};

} // namespace hwsim::fuzz

#endif
