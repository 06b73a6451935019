/* SPDX-License-Identifier: GPL-2.0-only */
/* Rounds of a test of endurance, which may be interrupted and gone on with. */
#ifndef AUXPMU_TESTS_ENDURE_H
#define AUXPMU_TESTS_ENDURE_H

#include <cstdint>
#include <functional>
#include <string>

namespace auxpmu::test
{

/* Calls round(n) for all rounds that are still to come, and notes in --progress how far they came. */
void endure(const std::string &name, std::uint64_t rounds, const std::function<void(std::uint64_t)> &round);

} // namespace auxpmu::test

#endif /* AUXPMU_TESTS_ENDURE_H */
