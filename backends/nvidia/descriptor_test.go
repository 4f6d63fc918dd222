package nvidia

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/diff"
	"github.com/tritonc/tritonc/core/work"
	"github.com/tritonc/tritonc/plugin-sdk/sdktest"
)

// TestDescriptorsOfFiles: ttir that was made for hardware which copies by
// descriptor enters after the stage that takes descriptors apart, and loses them
// all the same, those among the arguments too.
func TestDescriptorsOfFiles(t *testing.T) {
	const text = `module {
  tt.func public @k(%base: !tt.ptr<f32>, %n: i32, %at: i32, %to: !tt.tensordesc<tensor<16xf32>>) {
    %c1 = arith.constant 1 : i64
    %from = tt.make_tensor_descriptor %base, [%n], [%c1] : <f32>, <tensor<16xf32>>
    %x = tt.descriptor_load %from[%at] : !tt.tensordesc<tensor<16xf32>> -> tensor<16xf32>
    tt.descriptor_store %to[%at], %x : !tt.tensordesc<tensor<16xf32>>, tensor<16xf32>
    tt.return
  }
}
`
	c := sdktest.Start(t, New())
	for _, cc := range []string{"80", "90"} {
		req := request(t, cc, stageTTGIR, "k.ttir", []byte(text), "")
		req.Last = stageLLIR
		resp, err := c.RunStages(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		ttgir := string(resp.Artifact(stageTTGIR))
		if strings.Contains(ttgir, "desc") {
			t.Errorf("cuda:%s: descriptors are left:\n%s", cc, ttgir)
		}
		if loads, stores := strings.Count(ttgir, "tt.load"), strings.Count(ttgir, "tt.store"); loads != 1 || stores != 1 {
			t.Errorf("cuda:%s: %d loads and %d stores, want one each:\n%s", cc, loads, stores, ttgir)
		}
	}
}

// ttgirOf is what the passes make of the ttir in a file, for cuda:90.
func ttgirOf(t *testing.T, name string, ttir []byte, options string) *ir.Operation {
	t.Helper()
	req := request(t, "90", stageTTGIR, name, ttir, options)
	req.Last = stageTTGIR
	resp, err := sdktest.Start(t, New()).RunStages(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return parsed(t, resp.Artifact(stageTTGIR))
}

func parsed(t *testing.T, src []byte) *ir.Operation {
	t.Helper()
	f, err := New().Parse(&work.Meter{}, "t.ttgir", src)
	if err != nil {
		t.Fatal(err)
	}
	return f.Op
}

// TestTMAAgainstTriton: a kernel that copies through descriptors, outside of loops,
// becomes what Triton makes of it.
func TestTMAAgainstTriton(t *testing.T) {
	a, err := txtar.ParseFile(filepath.FromSlash("testdata/tma/descriptors.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := ttgirOf(t, "k.ttir", a.Files[0].Data, `{"tma":"always"}`), parsed(t, a.Files[1].Data)
	if d := diff.Modules("tritonc", ours, "triton", theirs); d != "" {
		t.Error(d)
	}
	ir.Walk(ttgirOf(t, "k.ttir", a.Files[0].Data, ""), func(op *ir.Operation) ir.WalkResult {
		if op.Def().Dialect() == ttng.Name {
			t.Errorf("%s where no loop has a dot", op.Name())
		}
		return ir.Advance
	})
}

// TestTMAProduct: a dot in three stages has all of its operands and its result
// copied by TMA: two iterations ahead, into buffers that the dots read as they are, and
// from one buffer.
func TestTMAProduct(t *testing.T) {
	ttir, err := os.ReadFile(filepath.FromSlash("testdata/tma/matmul_desc.ttir"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		options string
		want    map[string]int
	}{
		{`{"tma":"auto","num_warps":8}`, map[string]int{
			"ttng.tensormap_create":               3,
			"ttng.init_barrier":                   2,
			"ttng.inval_barrier":                  2,
			"ttng.barrier_expect":                 3, // two iterations before the loop, one in it
			"ttng.async_tma_copy_global_to_local": 6,
			"ttng.wait_barrier":                   1,
			"ttg.local_load":                      2,
			"ttg.convert_layout":                  0,
			// The loop over tiles for K = 0 and the fused one.
			"ttng.async_tma_copy_local_to_global": 2,
			"ttng.async_tma_store_wait":           4,
			"ttng.fence_async_shared":             2,
			"tt.load":                             0, "tt.store": 0, "tt.descriptor_load": 0, "tt.make_tensor_descriptor": 0,
		}},
		{`{"tma":"never","num_warps":8}`, map[string]int{"ttng.tensormap_create": 0, "tt.make_tensor_descriptor": 0, "tt.store": 2}},
		{`{"tma":"always","num_warps":8}`, map[string]int{"ttng.async_tma_copy_global_to_local": 6, "ttng.async_tma_copy_local_to_global": 2}},
		// Four buffers of operands and one of the result are more than a block has.
		{`{"tma":"auto","num_warps":8,"num_stages":5}`, map[string]int{"ttng.tensormap_create": 0, "tt.store": 2}},
		{`{"tma":"auto","num_warps":8,"num_stages":1}`, map[string]int{
			"ttng.async_tma_copy_global_to_local": 2, "ttng.wait_barrier": 2, "ttng.async_tma_store_wait": 2, "tt.load": 0,
		}},
	} {
		got := make(map[string]int)
		ir.Walk(ttgirOf(t, "matmul_desc.ttir", ttir, test.options), func(op *ir.Operation) ir.WalkResult {
			got[op.Name()]++
			return ir.Advance
		})
		for _, name := range slices.Sorted(maps.Keys(test.want)) {
			if got[name] != test.want[name] {
				t.Errorf("%s: %d times %s, want %d", test.options, got[name], name, test.want[name])
			}
		}
	}
}
