#!/bin/sh
# Packs tritonc, the NVIDIA and the AMD backend, and LLVM's llc, llvm-mc and ld.lld for
# a machine that has no toolchain:
#
#   bench/bundle.sh FILE.tar.xz [--ptxas]
#
# Unpacked, tritonc/bin/tritonc runs on any x86-64 Linux: the programs of ours
# need no library, and LLVM's come with every one of their own, the C library and
# its loader included. --ptxas adds the one that is found here.
set -eu

[ $# -ge 1 ] || {
	echo "usage: $0 FILE.tar.xz [--ptxas]" >&2
	exit 2
}
out=$(realpath "$1")
cd "$(dirname "$0")/.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
dir=$tmp/tritonc
mkdir -p "$dir/bin" "$dir/llvm/lib"

CGO_ENABLED=0 GOOS=linux GOARCH=amd64 ${GO:-go} build -buildvcs=false -trimpath -ldflags '-s -w' \
	-o "$dir/bin/" ./cmd/tritonc ./backends/nvidia/cmd/tritonc-backend-nvidia ./backends/amd/cmd/tritonc-backend-amd

# find TOOL: where scripts/toolchain.sh finds it.
find() {
	for f in "$(command -v "$1-22" || true)" "/usr/lib/llvm-22/bin/$1" "$(command -v "$1" || true)" \
		"${XDG_CACHE_HOME:-$HOME/.cache}/tritonc/toolchain/bin/$1"; do
		if [ -n "$f" ] && [ -x "$f" ]; then
			realpath "$f"
			return
		fi
	done
	echo "$0: there is no $1; run make toolchain" >&2
	exit 1
}

mkdir "$dir/llvm/real" # ld.lld is told what it is by its name
for tool in llc llvm-mc ld.lld; do
	file=$(find $tool)
	cp "$file" "$dir/llvm/real/$tool"
	ldd "$file"
done | sort -u >"$tmp/libraries"
# Optional parts of LLVM that these do not use here, by the beginning of their
# functions' names. Libraries whose functions trap take their place: they would
# be half of the archive.
unused="libz3.so.4:Z3_ libxml2.so.2:xml"
while read -r name _ path _; do
	case $name in
	/*) cp -L "$name" "$dir/llvm/lib/ld.so" ;; # the loader
	linux-vdso*) ;;
	*)
		case " $unused" in
		*" $name:"*) ;;
		*) cp -L "$path" "$dir/llvm/lib/$name" ;;
		esac
		;;
	esac
done <"$tmp/libraries"
for pair in $unused; do
	name=${pair%%:*}
	objdump -T "$dir"/llvm/lib/libLLVM*.so* | awk -v begin="${pair##*:}" -v code="$tmp/stub.c" -v script="$tmp/stub.map" '
		/\*UND\*/ && index($NF, begin) == 1 {
			print "void " $NF "(void) { __builtin_trap(); }" >code
			version = $(NF - 1)
			gsub(/[()]/, "", version)
			if (version ~ /^[A-Z]/) names[version] = names[version] " " $NF ";"
		}
		END {
			printf "" >code
			printf "" >script
			for (v in names) print v " { global:" names[v] " };" >script
		}'
	script=
	if [ -s "$tmp/stub.map" ]; then script=-Wl,--version-script=$tmp/stub.map; fi
	# shellcheck disable=SC2086 # no script, no argument
	${CC:-cc} -shared -nostdlib -Wl,-soname,"$name" $script "$tmp/stub.c" -o "$dir/llvm/lib/$name"
	rm "$tmp/stub.c" "$tmp/stub.map"
done
# What libxml2 alone needed.
rm -f "$dir"/llvm/lib/libicu* "$dir"/llvm/lib/liblzma*
for tool in llc llvm-mc ld.lld; do
	cat >"$dir/llvm/$tool" <<'WRAPPER'
#!/bin/sh
here=$(dirname "$(realpath "$0")")
tool=$(basename "$0")
exec "$here/lib/ld.so" --argv0 "$tool" --library-path "$here/lib" "$here/real/$tool" "$@"
WRAPPER
	chmod +x "$dir/llvm/$tool"
done
mv "$dir/bin/tritonc" "$dir/bin/tritonc.real"
cat >"$dir/bin/tritonc" <<'WRAPPER'
#!/bin/sh
here=$(dirname "$(realpath "$0")")
export TRITONC_LLC="${TRITONC_LLC:-$here/../llvm/llc}"
export TRITONC_LLVM_MC="${TRITONC_LLVM_MC:-$here/../llvm/llvm-mc}"
export TRITONC_LLD="${TRITONC_LLD:-$here/../llvm/ld.lld}"
if [ -x "$here/ptxas" ]; then export TRITONC_PTXAS="${TRITONC_PTXAS:-$here/ptxas}"; fi
exec "$here/tritonc.real" "$@"
WRAPPER
chmod +x "$dir/bin/tritonc"
if [ "${2-}" = --ptxas ]; then cp "$(find ptxas)" "$dir/bin/ptxas"; fi

# It works before it is packed.
cat >"$tmp/k.ttir" <<'TTIR'
module { tt.func public @k() { tt.return } }
TTIR
"$dir/bin/tritonc" --target cuda:80 --emit ptx -o - "$tmp/k.ttir" >/dev/null
"$dir/bin/tritonc" --target hip:gfx942 --emit hsaco -o "$tmp/k.hsaco" "$tmp/k.ttir"
tar -C "$tmp" -cf - --sort=name --owner=0 --group=0 tritonc | xz -T2 >"$out"
ls -l "$out"
