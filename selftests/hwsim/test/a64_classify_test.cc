// SPDX-License-Identifier: GPL-2.0-or-later
/* The A64 classifier against binutils: every encoding around each branch, and random words. */
#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "../arm64/a64_classify.h"
#include "objdump.h"

using namespace hwsim;
using namespace hwsim::arm64;

namespace
{

constexpr std::uint64_t base =
	0xffff'8000'1000'0000; /* of the words; no branch from there crosses an end of the address space */

Instruction expected(std::string_view name)
{
	static const std::map<std::string_view, Branch> kinds = {{"b", Branch::jump}, {"bl", Branch::call},
		{"cbz", Branch::conditional}, {"cbnz", Branch::conditional}, {"tbz", Branch::conditional},
		{"tbnz", Branch::conditional}, {"br", Branch::indirect_jump}, {"braa", Branch::indirect_jump},
		{"brab", Branch::indirect_jump}, {"braaz", Branch::indirect_jump}, {"brabz", Branch::indirect_jump},
		{"blr", Branch::indirect_call}, {"blraa", Branch::indirect_call}, {"blrab", Branch::indirect_call},
		{"blraaz", Branch::indirect_call}, {"blrabz", Branch::indirect_call}, {"ret", Branch::ret},
		{"retaa", Branch::ret}, {"retab", Branch::ret}, {"retaasppc", Branch::ret}, {"retabsppc", Branch::ret},
		{"retaasppcr", Branch::ret}, {"retabsppcr", Branch::ret}, {"eret", Branch::far},
		{"eretaa", Branch::far}, {"eretab", Branch::far}, {"svc", Branch::software_interrupt},
		{"hvc", Branch::software_interrupt}, {"smc", Branch::software_interrupt},
		{"brk", Branch::software_interrupt}, {"isb", Branch::barrier}};
	static const std::map<std::string_view, Special> specials = {{"svc", Special::svc}, {"hvc", Special::hvc},
		{"smc", Special::smc}, {"brk", Special::brk}, {"isb", Special::isb}, {"wfe", Special::wait},
		{"wfi", Special::wait}, {"wfet", Special::wait}, {"wfit", Special::wait},
		{"tstart", Special::transaction_start}};
	Instruction instruction;
	if (const auto kind = kinds.find(name); kind != kinds.end())
		instruction.kind = kind->second;
	else if (name.starts_with("b.") || name.starts_with("bc."))
		instruction.kind = Branch::conditional;
	if (const auto special = specials.find(name); special != specials.end())
		instruction.special = special->second;
	return instruction;
}

bool is_direct(Branch kind)
{
	return kind == Branch::conditional || kind == Branch::jump || kind == Branch::call;
}

/*
 * FEAT_CMPBR and the returns of FEAT_PAuth_LR are younger than some binutils, whose objdump prints them as .inst. They have test
 * cases of their own below.
 */
bool is_young(std::uint32_t word)
{
	return (word & 0x7e00'0000) == 0x7400'0000 || (word & 0xffc0'001f) == 0x5500'001f ||
	       (word & 0xffff'fbe0) == 0xd65f'0be0;
}

/* The parts that matter of a line "ffff800010000000:\td503201f \tnop"; word is the one that objdump has read. */
struct Line {
	std::uint64_t address = 0;
	std::uint32_t word = 0;
	std::string_view mnemonic, operands;
};

bool parse(std::string_view text, Line &line)
{
	const auto bytes = text.find(":\t"), name = text.find(" \t", bytes + 2);
	if (bytes == text.npos || name == text.npos)
		return false;
	line.address = std::strtoull(text.data(), nullptr, 16);
	line.word = static_cast<std::uint32_t>(std::strtoul(text.data() + bytes + 2, nullptr, 16));
	const auto rest = text.substr(name + 2);
	const auto end = rest.find_first_of("\t\n");
	line.mnemonic = rest.substr(0, end);
	line.operands = end == rest.npos ? "" : rest.substr(end + 1);
	return true;
}

/* The last operand of a branch is its target; a comment may follow: "x3, #5, 0xffff800010001234  // other names". */
std::uint64_t target(std::string_view operands)
{
	operands = operands.substr(0, operands.find("//"));
	const auto comma = operands.rfind(',');
	return std::strtoull(operands.data() + (comma == operands.npos ? 0 : comma + 1), nullptr, 16);
}

struct Agreement {
	std::size_t words = 0, branches = 0;
	std::set<std::string, std::less<>> names; /* of branches and special instructions */
};

/* Compares classify() with objdump for these words; objdump has to print all of them. */
void compare(const std::vector<std::uint32_t> &words, Agreement &agreement)
{
	const auto file = std::filesystem::temp_directory_path() / ("a64_classify_test." + std::to_string(getpid()));
	std::ofstream(file, std::ios::binary)
		.write(reinterpret_cast<const char *>(words.data()), static_cast<std::streamsize>(words.size() * 4));
	std::size_t count = 0;
	const std::string objdump =
		"aarch64-linux-gnu-objdump -D -z -b binary -m aarch64 --adjust-vma=" + std::to_string(base);
	for_lines_of(objdump + " " + file.string(), [&](const char *text) {
		Line line;
		if (!parse(text, line))
			return;
		if (count >= words.size() || line.address != base + 4 * count || line.word != words[count])
			FAIL("not the word that was asked for: " << text);
		count++;
		const Instruction found = classify(line.word), right = expected(line.mnemonic);
		if (is_young(line.word) && line.mnemonic == ".inst")
			return;
		bool same = found.kind == right.kind && found.special == right.special;
		if (is_direct(right.kind))
			same &= line.address + instruction_size + static_cast<std::uint64_t>(found.displacement) ==
				target(line.operands);
		else
			same &= !found.displacement;
		if (!same)
			FAIL("not as objdump has it: " << text);
		if (right.kind == Branch::none && right.special == Special::none)
			return;
		agreement.branches++;
		if (!agreement.names.contains(line.mnemonic))
			agreement.names.emplace(line.mnemonic);
	});
	std::filesystem::remove(file);
	CHECK(count == words.size());
	agreement.words += count;
}

/* Sets bits 28 to 26 to 101, which branches, exceptions and system instructions have. */
std::uint32_t into_branches(std::uint32_t word)
{
	return (word & ~0x1c00'0000u) | 0x1400'0000;
}

/* Collects words, and compares them half a million at a time. */
class Words
{
public:
	void add(std::uint32_t word)
	{
		words.push_back(word);
		if (words.size() == 1 << 19)
			compare_all();
	}
	void compare_all()
	{
		compare(words, agreement);
		words.clear();
	}
	std::uint32_t random() { return static_cast<std::uint32_t>(numbers()); }

	Agreement agreement;

private:
	std::vector<std::uint32_t> words;
	std::mt19937 numbers{17};
};

/* All values of bits 31 to 10 within the branches; below() gives the bits below them. */
template <class Below>
void add_branches(Words &words, Below below)
{
	for (std::uint32_t high = 0; high < 1 << 19; high++) {
		const std::uint32_t word = high << 13, split = (word & 0xe000'0000) | (word & 0x1fff'e000) >> 3;
		words.add(into_branches(split) | (below() & 0x3ff));
	}
}

/* All branches to a register: every operation, key, address and modifier. */
void add_register_branches(Words &words)
{
	for (std::uint32_t operation = 0; operation < 16; operation++)
		for (std::uint32_t rest = 0; rest < 1 << 12; rest++)
			words.add(0xd61f'0000 | operation << 21 | rest);
}

/* All hints and barriers, with register field 31; system instructions with a random low byte; all words around TSTART. */
void add_system(Words &words)
{
	for (std::uint32_t middle = 0; middle < 1 << 11; middle++)
		words.add(0xd503'001f | middle << 5);
	for (std::uint32_t middle = 0; middle < 1 << 16; middle++)
		words.add(0xd500'0000 | middle << 8 | (words.random() & 0xff));
	for (std::uint32_t low = 0; low < 1 << 8; low++)
		words.add(0xd523'3000 | low);
}

void add_exceptions(Words &words)
{
	for (std::uint32_t operation = 0; operation < 8; operation++)
		for (std::uint32_t low = 0; low < 32; low++)
			for (int i = 0; i < 32; i++)
				words.add(0xd400'0000 | operation << 21 | (words.random() & 0xffff) << 5 | low);
}

/* Direct branches with displacements for which each bit of the field matters. */
void add_lengths(Words &words)
{
	struct {
		std::uint32_t opcode;
		unsigned shift, bits;
	} const branches[] = {{0x1400'0000, 0, 26}, {0x9400'0000, 0, 26}, {0x5400'0000, 5, 19}, {0x5400'0010, 5, 19},
		{0x3400'0000, 5, 19}, {0xb500'0000, 5, 19}, {0x3600'0000, 5, 14}, {0xb700'0000, 5, 14}};
	for (const auto &branch : branches)
		for (unsigned bit = 0; bit < branch.bits; bit++)
			for (const std::uint32_t length : {1u << bit, (1u << bit) - 1, 0u - (1u << bit)})
				words.add(branch.opcode | (length & ((1u << branch.bits) - 1)) << branch.shift);
}

/* This many random words within the branches, and as many from everywhere. */
void add_random(Words &words, int count)
{
	for (int i = 0; i < count; i++)
		words.add(into_branches(words.random()));
	for (int i = 0; i < count; i++)
		words.add(words.random());
}

} // namespace

TEST_CASE("what binutils reads as a branch is one, and nothing else", "[a64]")
{
	Words words;
	add_branches(words, [&] {
		const std::uint32_t low = words.random();
		return low & 0x800 ? low : low & 0x400 ? 0 : 0x3ff;
	});
	add_register_branches(words);
	add_system(words);
	add_exceptions(words);
	add_lengths(words);
	add_random(words, 200'000);
	words.compare_all();

	CHECK(words.agreement.words > 1'000'000);
	CHECK(words.agreement.branches > 200'000);
	/* 16 conditions, each with B and BC; 26 other branches, none of them young; ISB, WFE, WFI, WFET, WFIT, TSTART. */
	CHECK(words.agreement.names.size() >= 32 + 26 + 6);
}

/* Takes minutes; runs only if asked for by its name. */
TEST_CASE("likewise, of many more words", "[.][a64-all]")
{
	Words words;
	add_branches(words, [] { return 0; });
	add_branches(words, [] { return 0x3ff; });
	add_branches(words, [&] { return words.random(); });
	for (std::uint32_t middle = 0; middle < 1 << 19; middle++)
		words.add(0xd500'001f | middle << 5);
	add_random(words, 4'000'000);
	words.compare_all();
	CHECK(words.agreement.words > 10'000'000);
}

namespace
{

/* The distance from a conditional branch to its target; 0 if the word is none. */
std::int64_t to(std::uint32_t word)
{
	const Instruction instruction = classify(word);
	return instruction.kind == Branch::conditional ? instruction.displacement + instruction_size : 0;
}

} // namespace

TEST_CASE("young branches are known with or without binutils", "[a64]")
{
	CHECK(to(0x7400'0041) == 8);     /* CBGT W1, W0, .+8 */
	CHECK(to(0xf400'0041) == 8);     /* CBGT X1, X0 */
	CHECK(to(0x7400'8041) == 8);     /* CBBGT */
	CHECK(to(0x7400'c041) == 8);     /* CBHGT */
	CHECK(to(0xf4e0'3fe0) == -4);    /* CBNE X0, X0 */
	CHECK(to(0x7500'2000) == -1024); /* CBGT W0, #0 */
	CHECK(to(0xf5e5'9fe0) == 1020);  /* CBNE X0, #11 */
	CHECK(to(0xf400'8041) == 0);     /* no byte form of X */
	CHECK(to(0x7400'4041) == 0);
	CHECK(to(0x7500'4041) == 0);
	CHECK(to(0x7480'0041) == 0); /* no such conditions */
	CHECK(to(0x75a0'0041) == 0);

	CHECK(classify(0x5500'005f).kind == Branch::ret); /* RETAASPPC */
	CHECK(classify(0x5520'005f).kind == Branch::ret); /* RETABSPPC */
	CHECK(classify(0xd65f'0be1).kind == Branch::ret); /* RETAASPPCR X1 */
	CHECK(classify(0xd65f'0fe1).kind == Branch::ret); /* RETABSPPCR X1 */
	CHECK(classify(0x5540'005f).kind == Branch::none);
	CHECK(classify(0x5500'0041).kind == Branch::none);
}

TEST_CASE("exceptions return behind a call, and to a breakpoint", "[a64]")
{
	CHECK(classify(0xd400'0001).special == Special::svc);
	CHECK(classify(0xd400'0002).special == Special::hvc);
	CHECK(classify(0xd400'0003).special == Special::smc);
	CHECK(classify(0xd420'0000).special == Special::brk);
	CHECK(classify(0xd440'0000).kind == Branch::none); /* HLT */
	CHECK(classify(0xd4a0'0001).kind == Branch::none); /* DCPS1 */
	CHECK(classify(0xd6bf'03e0).kind == Branch::none); /* DRPS */
	CHECK(classify(0x0000'0000).kind == Branch::none); /* UDF */
}
