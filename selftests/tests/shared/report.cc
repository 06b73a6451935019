// SPDX-License-Identifier: GPL-2.0-only
#include "shared/report.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <format>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch_session.hpp>
#include <catch2/catch_test_case_info.hpp>
#include <catch2/catch_test_spec.hpp>
#include <catch2/interfaces/catch_interfaces_config.hpp>
#include <catch2/internal/catch_clara.hpp>
#include <catch2/internal/catch_test_case_registry_impl.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#include <catch2/reporters/catch_reporter_streaming_base.hpp>

#include "shared/fixture.h"

namespace auxpmu::test
{

namespace
{

constexpr int exit_pass = 0;
constexpr int exit_fail = 1;
constexpr int exit_skip = 4;
constexpr int catch_nothing_ran = 2;

/* Words that must not appear in the kernel log during any test; SLUB prints "BUG " and the name of its cache. */
constexpr const char *splats[] = {"WARNING:", "BUG:", "BUG ", "Oops", "KASAN", "KFENCE", "UBSAN", "general protection",
	"Call Trace", "INFO: task", "INFO: rcu", "rcu_sched self-detected", "possible circular locking",
	"inconsistent lock state", "sleeping function called", "unreferenced object", "list_del corruption",
	"list_add corruption", "refcount_t:", "scheduling while atomic", "Bad page"};

/* Failures that Catch2 does not know of: splats in the kernel log, and tests that must not be skipped. */
bool failed_besides = false;

class KtapReporter : public Catch::StreamingReporterBase
{
public:
	explicit KtapReporter(Catch::ReporterConfig &&config) : StreamingReporterBase(std::move(config)) {}

	static std::string getDescription() { return "KTAP, one line for each test case"; }

	void testRunStarting(const Catch::TestRunInfo &) override
	{
		std::size_t tests = planned();

		m_stream << "TAP version 13\n1.." << tests << (tests ? "\n" : " # SKIP no test case of that name\n")
			 << std::flush;
	}

	void testCaseStarting(const Catch::TestCaseInfo &info) override
	{
		StreamingReporterBase::testCaseStarting(info);
		skip_reason.clear();
		log.lines();
		began = std::chrono::steady_clock::now();
	}

	void assertionEnded(const Catch::AssertionStats &stats) override
	{
		const Catch::AssertionResult &result = stats.assertionResult;

		if (result.getResultType() == Catch::ResultWas::ExplicitSkip)
			skip_reason = std::string(result.getMessage());
		if (result.isOk() || result.getResultType() == Catch::ResultWas::ExplicitSkip)
			return;
		note(std::string(result.getSourceInfo().file) + ":" + std::to_string(result.getSourceInfo().line));
		if (result.hasExpression()) {
			note("  " + result.getExpressionInMacro());
			if (result.hasExpandedExpression())
				note("  with " + result.getExpandedExpression());
		}
		if (result.hasMessage())
			note("  " + std::string(result.getMessage()));
		std::set<std::string> said;
		for (const auto &message : stats.infoMessages)
			if (message.type == Catch::ResultWas::Info && !message.message.empty() &&
				said.insert(message.message).second)
				note("  " + message.message);
	}

	/* A test that makes the perf core warn has a tag for this, which permits only this warning and only in this test. */
	static bool is_cores_own(const Catch::TestCaseInfo &test, const std::string &line)
	{
		return std::ranges::find(test.tags, Catch::Tag("core-warns")) != test.tags.end() &&
		       (line.find("Call Trace:") != std::string::npos ||
			       (line.find("WARNING: ") != std::string::npos &&
				       line.find(" kernel/events/") != std::string::npos));
	}

	void testCaseEnded(const Catch::TestCaseStats &stats) override
	{
		bool skipped = stats.totals.testCases.skipped > 0;
		bool passed = stats.totals.testCases.failed == 0;

		for (const auto &line : log.lines())
			for (const char *splat : splats)
				if (line.find(splat) != std::string::npos) {
					note("kernel: " + line);
					if (!is_cores_own(*stats.testInfo, line)) {
						passed = false;
						failed_besides = true;
					}
					break;
				}
		if (skipped && options().no_skip) {
			note("must not be skipped: " + skip_reason);
			passed = false;
			failed_besides = true;
		}
		if (stats.totals.assertions.total() == 0 && !skipped)
			note("it has checked nothing");
		double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
		if (took > 2)
			note(std::format("took {:.1f} s", took));
		m_stream << (passed ? "ok " : "not ok ") << ++number << ' ' << plain(stats.testInfo->name);
		if (skipped && passed)
			m_stream << " # SKIP " << plain(skip_reason);
		m_stream << '\n' << std::flush;
	}

