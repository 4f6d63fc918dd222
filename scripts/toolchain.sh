#!/bin/sh
# Finds, or provides, the tools that tritonc's backends run: LLVM 22 (llc, opt,
# llvm-link, llvm-mc, ld.lld) and NVIDIA's ptxas. tritonc itself never downloads; this script is
# the only thing here that does, and only what is missing.
#
#   scripts/toolchain.sh               find or provide, then list what there is
#   scripts/toolchain.sh --check       find only; exit status 1 when one is missing
#   scripts/toolchain.sh --for nvidia  what kernels for NVIDIA's devices need: ptxas alone,
#                                      since tritonc writes their PTX; LLVM is listed where it
#                                      is found
#   scripts/toolchain.sh --for amd     what those for AMD's devices need: LLVM 22
#
# What it provides lies in
#   ${XDG_CACHE_HOME:-$HOME/.cache}/tritonc/toolchain/
#     bin/                 links to the tools below, where tritonc looks last
#     cuda-VERSION/bin/    ptxas, nvdisasm, cuobjdump
# A tool is first made whole in a temporary folder and then renamed, so an
# interrupted run leaves nothing that a later one would take for a tool.
set -eu

llvm_major=22
cuda_suite=trixie # CUDA 12.4: the first in Debian that knows sm_90a
ptxas_min=12.0    # older ones lack sm_90a; TRITON_PTXAS_PATH overrides

cache=${XDG_CACHE_HOME:-${HOME:?set HOME or XDG_CACHE_HOME}/.cache}/tritonc/toolchain
provide=yes
need_llvm=yes
need_ptxas=yes
usage() {
	echo "usage: $0 [--check] [--for nvidia|amd]" >&2
	exit 2
}
while [ $# -gt 0 ]; do
	case $1 in
	--check) provide=no ;;
	--for)
		case ${2-} in
		nvidia) need_llvm=no ;;
		amd) need_ptxas=no ;;
		*) usage ;;
		esac
		shift
		;;
	*) usage ;;
	esac
	shift
done

tmp=
trap 'if [ -n "$tmp" ]; then rm -rf "$tmp"; fi' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { printf '%s\n' "toolchain: $*" >&2; }

# --- LLVM -------------------------------------------------------------------

# is_llvm FILE: is it an LLVM tool of the major version that we need?
is_llvm() {
	[ -x "$1" ] && "$1" --version 2>/dev/null | grep -Eq "(LLVM version|LLD) $llvm_major\."
}

# find_llvm TOOL: prints the path of TOOL (llc, opt, llvm-link, llvm-mc, ld.lld), or fails.
find_llvm() {
	named=
	if [ "$1" = llc ]; then named=${TRITONC_LLC-}; fi
	for candidate in \
		"$named" \
		"$(command -v "$1-$llvm_major" || true)" \
		"$(command -v "$1" || true)" \
		"/usr/lib/llvm-$llvm_major/bin/$1" \
		"/usr/local/lib/llvm-$llvm_major/bin/$1" \
		"/opt/homebrew/opt/llvm@$llvm_major/bin/$1" \
		"/usr/local/opt/llvm@$llvm_major/bin/$1"; do
		if [ -n "$candidate" ] && is_llvm "$candidate"; then
			printf '%s\n' "$candidate"
			return 0
		fi
	done
	return 1
}

have_llvm() {
	find_llvm llc >/dev/null && find_llvm opt >/dev/null && find_llvm llvm-link >/dev/null && find_llvm llvm-mc >/dev/null && find_llvm ld.lld >/dev/null
}

provide_llvm() {
	packages="llvm-$llvm_major lld-$llvm_major"
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		say "installing $packages with apt"
		# The lists may be missing or too old to have it: then update them. What
		# apt says is shown only when that did not help, either.
		# shellcheck disable=SC2086 # one word a package
		said=$(apt_install $packages || { apt-get -qq update && apt_install $packages; }) ||
			printf '%s\n' "$said" >&2
	fi
	have_llvm && return
	say "LLVM $llvm_major is missing (llc, opt, llvm-link, llvm-mc, ld.lld)."
	say "  Debian 12 and later, as root:  apt-get install --no-install-recommends $packages"
	say "  other Linux systems, as root:  the packages of https://apt.llvm.org"
	say "  macOS:                         brew install llvm@$llvm_major lld@$llvm_major"
	say "Or put them in PATH, as llc or llc-$llvm_major and so on."
	return 1
}

apt_install() {
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
		-o Dpkg::Use-Pty=0 "$@" 2>&1
}

# --- ptxas ------------------------------------------------------------------

# ptxas_version FILE: prints 12.4 for release 12.4, or nothing.
ptxas_version() {
	[ -x "$1" ] && "$1" --version 2>/dev/null | sed -n 's/.*release \([0-9]*\.[0-9]*\).*/\1/p'
}

# at_least VERSION MINIMUM, both MAJOR.MINOR
at_least() {
	[ "${1%%.*}" -gt "${2%%.*}" ] ||
		{ [ "${1%%.*}" -eq "${2%%.*}" ] && [ "${1#*.}" -ge "${2#*.}" ]; }
}

