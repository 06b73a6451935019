/* SPDX-License-Identifier: GPL-2.0-only */
/* What came out of a step of the check. */
#ifndef AUXPMU_MACHINE_STEP_H
#define AUXPMU_MACHINE_STEP_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace auxpmu::machine
{

enum class Verdict {
	passed,
	failed,
	not_applicable, /* the machine has nothing that it could be about */
	not_done,       /* it could have been, and was not: the check is incomplete */
};

std::string_view text_of(Verdict verdict);

/* Something that is wrong, by its name: a fault of the hardware, or what of this project or of the kernel does not work. */
struct Finding {
	std::string name;
	std::string says;

	bool operator==(const Finding &) const = default;
};

struct StepResult {
	std::string name{};
	Verdict verdict = Verdict::passed;
	bool stands = false;                /* the step itself came to its end well, whatever else was seen meanwhile */
	std::string reason{};               /* one sentence; of a step that passed, what it has seen */
	std::vector<Finding> findings{};    /* each is a reason to fail */
	std::vector<std::string> excerpt{}; /* of what was printed, by programs and by the kernel */

	static StepResult passed(std::string sentence)
	{
		return {.verdict = Verdict::passed, .reason = std::move(sentence)};
	}
	static StepResult failed(std::string sentence)
	{
		return {.verdict = Verdict::failed, .reason = std::move(sentence)};
	}
	static StepResult not_applicable(std::string why)
	{
		return {.verdict = Verdict::not_applicable, .reason = std::move(why)};
	}
	static StepResult not_done(std::string why) { return {.verdict = Verdict::not_done, .reason = std::move(why)}; }

	void find(Finding finding);
};

} // namespace auxpmu::machine

#endif /* AUXPMU_MACHINE_STEP_H */