	void testRunEnded(const Catch::TestRunStats &stats) override
	{
		const auto &cases = stats.totals.testCases;

		m_stream << "# " << cases.passed << " passed, " << cases.failed << " failed, " << cases.skipped
			 << " skipped\n"
			 << std::flush;
	}

	void skipTest(const Catch::TestCaseInfo &) override {}

private:
	std::size_t planned() const
	{
		const auto &tests = Catch::getAllTestCasesSorted(*m_config);
		const auto &spec = m_config->testSpec();

		if (spec.hasFilters())
			return Catch::filterTests(tests, spec, *m_config).size();
		return static_cast<std::size_t>(std::count_if(tests.begin(), tests.end(),
			[](const Catch::TestCaseHandle &test) { return !test.getTestCaseInfo().isHidden(); }));
	}

	/* Prints diagnostics: every line begins with "# ". */
	void note(const std::string &text)
	{
		std::size_t from = 0;

		do {
			std::size_t end = std::min(text.find('\n', from), text.size());

			m_stream << "# " << text.substr(from, end - from) << '\n';
			from = end + 1;
		} while (from < text.size());
	}

	/* Replaces '#', which would begin a directive, and newlines, which would begin another line. */
	static std::string plain(std::string text)
	{
		std::replace(text.begin(), text.end(), '#', ' ');
		std::replace(text.begin(), text.end(), '\n', ' ');
		return text;
	}

	std::size_t number = 0;
	std::string skip_reason;
	std::chrono::steady_clock::time_point began;
	KernelLog log;
};

} // namespace

CATCH_REGISTER_REPORTER("ktap", KtapReporter)

int run(int argc, char **argv)
{
	using namespace Catch::Clara;
	Catch::Session session;
	std::string bytes;

	session.cli(session.cli() |
		    Opt(options().pmu, "name")["--pmu"]("the PMU to test; " AUXPMU_SYNTH_NAME " unless told") |
		    Opt(bytes, "bytes")["--bytes"](
			    "trace to verify for each output in the tests of volume; K, M, G may follow") |
		    Opt(options().rounds, "rounds")["--rounds"]("of each of the tests of endurance") |
		    Opt(options().samples, "samples")["--samples"]("of trace to verify in the tests of endurance") |
		    Opt(options().seed, "seed")["--seed"]("of what the tests of endurance do") |
		    Opt(options().progress, "folder")["--progress"](
			    "where the tests of endurance note how far they came, and go on from") |
		    Opt(options().no_skip)["--no-skip"]("what is skipped has failed"));
	if (session.applyCommandLine(argc, argv))
		return exit_fail;
	if (!bytes.empty()) {
		char unit = 0;
		unsigned long long count = 0;
		int fields = std::sscanf(bytes.c_str(), "%llu%c", &count, &unit);
		int shift = unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0;

		if (fields < 1 || !count || (fields == 2 && !shift)) {
			std::fprintf(stderr, "--bytes %s: a number is wanted, and K, M or G after it\n", bytes.c_str());
			return exit_fail;
		}
		options().bytes = count << shift;
	}
	auto &config = session.configData();
	/* A test that checks nothing has failed. */
	config.warnings = static_cast<Catch::WarnAbout::What>(config.warnings | Catch::WarnAbout::NoAssertions);
	if (config.reporterSpecifications.empty())
		config.reporterSpecifications.push_back({"ktap", {}, {}, {}});
	bool asks_only =
		config.showHelp || config.listTests || config.listTags || config.listReporters || config.libIdentify;
	if (!asks_only) {
		auto found = Pmu::find(options().pmu);

		if (!found) {
			std::printf("TAP version 13\n1..0 # SKIP %s\n", found.error().text.c_str());
			return options().no_skip ? exit_fail : exit_skip;
		}
	}
	std::setvbuf(stdout, nullptr, _IOLBF, 0);
	int code = session.run();
	if (failed_besides)
		return exit_fail;
	if (code == catch_nothing_ran)
		return exit_skip;
	return code == exit_pass || code == exit_skip ? code : exit_fail;
}

} // namespace auxpmu::test
