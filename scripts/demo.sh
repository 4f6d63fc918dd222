#!/bin/sh
# Compiles examples/vector_add.py for an A100 and shows what came out.
set -eu
cd "$(dirname "$0")/.."
out=build/demo
rm -rf "$out"
mkdir -p "$out"
echo
echo "\$ tritonc --target cuda:80 --time --emit ttir,ttgir,llir,ptx,cubin,json -o $out examples/vector_add.py"
bin/tritonc --target cuda:80 --time --emit ttir,ttgir,llir,ptx,cubin,json -o "$out" examples/vector_add.py
echo
ls -l "$out"
echo
echo "The kernel as ttir, $out/vector_add.ttir:"
sed -n '/tt.func/,/^  }/p' "$out/vector_add.ttir" | sed 's/ loc([^()]*\(([^()]*)\)*[^()]*)//g'
sig='*fp32:16, *fp32:16, *fp32:16, i32:16, 1024'
echo
echo "Its loads and stores when n is a multiple of 16, too (-s '$sig'):"
bin/tritonc --target cuda:80 -s "$sig" --emit ptx -o - examples/vector_add.py | grep -E '(ld|st)\.global'
