// SPDX-License-Identifier: GPL-2.0-or-later
/* Any script makes a trace that libipt reads, and that says what the script said. */
#include "stream_script.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	StreamScript script({data, size});
	script.run();
	script.verify();
	return 0;
}
