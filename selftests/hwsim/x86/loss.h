/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loss: the registers of trace units no longer hold what software wrote last, as after S3, or after another owner has used the
 * unit. Memory, including the DS area, is unchanged.
 */
#ifndef HWSIM_X86_LOSS_H
#define HWSIM_X86_LOSS_H

#include <cstdint>
#include <string_view>

namespace hwsim::x86
{

struct Loss {
	enum class To : std::uint8_t {
		nothing, /* an announced loss is cancelled */
		reset,   /* SDM volume 3, "Processor State Following Reset" */
		other,   /* what another owner left behind, TraceEn, TR and BTS being clear */
	};
	To to = To::nothing;
	std::uint64_t base = 0; /* of "other": its OUTPUT_BASE */
	/* The loss comes right before each processor's next WRMSR of this MSR; at once if 0. */
	std::uint32_t at = 0;

	/* "reset", "other:BASE", either with " at MSR"; "nothing". False, and no change, if it is none of these. */
	bool set(std::string_view text);
};

} // namespace hwsim::x86

#endif
