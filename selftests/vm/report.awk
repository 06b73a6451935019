# SPDX-License-Identifier: GPL-2.0-only
#
# Turns the KTAP of run-tests into a line per case: ok, FAIL or skip, then where
# (-v where=KERNEL), program and case; and what it printed, if it failed or with -v verbose=1. Adds failures that a program does not
# report itself: a plan that it or the list of programs did not keep, a bad exit status, an end in the middle.
# If a case prints "# sent: KIND", its line ends with [KIND]: what it sends as NMIs (selftests/tests/shared/nmis.h).
# With -v allowed=docs/testing.md and -v guests="ARCH KERNEL" a skip that the table there lacks, or has less often, is a failure.

BEGIN {
	while (allowed != "" && (getline line <allowed) > 0) {
		if (line ~ /^#/)
			table = line ~ /^## What may be skipped/
		else if (table && line ~ /^\| [^-]/ && split(line, cell, / *\| */) >= 5 && cell[4] ~ /^[0-9]+$/) {
			rows++
			gsub(/`/, "", cell[3])
			row_of[rows] = cell[2]; row_program[rows] = cell[3]; left[rows] = cell[4]; row_says[rows] = pattern(cell[5])
		}
	}
	if (allowed != "" && !rows) {
		say("FAIL", "what may be skipped", "there is no table of it in " allowed)
		allowed = ""
	}
}
# The regular expression for a text in which * matches anything.
function pattern(text) {
	gsub(/[][\\.^$+?(){}|]/, "\\\\&", text)
	gsub(/\*/, ".*", text)
	return "^" text "$"
}
# Whether this guest is in a list such as "7.*, arm64 6.1". An entry without an architecture matches any.
function among(list,   one, n, i) {
	n = split(list, one, /, */)
	for (i = 1; i <= n; i++)
		if (guests ~ pattern(one[i] ~ / / ? one[i] : "* " one[i]))
			return 1
	return 0
}
function skip(name, why,   row, program) {
	program = name
	sub(/:.*/, "", program)
	for (row = 1; row <= rows; row++)
		if (left[row] > 0 && program == row_program[row] && why ~ row_says[row] && among(row_of[row])) {
			left[row]--
			break
		}
	if (allowed == "" || row <= rows)
		say("skip", name, why)
	else
		say("FAIL", name, "skipped, and docs/testing.md does not allow it: " why)
}

function say(verdict, name, why) {
	printf "%-4s  %-6s  %s%s%s\n", verdict, where, name, why == "" ? "" : "  (" why ")", sent == "" ? "" : "  [" sent "]"
	if (verdict == "FAIL" || verbose)
		printf "%s", notes
	notes = sent = ""
	fflush()
}
function text(line) {
	sub(/^ *(not )?ok [0-9]+ */, "", line)
	sub(/^- */, "", line)
	sub(/ *# *SKIP.*/, "", line)
	return line
}
function reason(line) {
	return line ~ /# *SKIP/ ? skip_reason(line) : ""
}
function skip_reason(line) {
	sub(/.*# *SKIP */, "", line)
	return line == "" ? "no reason given" : line
}

/^# [^ ]+ took [0-9]+ s$/ || /^    # (took [0-9]+|all of it: [0-9]+) s$/ { next }
/^    # the first day of .*: [0-9]+ s$/ { printf "----  %s: %s\n", program, substr($0, 7); next }
/^# program / { ran++; program = $3; cases = bad = 0; plan = -1; notes = ""; next }
/^    1\.\.[0-9]+/ { plan = substr($1, 4) + 0; if (/# *SKIP/) plan_skip = skip_reason($0); else plan_skip = ""; next }
/^    ok [0-9]+/ {
	cases++
	if (/# *SKIP/) skip(program ": " text($0), reason($0))
	else say("ok", program ": " text($0))
	next
}
/^    not ok [0-9]+/ { cases++; bad++; say("FAIL", program ": " text($0)); next }
/^ok [0-9]+/ || /^not ok [0-9]+/ {
	if (plan >= 0 && plan != cases)
		say("FAIL", program, "planned " plan " cases, reported " cases)
	else if (/^not ok/ && !bad) {
		sub(/.*# /, "")
		say("FAIL", program, $0)
	} else if (!cases && plan != 0 && /# *SKIP/)
		skip(program, reason($0))
	else if (!cases && plan != 0)
		say("ok", program)
	else if (!cases && plan_skip == "no test case of that name") {
		# TESTS may leave a program without cases; without TESTS each program has to have some.
		if (ENVIRON["TESTS"] == "")
			say("FAIL", program, plan_skip)
	} else if (!cases && plan_skip != "")
		skip(program, plan_skip)
	program = notes = ""
	next
}
/^1\.\.[0-9]+/ { planned += substr($1, 4); next }
/^    TAP version|^    KTAP version|^KTAP version/ { lists += !/^ /; next }
/^    # sent: / { sent = $3 }
{ if (length(notes) < 8000) notes = notes "      " $0 "\n" }
END {
	if (program != "")
		say("FAIL", program, "did not come to its end")
	else if (lists ? ran != planned : !ran)
		say("FAIL", "the list", "planned " planned + 0 " programs, ran " ran + 0)
}
