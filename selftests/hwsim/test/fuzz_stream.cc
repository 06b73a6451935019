// SPDX-License-Identifier: GPL-2.0-or-later
/* libipt reads the trace of any script, and finds in it what the script said. */
#include "stream_script.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	StreamScript script({data, size});
	script.run();
	script.verify();
	return 0;
}
