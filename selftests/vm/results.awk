# SPDX-License-Identifier: GPL-2.0-only
#
# Turns what "make check" printed of its cases (build/log/results: verdict, where, program and case; behind a failure its notes,
# indented) into one file for a CI.
#
#   -v as=ktap      KTAP, version 1 (Documentation/dev-tools/ktap.rst)
#   -v as=junit     JUnit's XML: a suite for each kernel or group of guests, a class for each program

# The kernel's parser takes "#" for the begin of a directive, escaped or not.
function plain(text) {
	gsub(/#/, "*", text)
	return text
}
function xml(text) {
	gsub(/[^\t\n -~]/, "?", text)
	gsub(/&/, "\\&amp;", text)
	gsub(/</, "\\&lt;", text)
	gsub(/>/, "\\&gt;", text)
	gsub(/"/, "\\&quot;", text)
	return text
}

/^(ok|FAIL|skip) / {
	n++
	verdict[n] = $1
	where[n] = $2
	name[n] = $0
	sub(/^[^ ]+ +[^ ]+ +/, "", name[n])
	if ($1 == "skip" && match(name[n], /  \(.*\)$/)) {
		why[n] = substr(name[n], RSTART + 3, RLENGTH - 4)
		name[n] = substr(name[n], 1, RSTART - 1)
	}
	if (!($2 in cases))
		suites[++nr_suites] = $2
	cases[$2]++
	failed[$2] += $1 == "FAIL"
	skipped[$2] += $1 == "skip"
	all[$1]++
	next
}
/^ / && n {
	sub(/^ +(# )?/, "")
	notes[n] = notes[n] $0 "\n"
}

function ktap(   i, line, k, lines) {
	print "KTAP version 1"
	print "1.." n + 0
	for (i = 1; i <= n; i++) {
		lines = split(notes[i], line, "\n") - 1
		for (k = 1; k <= lines; k++)
			print "# " line[k]
		printf "%s %d %s %s%s\n", verdict[i] == "FAIL" ? "not ok" : "ok", i, plain(where[i]), plain(name[i]),
			verdict[i] == "skip" ? " # SKIP " plain(why[i]) : ""
	}
}
function junit_case(i,   class, title) {
	class = where[i]
	title = name[i]
	if (match(title, /^[^ :]+: /)) {
		class = class "." substr(title, 1, RLENGTH - 2)
		title = substr(title, RLENGTH + 1)
	}
	printf "    <testcase classname=\"%s\" name=\"%s\"", xml(class), xml(title)
	if (verdict[i] == "ok")
		print "/>"
	else if (verdict[i] == "skip")
		printf "><skipped message=\"%s\"/></testcase>\n", xml(why[i])
	else
		printf "><failure message=\"failed\">%s</failure></testcase>\n", xml(notes[i])
}
function junit(   s, i) {
	print "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
	printf "<testsuites name=\"auxpmu\" tests=\"%d\" failures=\"%d\" skipped=\"%d\">\n", n, all["FAIL"], all["skip"]
	for (s = 1; s <= nr_suites; s++) {
		printf "  <testsuite name=\"%s\" tests=\"%d\" failures=\"%d\" skipped=\"%d\">\n", xml(suites[s]),
			cases[suites[s]], failed[suites[s]], skipped[suites[s]]
		for (i = 1; i <= n; i++)
			if (where[i] == suites[s])
				junit_case(i)
		print "  </testsuite>"
	}
	print "</testsuites>"
}
END {
	if (as == "ktap")
		ktap()
	else
		junit()
}
