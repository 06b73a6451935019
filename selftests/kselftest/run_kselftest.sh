#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs what selftests/Makefile has installed beside it, and prints KTAP as the kernel's script of this name does, which runs it as well.
#
#   run_kselftest.sh [-c COLLECTION]... [-t COLLECTION:TEST]... [-o SECONDS] [-l] [-d]
#
# -o: another limit of time than that of the file settings; -l: list the tests; -d: print what would be run.
# Exit status: 0 if no test failed, 1 if one did.
set -euo pipefail

base=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
die() { echo "run_kselftest.sh: $*" >&2; exit 1; }

wanted=() limit='' list='' dry=''
while getopts :c:t:o:ldh option; do
	case $option in
	c) wanted+=("$OPTARG:") ;;
	t) wanted+=("$OPTARG") ;;
	o) limit=$OPTARG ;;
	l) list=1 ;;
	d) dry=1 ;;
	*) die "options: -c COLLECTION, -t COLLECTION:TEST, -o SECONDS, -l, -d" ;;
	esac
done
mapfile -t all <"$base/kselftest-list.txt"
chosen=()
((${#wanted[@]})) || chosen=("${all[@]}")
for name in "${wanted[@]}"; do
	found=
	for test in "${all[@]}"; do
		[[ $test == "$name" || $name == *: && $test == "$name"* ]] || continue
		chosen+=("$test")
		found=1
	done
	[[ -n $found ]] || die "there is no ${name%:}; -l lists what there is"
done
[[ -z $list ]] || { printf '%s\n' "${chosen[@]}"; exit; }

passed=0 failed=0 skipped=0
# run_one NUMBER COLLECTION TEST
run_one() {
	local status=0 said="$1 selftests: $2: $3" seconds=$limit
	[[ -n $seconds ]] || seconds=$(sed -n 's/^timeout=//p' "$base/$2/settings" 2>/dev/null)
	seconds=${seconds:-45}
	echo "# timeout set to $seconds"
	echo "# selftests: $2: $3"
	[[ -z $dry ]] || return 0
	(cd "$base/$2" && exec timeout --foreground -k 10 "$seconds" "./$3") </dev/null 2>&1 | sed -u 's/^/# /' || status=${PIPESTATUS[0]}
	case $status in
	0) echo "ok $said"; passed=$((passed + 1)) ;;
	4) echo "ok $said # SKIP"; skipped=$((skipped + 1)) ;;
	124) echo "not ok $said # TIMEOUT $seconds seconds"; failed=$((failed + 1)) ;;
	*) echo "not ok $said # exit=$status"; failed=$((failed + 1)) ;;
	esac
}

echo "TAP version 13"
echo "1..${#chosen[@]}"
n=0
for test in "${chosen[@]}"; do
	n=$((n + 1))
	run_one "$n" "${test%%:*}" "${test#*:}"
done
echo "# Totals: pass:$passed fail:$failed xfail:0 xpass:0 skip:$skipped error:0"
((failed == 0))
