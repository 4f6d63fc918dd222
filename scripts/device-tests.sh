#!/bin/sh
# The numeric suites on a GPU, in two halves, since a machine with a GPU seldom
# has LLVM 22: one compiles all kernels, and runs them on the simulated GPU, too;
# the other runs them on the GPU. Only DIR and this repository go from one to the
# other.
#
#   scripts/device-tests.sh prepare DIR [TARGET…]  compile for targets (cuda:80 cuda:90)
#   scripts/device-tests.sh run DIR [DEVICE]       run on a device (cuda)
#
# The inputs follow from TRITONC_SEED, which prepare keeps in DIR (a fresh one
# where it is not set). TRITONC_SHARD=I/N prepares a part of the numeric suite,
# TRITONC_ALL=1 all of it instead of a sample; TRITONC_SUITES=kernelsuite
# prepares one suite alone. run takes all three from DIR.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
suites=${TRITONC_SUITES:-kernelsuite kerneltest}

usage() {
	sed -n 's/^#   scripts/usage: scripts/p' "$0" >&2
	exit 2
}

[ $# -ge 2 ] || usage
what=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)
shift 2

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# suite NAME: runs one, in its folder, where its files are.
suite() {
	(cd "$root/internal/$1" && "$tmp/$1.test" -test.timeout 1h)
}

prepare() {
	seed=${TRITONC_SEED:-$(od -An -N6 -tu8 /dev/urandom | tr -d ' ')}
	{
		echo "TRITONC_SEED=$seed"
		echo "TRITONC_SHARD=${TRITONC_SHARD-}"
		echo "TRITONC_ALL=${TRITONC_ALL-}"
		echo "suites='$suites'"
		echo "targets='$*'"
	} >"$dir/settings"
	for s in $suites; do
		# Without cgo it needs nothing of the other machine.
		(cd "$root" && CGO_ENABLED=0 ${GO:-go} test -c -ldflags '-s -w' -o "$tmp/$s.test" "./internal/$s")
		gzip -c "$tmp/$s.test" >"$dir/$s.test.gz"
	done
	"$root/scripts/device-cuda.sh" "$tmp"
	gzip -c "$tmp/tritonc-device-cuda" >"$dir/tritonc-device-cuda.gz"
	failed=
	for target; do
		for s in $suites; do
			echo "$s, $target, simulated (TRITONC_SEED=$seed)"
			TRITONC_SEED=$seed TRITONC_TARGET=$target TRITONC_KERNELS=$dir/kernels suite "$s" || failed=1
		done
	done
	du -sh "$dir"
	[ -z "$failed" ]
}

run() {
	[ -f "$dir/settings" ] || {
		echo "$dir was not prepared" >&2
		exit 1
	}
	# shellcheck disable=SC1091 # written by prepare
	. "$dir/settings"
	export TRITONC_SEED TRITONC_SHARD TRITONC_ALL
	for s in $suites; do
		gzip -dc "$dir/$s.test.gz" >"$tmp/$s.test"
		chmod +x "$tmp/$s.test"
	done
	# A driver in a folder that others may write to is refused, and DIR came from
	# somewhere.
	gzip -dc "$dir/tritonc-device-cuda.gz" >"$tmp/tritonc-device-cuda"
	chmod +x "$tmp/tritonc-device-cuda"
	"$tmp/tritonc-device-cuda" || {
		echo "The driver finds no GPU. Where libcuda.so.1 is in a folder of its own, set LD_LIBRARY_PATH to it." >&2
		exit 1
	}
	failed=
	# shellcheck disable=SC2154 # in settings
	for target in $targets; do
		for s in $suites; do
			echo "$s, $target, on $1 (TRITONC_SEED=$TRITONC_SEED)"
			TRITONC_TARGET=$target TRITONC_KERNELS=$dir/kernels TRITONC_DEVICE=$1 \
				TRITONC_BACKEND_PATH=$tmp TRITONC_LLC=/no/llc/here suite "$s" || failed=1
		done
	done
	[ -z "$failed" ]
}

case $what in
prepare)
	[ $# -gt 0 ] || set -- cuda:80 cuda:90
	prepare "$@"
	;;
run) run "${1:-cuda}" ;;
*) usage ;;
esac