# find_ptxas: prints the path of the ptxas that tritonc will use, or fails.
find_ptxas() {
	for candidate in "${TRITON_PTXAS_PATH-}" "${TRITONC_PTXAS-}"; do
		if [ -n "$candidate" ]; then
			if [ -n "$(ptxas_version "$candidate")" ]; then
				printf '%s\n' "$candidate"
				return 0
			fi
			say "$candidate, named by TRITON_PTXAS_PATH or TRITONC_PTXAS, is not a working ptxas"
		fi
	done
	for candidate in \
		"$(command -v ptxas || true)" \
		"${CUDA_HOME:-/usr/local/cuda}/bin/ptxas" \
		"${CUDA_PATH:-/usr/local/cuda}/bin/ptxas" \
		/usr/local/cuda/bin/ptxas \
		/opt/cuda/bin/ptxas \
		/usr/lib/cuda/bin/ptxas \
		/usr/local/cuda-*/bin/ptxas \
		"$cache/bin/ptxas"; do
		if [ -n "$candidate" ]; then
			version=$(ptxas_version "$candidate" || true)
			if [ -n "$version" ] && at_least "$version" "$ptxas_min"; then
				printf '%s\n' "$candidate"
				return 0
			fi
		fi
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
# machine's sources, lists and package database stay as they are. Proxies and
# credentials of the machine's configuration still count.
private_apt() {
	apt-get -qq \
		-o Dir::Etc::sourcelist="$tmp/sources.list" -o Dir::Etc::sourceparts=- \
		-o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
		-o Dir::State="$tmp/state" -o Dir::State::lists="$tmp/state/lists" \
		-o Dir::State::status="$tmp/status" -o Dir::Cache="$tmp/cache" \
		-o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none \
		-o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
		"$@" >&2
}

provide_ptxas() {
	if command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null && mirror=$(debian_mirror); then
		say "fetching ptxas from Debian $cuda_suite's nvidia-cuda-toolkit (90 MB, kept: 60 MB)"
		fetch_ptxas "$mirror" || say "that did not work"
	fi
	find_ptxas >/dev/null && return
	say "ptxas $ptxas_min or newer is missing. Any one of these will do:"
	say "  install NVIDIA's CUDA toolkit (https://developer.nvidia.com/cuda-downloads)"
	say "  Debian 13 and later, as root: apt-get install nvidia-cuda-toolkit (component non-free)"
	say "  pip download nvidia-cuda-nvcc-cu12, unpack the wheel, set TRITONC_PTXAS=…/bin/ptxas"
	return 1
}

fetch_ptxas() {
	mkdir -p "$cache"
	# What a killed run left behind an hour ago or more.
	find "$cache" -maxdepth 1 -name 'tmp.*' -mmin +60 -exec rm -rf {} +
	tmp=$(mktemp -d "$cache/tmp.XXXXXX")
	mkdir -p "$tmp/state/lists/partial" "$tmp/cache/archives/partial" "$tmp/root"
	: >"$tmp/status"
	keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	if [ -f "$keyring" ]; then
		echo "deb [signed-by=$keyring] $1 $cuda_suite non-free" >"$tmp/sources.list"
	else
		echo "deb $1 $cuda_suite non-free" >"$tmp/sources.list"
	fi
	private_apt update || return 1
	(cd "$tmp" && private_apt download nvidia-cuda-toolkit) || return 1
	# No pipe: a failure of dpkg-deb must count, and sh has no pipefail.
	dpkg-deb --fsys-tarfile "$tmp"/nvidia-cuda-toolkit_*.deb >"$tmp/data.tar" || return 1
	tar -x -f "$tmp/data.tar" -C "$tmp/root" \
		./usr/bin/ptxas ./usr/bin/nvdisasm ./usr/bin/cuobjdump || return 1
	version=$(ptxas_version "$tmp/root/usr/bin/ptxas" || true)
	[ -n "$version" ] || { say "the ptxas in that package does not start"; return 1; }
	mkdir -p "$cache/cuda-$version/bin" "$cache/bin"
	for tool in cuobjdump nvdisasm ptxas; do # ptxas last: it is what find_ptxas looks for
		mv -f "$tmp/root/usr/bin/$tool" "$cache/cuda-$version/bin/$tool"
		ln -s "../cuda-$version/bin/$tool" "$tmp/$tool"
		mv -f "$tmp/$tool" "$cache/bin/$tool"
	done
	rm -rf "$tmp"
	tmp=
}

# --- the run ----------------------------------------------------------------

missing=
if [ $need_llvm = yes ] && ! have_llvm; then
	[ $provide = no ] || provide_llvm || true
	have_llvm || missing="$missing LLVM-$llvm_major"
fi
if [ $need_ptxas = yes ] && ! find_ptxas >/dev/null; then
	[ $provide = no ] || provide_ptxas || true
	find_ptxas >/dev/null || missing="$missing ptxas"
fi
for tool in llc opt llvm-link llvm-mc ld.lld; do
	if path=$(find_llvm $tool); then printf '%-9s %s\n' "$tool" "$path"; fi
done
if path=$(find_ptxas); then printf '%-9s %s (release %s)\n' ptxas "$path" "$(ptxas_version "$path")"; fi
if [ -n "$missing" ]; then
	say "missing:$missing"
	exit 1
fi
