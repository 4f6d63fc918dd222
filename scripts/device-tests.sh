#!/bin/sh
# The numeric suites on a GPU, in two halves, since a machine with a GPU seldom
# has LLVM 22: one compiles all kernels, and runs them on the simulated GPU, too;
# the other runs them on the GPU. Only DIR goes from one to the other.
#
#   scripts/device-tests.sh prepare DIR [TARGET…]  compile for targets (cuda:90 cuda:80)
#   sh DIR/device-tests.sh run DIR [DEVICE]        run on a device (cuda; sim tries DIR itself)
#   scripts/device-tests.sh forms DIR              add the instructions that ran on an H200 to the list
#
# The first target is the GPU's own, and gets machine code; for the others the
# GPU's driver compiles the PTX. TRITONC_GPU=90 names the GPU's own where it is not
# among the targets, as to prepare cuda:80 alone for an H200.
#
# The inputs follow from TRITONC_SEED, which prepare keeps in DIR (a fresh one
# where it is not set). TRITONC_SHARD=I/N prepares a part of the numeric suite,
# TRITONC_ALL=1 all of it instead of a sample; TRITONC_SUITES=numeric
# prepares one suite alone, TRITONC_RUN=REGEXP the tests that it matches,
# TRITONC_OPTIONS=num_ctas=2 has kernels compiled with these options. run takes
# all five from DIR.
#
# prepare lists the forms of instructions that have never run on an H200
# (internal/ptxforms), and looks for machine code that no GPU executes
# (internal/warpwide, internal/sass). run writes the forms that ran in tests that
# passed to forms.tsv, beside its logs; forms, given the folder of these, adds them to
# the list.
#
# A suite that fails does not end a run. run prints each kernel that failed and
# why, then a table; what the tests say is in DEVICE_TESTS_LOGS (a folder, by
# default DIR/logs). DEVICE_TESTS_LIMIT bounds the time of a suite (30m).
set -eu

suites=${TRITONC_SUITES:-numeric kernels}

usage() {
	sed -n 's/^#   \(.*\) DIR /usage: \1 DIR /p' "$0" >&2
	exit 2
}

[ $# -ge 2 ] || usage
what=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)
shift 2

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

