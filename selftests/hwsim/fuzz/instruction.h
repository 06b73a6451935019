/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PtwriteForm: recognizes PTWRITE by its bytes, in the forms that programs have: of RAX, or of what RSP points to. */
#ifndef HWSIM_FUZZ_INSTRUCTION_H
#define HWSIM_FUZZ_INSTRUCTION_H

#include <cstdint>
#include <optional>

namespace hwsim::fuzz
{

struct PtwriteForm {
	bool wide;     /* of 64 bits */
	unsigned size; /* of the instruction */

	/* Empty if it is no PTWRITE. */
	static std::optional<PtwriteForm> of(const std::uint8_t *code)
	{
		const bool wide = (code[1] & 0xf8) == 0x48;
		const std::uint8_t *at = code + (wide ? 2 : 1);
		if (code[0] != 0xf3 || at[0] != 0x0f || at[1] != 0xae || (at[2] & 0x38) != 4 << 3)
			return {};
		const bool scaled = at[2] < 0xc0 && (at[2] & 7) == 4; /* a SIB byte follows */
		return PtwriteForm{wide, (wide ? 5u : 4u) + scaled};
	}
};

/* What the trace has of a PTWRITE of this value. */
struct Payload {
	std::uint64_t value = 0;
	unsigned size = 0; /* bytes; 0: nothing */

	Payload() = default;
	Payload(std::uint64_t of, unsigned bytes) : value(bytes == 4 ? of & 0xffffffff : of), size(bytes) {}
	bool operator==(const Payload &) const = default;
};

} // namespace hwsim::fuzz

#endif
