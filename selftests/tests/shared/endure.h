/* SPDX-License-Identifier: GPL-2.0-only */
/* Rounds of an endurance test, which may be interrupted and continued. */
#ifndef AUXPMU_TESTS_ENDURE_H
#define AUXPMU_TESTS_ENDURE_H

#include <cstdint>
#include <functional>
#include <string>

namespace auxpmu::test
{

/* Calls round(n) for all remaining rounds, and notes the progress in the folder --progress. */
void endure(const std::string &name, std::uint64_t rounds, const std::function<void(std::uint64_t)> &round);

} // namespace auxpmu::test

#endif /* AUXPMU_TESTS_ENDURE_H */
