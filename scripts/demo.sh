#!/bin/sh
# Compiles examples/vector_add.py for an A100, shows what came out, and runs it
# on a simulated one, on a simulated MI300X where LLVM is there, which AMD's GPUs need, and on
# a simulated Ascend 910B3.
set -eu
cd "$(dirname "$0")/.."
out=build/demo
rm -rf "$out"
mkdir -p "$out"
echo
echo "\$ tritonc --target cuda:80 --no-cache --time --emit ttir,ttgir,llir,ptx,cubin,json -o $out examples/vector_add.py"
bin/tritonc --target cuda:80 --no-cache --time --emit ttir,ttgir,llir,ptx,cubin,json -o "$out" examples/vector_add.py
echo
ls -l "$out"
echo
echo "The kernel as ttir, $out/vector_add.ttir:"
sed -n '/tt.func/,/^  }/p' "$out/vector_add.ttir" | sed 's/ loc([^()]*\(([^()]*)\)*[^()]*)//g'
sig='*fp32:16, *fp32:16, *fp32:16, i32:16, 1024'
echo
echo "Its loads and stores when n is a multiple of 16, too (-s '$sig'):"
bin/tritonc --target cuda:80 -s "$sig" --emit ptx -o - examples/vector_add.py | grep -E '(ld|st)\.global'
echo
echo "Run on the simulated A100, on random numbers, and compared with x + y:"
run() {
	command="bin/tritonc run --target $1 --device sim --grid 'cdiv(n, BLOCK)' --arg n=100000 --arg BLOCK=1024 \\
    --arg 'x_ptr=randn:fp32[n]' --arg 'y_ptr=randn:fp32[n]' --arg 'out_ptr=empty:fp32[n]' \\
    --expect 'out_ptr=x_ptr + y_ptr' --rtol 1e-6 --save out_ptr=$out/out.npy ${2:+$2 }examples/vector_add.py"
	echo "\$ $command"
	eval "$command"
}
run cuda:80
echo
if scripts/toolchain.sh --check --for amd >/dev/null 2>&1; then
	echo "And for AMD, on the simulated MI300X:"
	run hip:gfx942
else
	echo "For AMD, on the simulated MI300X, it takes LLVM 22: make toolchain FOR=amd"
fi
echo
echo "And on the simulated Ascend 910B3, an NPU, with what its pipes did over time:"
run npu:ascend910b3 "--timeline $out/timeline.svg"
