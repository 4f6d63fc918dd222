package amdg_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/amd/amdg"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir/text"
)

const preamble = `#b = #ttg.blocked<{sizePerThread = [2, 4], threadsPerWarp = [8, 8], warpsPerCTA = [2, 2], order = [1, 0]}>
#b1 = #ttg.blocked<{sizePerThread = [4, 2], threadsPerWarp = [8, 8], warpsPerCTA = [2, 2], order = [1, 0]}>
#half = #ttg.blocked<{sizePerThread = [2, 4], threadsPerWarp = [8, 8], warpsPerCTA = [2, 1], order = [1, 0]}>
#s = #ttg.slice<{dim = 1, parent = #b}>
#turned = #ttg.linear<{register = [[1, 0], [0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [2, 0], [4, 0], [8, 0]], warp = [[0, 32], [16, 0]], block = []}>
#mma = #ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], isTransposed = true}>
#dotA = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 4}>
#sh = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#shT = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>
#shS = #ttg.swizzled_shared<{vec = 2, perPhase = 1, maxPhase = 4, order = [1, 0]}>
#pad = #ttg.padded_shared<[32:+4] {order = [1, 0], shape = [32, 64]}>
#tight = #ttg.padded_shared<[2:+4] {order = [1, 0], shape = [32, 64]}>
#one = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32} {
  tt.func public @k(%p: !tt.ptr<f16>, %f: !tt.ptr<f32>, %o: tensor<32x64xi32, #b>, %o1: tensor<32x64xi32, #b1>, %v: tensor<32x64xf16, #b>, %w: tensor<32x64xf32, #b>,
      %m: tensor<32x64xi1, #b>, %m1: tensor<32x64xi1, #b1>, %c: i1, %i: i32, %to: !ttg.memdesc<32x64xf16, #sh, #smem, mutable>, %const: !ttg.memdesc<32x64xf16, #sh, #smem>,
      %bar: !ttg.memdesc<1xi64, #one, #smem, mutable>, %d: !tt.tensordesc<tensor<32x64xf16, #sh>>, %swizzled: !ttg.memdesc<32x64xf16, #shS, #smem, mutable>,
      %padded: !ttg.memdesc<32x64xf16, #pad, #smem, mutable>, %tight: !ttg.memdesc<32x64xf16, #tight, #smem, mutable>, %bytes: tensor<32x64xi8, #dotA>, %scales: tensor<32x4xi8, #b>,
      %fp8: tensor<32x64xf8E5M2, #b>, %bf: tensor<32x64xbf16, #b>, %nibbles: tensor<32x32xi8, #b>, %packed: !ttg.memdesc<16x128xi8, #shT, #smem, mutable>, %h: tensor<32x64xf16, #half>) {
`

// typeOf has the types of the preamble's values.
var typeOf = strings.NewReplacer(
	"<v>", "tensor<32x64xf16, #b>", "<w>", "tensor<32x64xf32, #b>", "<bar>", "!ttg.memdesc<1xi64, #one, #smem, mutable>", "<to>", "!ttg.memdesc<32x64xf16, #sh, #smem, mutable>",
	"<d>", "!tt.tensordesc<tensor<32x64xf16, #sh>>", "<swizzled>", "!ttg.memdesc<32x64xf16, #shS, #smem, mutable>", "<padded>", "!ttg.memdesc<32x64xf16, #pad, #smem, mutable>",
	"<tight>", "!ttg.memdesc<32x64xf16, #tight, #smem, mutable>", "<fp8>", "tensor<32x64xf8E5M2, #b>", "<bf>", "tensor<32x64xbf16, #b>", "<nibbles>", "tensor<32x32xi8, #b>",
	"<packed>", "!ttg.memdesc<16x128xi8, #shT, #smem, mutable>", "<bytes>", "tensor<32x64xi8, #dotA>", "<h>", "tensor<32x64xf16, #half>", "<scales>", "tensor<32x4xi8, #b>",
)

