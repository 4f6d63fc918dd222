#!/bin/sh
# Builds tritonc-device-cuda, the driver of NVIDIA GPUs, with which
# "tritonc run --device cuda" launches kernels. It needs a C compiler and cuda.h
# of CUDA 11, 12 or 13; neither a GPU nor NVIDIA's libraries: what is linked is a
# stand-in with the names of cuda.h, and the real libcuda.so.1 is looked for
# when the program starts.
#
#   scripts/device-cuda.sh [DIR]     build DIR/tritonc-device-cuda (bin)
#   scripts/device-cuda.sh --header  find or provide cuda.h, print its folder
#   scripts/device-cuda.sh --check   find cuda.h only; exit status 1 where it is missing
#   scripts/device-cuda.sh --env     print what Go needs to build a program that imports
#                                    driver/cuda: eval "$(scripts/device-cuda.sh --env)"
#   scripts/device-cuda.sh --every   build with each version of cuda.h that is here or that
#                                    Debian has, and say which do
#
# GO_LDFLAGS are further flags of Go's linker.
#
# A machine that takes Debian from a mirror gets cuda.h from there: the first
# megabytes of a package, kept in
#   ${XDG_CACHE_HOME:-$HOME/.cache}/tritonc/toolchain/cuda-VERSION/include/
# and the stand-in beside it, in stub-SUM/. That of CUDA 13 is read through the one in
# driver/cuda/compat, which gives functions their older parameters again.
set -eu

cuda_suite=trixie # CUDA 12.4
cache=${XDG_CACHE_HOME:-${HOME:?set HOME or XDG_CACHE_HOME}/.cache}/tritonc/toolchain
kept=$cache # where a header that was fetched goes
root=$(cd "$(dirname "$0")/.." && pwd)

tmp=
trap 'if [ -n "$tmp" ]; then rm -rf "$tmp"; fi' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { printf '%s\n' "device-cuda: $*" >&2; }

# version DIR: prints 12.4 for a folder with cuda.h of CUDA 12.4, or nothing.
version() {
	sed -n 's/^#define CUDA_VERSION *\([0-9]*\)$/\1/p' "$1/cuda.h" 2>/dev/null |
		awk '{ printf "%d.%d\n", $1 / 1000, $1 % 1000 / 10; exit }'
}

# find_header: prints the folder of the first cuda.h that will do, or fails.
# The others are remembered in $unfit.
find_header() {
	unfit=
	for dir in \
		"${CUDA_HOME:+$CUDA_HOME/include}" \
		"${CUDA_PATH:+$CUDA_PATH/include}" \
		/usr/local/cuda/include \
		/usr/local/cuda-12*/include \
		/usr/local/cuda-13*/include \
		/usr/local/cuda-11*/include \
		/opt/cuda/include \
		/usr/lib/cuda/include \
		/usr/include \
		"$cache"/cuda-*/include; do
		if [ -z "$dir" ]; then continue; fi
		v=$(version "$dir")
		case $v in
		'') ;;
		11.* | 12.* | 13.*)
			found=$dir
			return 0
			;;
		*) unfit="$unfit $dir/cuda.h (CUDA $v)" ;;
		esac
	done
	return 1
}

# debian_mirror: prints the address from which this machine takes Debian.
debian_mirror() {
	# shellcheck disable=SC1091,SC2153 # read in a subshell, sets VERSION_CODENAME
	codename=$(. /etc/os-release 2>/dev/null && printf '%s' "${ID-}:${VERSION_CODENAME-}")
	case $codename in debian:?*) codename=${codename#debian:} ;; *) return 1 ;; esac
	# shellcheck disable=SC2016 # apt's own format
	apt-get indextargets --no-release-info --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 2>/dev/null |
		awk -v want="$codename" '$1 == want && $2 == "main" { print $3; exit }' | grep .
}

# private_apt ARG…: apt-get with a state of its own under $tmp, so that the
# machine's sources, lists and package database stay as they are.
private_apt() {
	apt-get -qq \
		-o Dir::Etc::sourcelist="$tmp/sources.list" -o Dir::Etc::sourceparts=- \
		-o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
		-o Dir::State="$tmp/state" -o Dir::State::lists="$tmp/state/lists" \
		-o Dir::State::status="$tmp/status" -o Dir::Cache="$tmp/cache" \
		-o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none \
		-o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
		"$@"
}

# first_bytes ADDRESS N: the start of a file of the network.
first_bytes() {
	if command -v curl >/dev/null; then
		curl -sfL "$1" 2>/dev/null | head -c "$2"
	elif command -v wget >/dev/null; then
		wget -qO- "$1" 2>/dev/null | head -c "$2"
	else
		say "neither curl nor wget is here to fetch cuda.h"
		return 1
	fi
}

