package nvidia

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/dialect/scf"
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
// copied by TMA: two iterations ahead, into three buffers that the dots read as they are, and
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
			"ttng.init_barrier":                   3, // the dot runs on, so there is one buffer more
			"ttng.inval_barrier":                  3,
			"ttng.barrier_expect":                 3, // two iterations before the loop, one in it
			"ttng.async_tma_copy_global_to_local": 6,
			"ttng.wait_barrier":                   1,
			"ttg.local_load":                      0,
			"ttng.warp_group_dot":                 1,
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

// TestPersistentStores: in a persistent matmul, whose loops are fused, the tile that is
// stored, whole or in halves, goes on its way while the copies of the next one do. It is
// waited for where its buffer is filled again, and after the loop.
func TestPersistentStores(t *testing.T) {
	for _, test := range []struct {
		file   string
		stores int
	}{{"matmul_desc.ttir", 1}, {"persistent_halves.ttir", 2}} {
		ttir, err := os.ReadFile(filepath.Join("testdata", "tma", test.file))
		if err != nil {
			t.Fatal(err)
		}
		loops := 0
		ir.Walk(ttgirOf(t, test.file, ttir, `{"num_warps":8}`), func(loop *ir.Operation) ir.WalkResult {
			if !loop.Is(scf.For) {
				return ir.Advance
			}
			loops++
			var got []string // stores and waits, without what lies between
			copies := 0
			ir.Walk(loop, func(op *ir.Operation) ir.WalkResult {
				switch name := strings.TrimPrefix(op.Name(), "ttng."); name {
				case "async_tma_copy_global_to_local":
					if copies++; len(got) > 0 {
						t.Errorf("%s: a copy begins after a store of its iteration", test.file)
					}
				case "async_tma_store_wait", "async_tma_copy_local_to_global", "fence_async_shared":
					got = append(got, name)
				case "ttg.local_store":
					got = append(got, name)
				}
				return ir.Advance
			})
			want := slices.Repeat([]string{"async_tma_store_wait", "ttg.local_store", "fence_async_shared", "async_tma_copy_local_to_global"}, test.stores)
			if !slices.Equal(got, want) {
				t.Errorf("%s: a loop has %q, want %q", test.file, got, want)
			}
			after := loop.Next()
			for after != nil && after.Name() != "ttng.async_tma_store_wait" {
				after = after.Next()
			}
			if after == nil {
				t.Errorf("%s: nothing waits for the last store", test.file)
			}
			return ir.Skip
		})
		if loops != 2 { // and the one for K = 0
			t.Errorf("%s: %d loops, want 2", test.file, loops)
		}
	}
}

// TestDescriptorRemarks: the metadata say of each descriptor whether TMA copies
// through it, and why.
func TestDescriptorRemarks(t *testing.T) {
	const edges = `module {
  tt.func public @k(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %u: !tt.ptr<f16>, %n: i32 {tt.divisibility = 16 : i32}, %m: i32) {
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c1 = arith.constant 1 : i64
    %s = arith.extsi %n : i32 to i64
    %r = arith.extsi %m : i32 to i64
    %base = tt.make_tensor_descriptor %u, [%n, %n], [%s, %c1] : <f16>, <tensor<16x16xf16>> loc(#base)
    %stride = tt.make_tensor_descriptor %p, [%n, %n], [%r, %c1] : <f16>, <tensor<16x16xf16>> loc(#stride)
    %small = tt.make_tensor_descriptor %p, [%n, %n], [%s, %c1] : <f16>, <tensor<16x4xf16>> loc(#small)
    %good = tt.make_tensor_descriptor %p, [%n, %n], [%s, %c1] : <f16>, <tensor<16x16xf16>> loc(#good)
    scf.for %i = %c0_i32 to %n step %c1_i32  : i32 {
      %d = tt.make_tensor_descriptor %p, [%n, %n], [%s, %c1] : <f16>, <tensor<16x16xf16>> loc(#loop)
      %x = tt.descriptor_load %d[%c0_i32, %c0_i32] : !tt.tensordesc<tensor<16x16xf16>> -> tensor<16x16xf16>
    }
    tt.return
  }
}
#base = loc("k.py":1:4)
#stride = loc("k.py":2:4)
#small = loc("k.py":3:4)
#good = loc("k.py":4:4)
#loop = loc("k.py":5:8)
`
	product, err := os.ReadFile(filepath.FromSlash("testdata/tma/matmul_desc.ttir"))
	if err != nil {
		t.Fatal(err)
	}
	const inLoop = "tma: a loop with a dot copies through it"
	for _, test := range []struct {
		cc, text, options string
		want              []string
	}{
		{"90", string(product), `{"num_warps":8}`, []string{inLoop, inLoop, inLoop}},
		{"90", string(product), `{"num_warps":8,"num_stages":5}`, slices.Repeat([]string{"pointers: the blocks on the way would take 311376 bytes of shared memory, and a program may have 232448"}, 3)},
		{"90", string(product), `{"num_warps":8,"tma":"never"}`, nil},
		{"80", string(product), `{"num_warps":8}`, nil},
		{"90", edges, `{"tma":"auto"}`, []string{
			"k.py:1:5: pointers: its base is not known to be a multiple of 16 bytes",
			"k.py:2:5: pointers: the stride of its dimension 0 is not known to be a multiple of 16 bytes",
			"k.py:3:5: pointers: rows of its blocks have 8 bytes, and TMA wants at least 16",
			"k.py:4:5: pointers: no loop with a dot copies through a descriptor",
			"k.py:5:9: pointers: no loop with a dot copies through a descriptor",
		}},
		{"90", edges, `{"tma":"always"}`, []string{3: "k.py:4:5: tma: the options ask for it", "k.py:5:9: tma: the options ask for it"}},
	} {
		req := request(t, test.cc, stageTTGIR, "k.ttir", []byte(test.text), test.options)
		req.Last = stageTTGIR
		resp, err := sdktest.Start(t, New()).RunStages(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		var metadata struct{ Remarks []backend.Remark }
		if err := json.Unmarshal([]byte(resp.MetadataJSON), &metadata); err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, r := range metadata.Remarks {
			if r.Subject != "descriptor" || r.Line == 0 || r.Column == 0 {
				t.Errorf("%s: remark %+v", test.options, r)
			}
			said := r.Decision + ": " + r.Why
			if r.File == "k.py" {
				said = fmt.Sprintf("%s:%d:%d: %s", r.File, r.Line, r.Column, said)
			}
			if i < len(test.want) && test.want[i] == "" {
				said = ""
			}
			got = append(got, said)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("cuda:%s, %s: remarks\n%s\nwant\n%s", test.cc, test.options, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}
}