// cases are operations, each with the rule that it breaks; "" for none.
var cases = []struct{ body, want string }{
	{"%0 = amdg.buffer_load %p[%o], %m, %v : <v>", ""},
	{"%0 = amdg.buffer_load %p[%o1] : <v>", "values and offsets must have the same shape and layout"},
	{"%0 = amdg.buffer_load %p[%o] : <w>", "values must be of the type that ptr points to"},
	{"%0 = amdg.buffer_load %p[%o], %m1 : <v>", "mask and offsets must have the same shape and layout"},
	{"amdg.buffer_store %v, %p[%o] : <v>", ""},
	{"amdg.buffer_store %w, %p[%o] : <w>", "values must be of the type that ptr points to"},
	{"%0 = amdg.buffer_atomic_rmw fadd, relaxed, gpu, %v, %p[%o] : <v>", ""},
	{"%0 = amdg.buffer_atomic_rmw fadd, relaxed, gpu, %v, %p[%o1] : <v>", "values and offsets must have the same shape and layout"},
	{"%0 = amdg.buffer_atomic_cas acq_rel, gpu, %w, %w, %f[%o] : <w>", ""},
	{"%0 = amdg.buffer_atomic_cas acq_rel, gpu, %w, %w, %p[%o] : <w>", "values must be of the type that ptr points to"},
	{"%0 = amdg.buffer_load_to_local %p[%o] mask = %m other = %v into %to {contiguity = 4 : i32} : <f16>[tensor<32x64xi32, #b>] tensor<32x64xf16, #b> -> <32x64xf16, #sh, #smem, mutable>", ""},
	{"%0 = amdg.buffer_load_to_local %p[%o] into %const : <f16>[tensor<32x64xi32, #b>]  -> <32x64xf16, #sh, #smem>", "cannot store into immutable memory"},
	{"%0 = amdg.buffer_load_to_local %f[%o] into %to : <f32>[tensor<32x64xi32, #b>]  -> <32x64xf16, #sh, #smem, mutable>", "dest must be of the type that ptr points to"},

	{"%0 = amdg.extract_slice %v [0, 0] : <v> to <v>", ""},
	{"%0 = amdg.extract_slice %v [32, 0] : <v> to <v>", "invalid offset at dimension 0"},
	{"%0 = amdg.extract_slice %v [0] : <v> to <v>", "there must be an offset for each dimension"},
	{"%0 = amdg.extract_slice %v [0, 0] : <v> to <w>", "result element type must match source element type"},
	{"%0 = amdg.extract_slice %v [0, 0] : <v> to tensor<32x64xf16, #b1>", "No source register holds the element for destination index [2, 0]"},
	{"%0 = amdg.extract_slice %h [0, 0] : <h> to <h>", ""},
	{"%0 = arith.negf %h : <h>", "Layout has 2 warps per CTA, but the context requires 4 warps per CTA"},
	{"%0 = amdg.extract_slice %h [0, 0] : <h> to <h>\n%1 = arith.negf %0 : <h>", "Layout has 2 warps per CTA, but the context requires 4 warps per CTA"},
	{"%0 = amdg.concat %h, %h : <h>, <h> -> tensor<64x64xf16, #half>", ""},
	{"%0 = amdg.concat %v, %v : <v>, <v> -> tensor<64x64xf16, #b>", ""},
	{"%0 = amdg.concat %v, %v : <v>, <v> -> tensor<64x128xf16, #b>", "Number of source tiles (2) doesn't match required count (4)."},
	{"%0 = amdg.concat %v, %w : <v>, <w> -> tensor<64x64xf16, #b>", "All sources must have identical tensor types."},
	{"%0 = amdg.concat %v, %v : <v>, <v> -> tensor<64x64xf16, #b1>", "No source register holds the element for destination index [2, 0]"},
	{"%0 = amdg.in_thread_transpose %v : <v> -> tensor<32x64xf16, #turned>", ""},
	{"%0 = amdg.in_thread_transpose %v : <v> -> tensor<32x64xf32, #turned>", "Expect input and output tensor to have same dtype"},
	{"%0 = amdg.in_thread_transpose %v : <v> -> tensor<32x64xf16, #b>", "Expect output layout to be transposed per thread"},
	{"%0 = amdg.local_load_packed_tranposed %packed : <packed> -> tensor<32x64xi8, #dotA>", ""},
	{"%0 = amdg.local_load_packed_tranposed %to : <to> -> tensor<32x64xi8, #dotA>", "Order of dimensions don't match expected"},
	{"%0 = amdg.local_load_packed_tranposed %packed : <packed> -> tensor<32x32xi8, #dotA>", "Input and output dimensions don't match after packing changes"},

	{"%0 = amdg.upcast_mxfp %bytes, %scales fp_type = e2m1 {fastMath = false} : <bytes>, <scales> -> tensor<32x128xbf16, #dotA>", ""},
	{"%0 = amdg.upcast_mxfp %bytes, %scales fp_type = e4m3 {fastMath = false} : <bytes>, <scales> -> tensor<32x64xbf16, #dotA>", "K dimension of first operand must be 16 times larger"},
	{"%0 = amdg.upcast_mxfp %bytes, %v fp_type = e2m1 {fastMath = false} : <bytes>, <v> -> tensor<32x64xbf16, #dotA>", "element type of the second operand must be uint8"},
	{"%0 = amdg.scaled_upcast_fp8 %fp8 scale %bf : <fp8>, <bf> -> <bf>", ""},
	{"%0 = amdg.scaled_upcast_fp8 %v scale %bf : <v>, <bf> -> <bf>", "input must be f8E4M3FN or f8E5M2"},
	{"%0 = amdg.scaled_upcast_fp4 %nibbles scale %bf {axis = 1 : i32} : <nibbles>, <bf> -> <bf>", ""},
	{"%0 = amdg.scaled_upcast_fp4 %nibbles scale %bf {axis = 0 : i32} : <nibbles>, <bf> -> <bf>", "axis 0 dimension must be 2x source dimension (src=32, dst=32)"},

	{"amdg.instruction_sched_hint {variant = #amdg.SchedHintVariant<attention>}", ""},
	{"amdg.instruction_sched_hint {variant = 1 : i32}", "variant must be a #amdg.SchedHintVariant"},
	{"%0 = amdg.async_wait {num_inst = 0 : i32}", ""},
	{"%0 = amdg.async_wait {num_inst = -1 : i32}", "num_inst must not be negative"},
	{"%0 = amdg.async_tdm_wait {num = -1 : i32}", "num must not be negative"},
	{"amdg.memory_counter_wait load(1) ds(0)", ""},
	{"amdg.cond_barrier %c", ""},
	{"%0 = amdg.async_tdm_copy_global_to_local %d[%i, %i] into %to, %c : <d> -> <to>", ""},
	{"%0 = amdg.async_tdm_copy_global_to_local %d[%i, %i] into %padded, %c, barrier = %bar : <d>, <bar> -> <padded>", ""},
	{"%0 = amdg.async_tdm_copy_global_to_local %d[%i, %i] into %swizzled, %c : <d> -> <swizzled>", "TDM does not support swizzling"},
	{"%0 = amdg.async_tdm_copy_global_to_local %d[%i, %i] into %tight, %c : <d> -> <tight>", "TDM padding interval must be at least 2 dwords"},
	{"amdg.async_tdm_copy_local_to_global %d[%i, %i] from %to : <to> -> <d>", ""},
	{"amdg.async_tdm_copy_local_to_global %d[%i, %i] from %padded : <padded> -> <d>", "TDM store does not support padding"},
	{"amdg.init_barrier %bar, 1 : <bar>", ""},
	{"amdg.init_barrier %bar, 0 : <bar>", "count must be greater than or equal to 1"},
	{"amdg.wait_barrier %to, %i : <to>", "barrier allocation must be a descriptor of 1xi64 type"},
	{"%0 = amdg.arrive_barrier %bar, 2 : <bar> -> i32", ""},
	{"%0 = amdg.arrive_barrier %bar, 0 : <bar> -> i32", "count must be greater than or equal to 1"},
	{"amdg.async_copy_mbarrier_arrive %to : <to>", "barrier allocation must be a descriptor of 1xi64 type"},
	{"rocdl.s.barrier\n rocdl.iglp.opt 2\n %0 = rocdl.workitem.id.x : i32", ""},
}