provide_header() {
	command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null && mirror=$(debian_mirror) || return 1
	say "fetching cuda.h from Debian $cuda_suite's nvidia-cuda-dev (3 MB, kept: 1 MB)"
	mkdir -p "$cache"
	tmp=$(mktemp -d "$cache/tmp.XXXXXX")
	mkdir -p "$tmp/state/lists/partial" "$tmp/cache/archives/partial"
	: >"$tmp/status"
	keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	if [ -f "$keyring" ]; then
		echo "deb [signed-by=$keyring] $mirror $cuda_suite non-free" >"$tmp/sources.list"
	else
		echo "deb $mirror $cuda_suite non-free" >"$tmp/sources.list"
	fi
	private_apt update >&2 || return 1
	address=$(private_apt download --print-uris nvidia-cuda-dev | sed -n "s/^'\([^']*\)'.*/\1/p")
	[ -n "$address" ] || return 1
	# The whole package has gigabytes; this file is among its first. Its
	# signature covers the whole alone, so the part is checked for what it is.
	first_bytes "$address" 3000000 >"$tmp/part.deb" || return 1
	dpkg-deb --fsys-tarfile "$tmp/part.deb" 2>/dev/null |
		tar -x -f - -C "$tmp" --occurrence=1 ./usr/include/cuda.h 2>/dev/null || true
	v=$(version "$tmp/usr/include")
	[ -n "$v" ] && grep -q cuModuleLoadDataEx "$tmp/usr/include/cuda.h" &&
		tail -c 200 "$tmp/usr/include/cuda.h" | grep -q '#endif' || return 1
	mkdir -p "$kept/cuda-$v/include"
	mv -f "$tmp/usr/include/cuda.h" "$kept/cuda-$v/include/cuda.h"
	rm -rf "$tmp"
	tmp=
}

explain_header() {
	if [ -n "$unfit" ]; then
		say "gorgonia.org/cu 0.9.6 cannot be built with this one:$unfit"
	fi
	say "cuda.h of CUDA 11, 12 or 13 is missing. Any one of these will do:"
	say "  set CUDA_HOME to the folder of such a CUDA toolkit, whose include/ has cuda.h"
	say "  install CUDA (https://developer.nvidia.com/cuda-downloads)"
	say "  Debian 12 and later, as root: apt-get install nvidia-cuda-dev (component non-free)"
	say "What is built with it runs with the driver of any newer CUDA."
}

# every: builds the driver with one header of each version. Those of Debian are kept
# apart, where nothing else takes an older one for them.
every() {
	kept=$cache/every
	for release in bookworm:11.8 trixie:12.4; do
		cuda_suite=${release%:*}
		[ -f "$kept/cuda-${release#*:}/include/cuda.h" ] || provide_header || say "Debian $cuda_suite has no cuda.h for us"
	done
	seen=
	failed=
	for dir in "${CUDA_HOME:+$CUDA_HOME/include}" /usr/local/cuda*/include /opt/cuda/include /usr/include "$cache"/cuda-*/include "$kept"/cuda-*/include; do
		v=$(version "${dir:-/nowhere}")
		case " $seen " in *" $v "*) continue ;; esac
		seen="$seen $v"
		tmp=$(mktemp -d "$cache/tmp.XXXXXX")
		if CUDA_HOME=$(dirname "$dir") "$0" "$tmp"; then
			printf 'CUDA %s: builds (%s/cuda.h)\n' "$v" "$dir"
		else
			printf 'CUDA %s: does not build (%s/cuda.h)\n' "$v" "$dir"
			failed=yes
		fi
		rm -rf "$tmp"
		tmp=
	done
	[ -n "$seen" ] && [ -z "$failed" ]
}

out=$root/bin
provide=yes
build=yes
env=no
case ${1-} in
--env)
	build=no
	env=yes
	;;
--check)
	provide=no
	build=no
	;;
--header) build=no ;;
--every)
	every
	exit
	;;
-*)
	echo "usage: $0 [DIR | --header | --check | --env | --every]" >&2
	exit 2
	;;
?*) out=$1 ;;
esac

if ! find_header; then
	{ [ $provide = yes ] && provide_header && find_header; } || {
		explain_header
		exit 1
	}
fi
if [ $build$env = nono ]; then
	printf '%s\n' "$found"
	exit 0
fi

cc=$(${GO:-go} env CC)
if ! command -v "$cc" >/dev/null; then
	say "no C compiler: $cc is missing"
	exit 1
fi
# A library with every name that cuda.h has, to be linked and never run. It has
# a place of its own, one for each such header, since headers of one version differ in
# names: its path is part of what Go's build cache goes by.
stub=$cache/cuda-$(version "$found")/stub-$(cat "$found/cuda.h" "$root/driver/cuda/compat/cuda.h" | cksum | cut -d ' ' -f 1)
if ! [ -f "$stub/libcuda.so" ]; then
	mkdir -p "$stub"
	if [ -z "$tmp" ]; then tmp=$(mktemp -d "$cache/tmp.XXXXXX"); fi
	cat "$found/cuda.h" "$root/driver/cuda/compat/cuda.h" | grep -o '\<cu[A-Z][A-Za-z0-9_]*' | sort -u | sed 's/.*/void &(void) {}/' >"$tmp/stub.c"
	"$cc" -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$tmp/libcuda.so" "$tmp/stub.c"
	mv -f "$tmp/libcuda.so" "$stub/libcuda.so"
fi
# cu looks into folders of its own, too; ours come first.
CGO_ENABLED=1
CGO_CFLAGS="-O2 -I$found"
CGO_LDFLAGS="-L$stub"
case $(version "$found") in 13.*) CGO_CFLAGS="-O2 -I$root/driver/cuda/compat -I$found" ;; esac
if [ $env = yes ]; then
	printf "export CGO_ENABLED=1 CGO_CFLAGS='%s' CGO_LDFLAGS='%s'\n" "$CGO_CFLAGS" "$CGO_LDFLAGS"
	exit 0
fi
export CGO_ENABLED CGO_CFLAGS CGO_LDFLAGS
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$root/driver/cuda"
${GO:-go} build -trimpath -buildvcs=false -ldflags "-s -w ${GO_LDFLAGS-}" -o "$out/tritonc-device-cuda" ./cmd/tritonc-device-cuda
say "built $out/tritonc-device-cuda with $found/cuda.h (CUDA $(version "$found"))"
