// SPDX-License-Identifier: GPL-2.0-only
#include "shared/report.h"

#include <cstring>

#include "contract/tasks.h"

int main(int argc, char **argv)
{
	/* A test of exec needs something to execute: this very file. */
	if (argc > 1 && !std::strcmp(argv[1], auxpmu::test::exec_role))
		return auxpmu::test::run_exec_role(argc, argv);
	return auxpmu::test::run(argc, argv);
}