// TestVerify reads each operation, and those that break no rule again from what is printed.
func TestVerify(t *testing.T) {
	line := strings.Count(preamble, "\n") + 1
	for _, c := range cases {
		body := typeOf.Replace(c.body)
		f, err := text.ParseFile(dialect.NewContext(amdg.Dialect(), amdg.ROCDL()), "x.mlir", []byte(preamble+body+"\n    tt.return\n  }\n}\n"))
		if err == nil {
			err = f.Verify()
		}
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s\n  is refused: %v", c.body, err)
		case c.want == "":
			printed := text.Append(nil, f.Op, text.Options{})
			again, err := text.Parse(dialect.NewContext(amdg.Dialect(), amdg.ROCDL()), "y.mlir", printed)
			if err != nil {
				t.Errorf("%s\n  is not read back: %v\n%s", c.body, err, printed)
			} else if got := text.Append(nil, again, text.Options{}); string(got) != string(printed) {
				t.Errorf("%s\n  is printed as\n%s\n  and then as\n%s", c.body, printed, got)
			}
		case err == nil:
			t.Errorf("%s\n  is accepted, want %s", c.body, c.want)
		case !strings.Contains(err.Error(), c.want):
			t.Errorf("%s\n  got  %v\n  want %s", c.body, err, c.want)
		default:
			var d *diag.Diagnostic
			if !errors.As(err, &d) || d.Pos.Line != line+strings.Count(body, "\n") || d.Pos.Col == 0 {
				t.Errorf("%s\n  the place is %+v, not line %d", c.body, d, line)
			}
		}
	}
}

// TestVerifyAccepts: what Triton printed for gfx942 verifies, and prints as it was. Other
// files are those of the folder that TRITONC_LAW_DIR names.
func TestVerifyAccepts(t *testing.T) {
	dir := os.Getenv("TRITONC_LAW_DIR")
	if dir == "" {
		dir = "../../../core/ir/text/testdata/law/gfx942"
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.ttgir"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no files: %v", err)
	}
	for _, path := range files {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := text.ParseFile(dialect.NewContext(amdg.Dialect(), amdg.ROCDL()), path, src)
		if err == nil {
			err = f.Verify()
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got := text.Append(nil, f.Op, text.Options{Locations: true}); string(got) != string(src) {
			t.Errorf("%s prints in another way", path)
		}
	}
}