prepare() {
	root=$(cd "$(dirname "$0")/.." && pwd)
	seed=${TRITONC_SEED:-$(od -An -N6 -tu8 /dev/urandom | tr -d ' ')}
	{
		echo "TRITONC_SEED=$seed"
		echo "TRITONC_SHARD=${TRITONC_SHARD-}"
		echo "TRITONC_ALL=${TRITONC_ALL-}"
		echo "TRITONC_OPTIONS=${TRITONC_OPTIONS-}"
		echo "suites='$suites'"
		echo "TRITONC_RUN='${TRITONC_RUN:-.}'"
		echo "targets='$*'"
		echo "code=${TRITONC_GPU:-${1#*:}}"
	} >"$dir/settings"
	cp "$0" "$dir/device-tests.sh"
	kernels=${TRITONC_KERNELS:-$tmp/kernels}
	mkdir -p "$kernels"
	kernels=$(cd "$kernels" && pwd)
	for s in $suites; do
		# Without cgo it needs nothing of the other machine.
		(cd "$root" && CGO_ENABLED=0 ${GO:-go} test -c -ldflags '-s -w' -o "$tmp/$s.test" "./test/$s")
	done
	"$root/scripts/device-cuda.sh" "$tmp"
	# What the tests read.
	(cd "$root" && cp -R --parents core/frontend/testdata examples test/numeric test/kernels "$tmp")
	failed= code=${TRITONC_GPU:-${1#*:}}
	for target; do
		for s in $suites; do
			echo "$s, $target, simulated (TRITONC_SEED=$seed)"
			(cd "$root/test/$s" &&
				TRITONC_SEED=$seed TRITONC_TARGET=$target TRITONC_KERNELS=$kernels TRITONC_KERNELS_CODE=$code \
					"$tmp/$s.test" -test.run "${TRITONC_RUN:-.}" -test.timeout 3h) ||
				failed=1
		done
	done
	for target; do
		[ "${target#*:}" = "$code" ] || continue
		echo "machine code for $target"
		(cd "$root" && TRITONC_KERNELS=$kernels TRITONC_KERNELS_CODE=$code ${GO:-go} test ./internal/sass -run TestPrepared -count 1 -v) || failed=1
	done
	[ "$kernels" = "$tmp/kernels" ] || cp -R "$kernels" "$tmp/kernels"
	# Kernels are alike: packed together they take a tenth.
	tar -C "$tmp" -c . | xz -T0 >"$dir/suites.tar.xz"
	du -sh "$dir"
	[ -z "$failed" ]
}

# unpack: DIR's archive to $tmp; not every machine has xz.
unpack() {
	if command -v xz >/dev/null; then
		xz -dc "$dir/suites.tar.xz"
	else
		python3 -c 'import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.argv[1]), sys.stdout.buffer)' "$dir/suites.tar.xz"
	fi | tar -C "$tmp" -x
}

# failures LOG: what the tests that failed said, 30 lines of each at most. A log
# of -test.v says of every line which test it is of.
failures() {
	awk '
		/^=== / { at = $3; next }
		/^ *--- (PASS|SKIP):/ { delete said[$3]; delete lines[$3]; next }
		/^ *--- FAIL:/ {
			print
			printf "%s", said[$3]
			if (lines[$3] > 30) printf "    ... %d lines more\n", lines[$3] - 30
			next
		}
		{ if (++lines[at] <= 30) said[at] = said[at] "    " substr($0, 1, 300) "\n" }
		/^(panic|fatal error|FAIL):/ { print }
	' "$1"
}

# count WORD LOG: how many tests ended so, those that have others inside left out.
count() {
	grep -E "^ *--- $1:" "$2" | grep -cvE ': (TestSuite|TestSuite/kernels) ' || true
}

run() {
	[ -f "$dir/settings" ] || {
		echo "$dir was not prepared" >&2
		exit 1
	}
	# shellcheck disable=SC1091 # written by prepare
	. "$dir/settings"
	export TRITONC_SEED TRITONC_SHARD TRITONC_ALL TRITONC_OPTIONS
	unpack
	logs=${DEVICE_TESTS_LOGS:-$dir/logs}
	mkdir -p "$logs"
	logs=$(cd "$logs" && pwd)
	# A driver in a folder that others may write to is refused.
	chmod 700 "$tmp"
	case $1 in
	cuda*)
		"$tmp/tritonc-device-cuda" || {
			echo "The driver finds no GPU. Where libcuda.so.1 is in a folder of its own, set LD_LIBRARY_PATH to it." >&2
			exit 1
		}
		;;
	esac
	forms=$logs/forms.tsv
	echo "# what ran on $1" >"$forms"
	case $1 in
	cuda*) "$tmp/tritonc-device-cuda" | sed 's/^/# /' >>"$forms" ;;
	esac
	failed=
	table="$tmp/table"
	# shellcheck disable=SC2154 # in settings
	for target in $targets; do
		for s in $suites; do
			echo "$s, $target, on $1 (TRITONC_SEED=$TRITONC_SEED)"
			log=$logs/$s-$(echo "$target" | tr : -).log
			began=$(date +%s) status=0
			(cd "$tmp/test/$s" && TRITONC_TARGET=$target TRITONC_KERNELS=$tmp/kernels TRITONC_KERNELS_CODE=$code \
				TRITONC_DEVICE=$1 TRITONC_BACKEND_PATH=$tmp TRITONC_LLC=/no/llc/here TRITONC_FORMS=$forms \
				"$tmp/$s.test" -test.run "${TRITONC_RUN:-.}" -test.v -test.timeout "${DEVICE_TESTS_LIMIT:-30m}") >"$log" 2>&1 || status=$?
			[ $status = 0 ] || failed=1
			failures "$log"
			printf '%-12s %-8s %6s passed %5s failed %5s skipped %5s s  exit %s\n' "$s" "$target" \
				"$(count PASS "$log")" "$(count FAIL "$log")" "$(count SKIP "$log")" $(($(date +%s) - began)) $status | tee -a "$table"
		done
	done
	echo "All on $1, TRITONC_SEED=$TRITONC_SEED, logs in $logs:"
	cat "$table"
	echo "$(grep -v '^#' "$forms" | cut -f 1,2 | sort -u | wc -l) forms of instructions ran: $forms"
	[ -z "$failed" ]
}

case $what in
prepare)
	[ $# -gt 0 ] || set -- cuda:90 cuda:80
	prepare "$@"
	;;
run) run "${1:-cuda}" ;;
forms)
	cd "$(dirname "$0")/.."
	${GO:-go} run ./internal/ptxforms/cmd/ptxforms add "$dir/forms.tsv"
	;;
*) usage ;;
esac
