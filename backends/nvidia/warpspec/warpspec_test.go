package warpspec_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/backends/nvidia/warpspec"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	ours := []*pass.Pass{warpspec.AllocateWarpGroups, warpspec.Specialize}
	passtest.RunIn(t, append(dialect.All(), ttng.Dialect()), "testdata", ours, ours...)
}

// Kernels that are not divided say why.
func TestWhole(t *testing.T) {
	archive, err := os.ReadFile("testdata/nvgpu-warp-specialization/example.txtar")
	if err != nil {
		t.Fatal(err)
	}
	src := string(archive)
	src = src[strings.Index(src, "#blocked"):strings.Index(src, "-- out.mlir --")]
	const end = "    tt.return\n"
	for name, c := range map[string]struct{ old, new, want string }{
		"no dots":        {"%d = ttng.warp_group_dot %as, %bs, %acc : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<128x64xf32, #mma>", "%d = arith.addf %acc, %acc : tensor<128x64xf32, #mma>", "no dot by wgmma"},
		"a branch":       {end, "%p = arith.cmpi eq, %m, %k : i32\nscf.if %p {\ntt.print \"a\" {hex = false, isSigned = array<i32: 1>} : %m : i32\n} else {\ntt.print \"b\" {hex = false, isSigned = array<i32: 1>} : %k : i32\n}\n" + end, "has two branches or results"},
		"no buffers":     {"{tt.warp_specialize}", "{tt.warp_specialize, tt.num_stages = 0 : i32}", "there are no stages (num_stages)"},
		"other loads":    {"%b = tt.descriptor_load %db[%o, %c0] : !tt.tensordesc<tensor<64x64xf16, #shared>>", "%ps = tt.splat %pb : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>, #blocked>\n%b = tt.load %ps : tensor<64x64x!tt.ptr<f16>, #blocked>\n%unused = tt.descriptor_load %db[%o, %c0] : !tt.tensordesc<tensor<64x64xf16, #shared>>", "is loaded by pointers"},
		"atomic address": {"%o = arith.muli %i, %c64 : i32", "%pi = tt.bitcast %pc : !tt.ptr<f16> -> !tt.ptr<i32>\n%true = arith.constant true\n%o = tt.atomic_rmw add, relaxed, gpu, %pi, %c1, %true : (!tt.ptr<i32>, i32, i1) -> i32", "depends on tt.atomic_rmw"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(src, c.old) {
				t.Fatalf("the example lacks %q", c.old)
			}
			kernel := strings.Replace(src, c.old, c.new, 1)
			m, err := text.Parse(dialect.NewContext(ttng.Dialect()), "k.ttgir", []byte(kernel))
			if err != nil {
				t.Fatal(err)
			}
			before := text.Append(nil, m, text.Options{})
			var runner pass.Runner
			timings, err := runner.Run(m, []pass.Row{{Pass: warpspec.Specialize}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			remarks := timings[0].Remarks
			if len(remarks) != 1 || remarks[0].Decision != warpspec.Whole || !strings.Contains(remarks[0].Why, c.want) {
				t.Errorf("remarks %+v, want %q", remarks, c.want)
			}
			if after := text.Append(nil, m, text.Options{}); string(after) != string(before) {
				t.Errorf("the kernel changed:\n%s", after)
			}
		})
	}
}
