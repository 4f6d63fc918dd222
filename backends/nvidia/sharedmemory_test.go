package nvidia

import (
	"fmt"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/pass"
)

const descriptorKernels = `
import triton
import triton.language as tl

@triton.jit
def persistent(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ROWS: tl.constexpr, FLAT: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    if ROWS:
        b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    else:
        b = tl.make_tensor_descriptor(b_ptr, shape=[K, N], strides=[N, 1], block_shape=[BK, BN])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    columns = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * columns, tl.num_programs(0), flatten=FLAT):
        m = tile // columns * BM
        n = tile % columns * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, tl.cdiv(K, BK)):
            x = a.load([m, k * BK])
            if ROWS:
                y = b.load([n, k * BK]).T
            else:
                y = b.load([k * BK, n])
            acc = tl.dot(x, y, acc)
        c.store([m, n], acc.to(c_ptr.dtype.element_ty))

@triton.jit
def tile(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ROWS: tl.constexpr, FLAT: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[K, N], strides=[N, 1], block_shape=[BK, BN])
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, tl.cdiv(K, BK)):
        x = a.load([m, k * BK])
        y = b.load([k * BK, n])
        if ROWS:
            x = (x * 2).to(x.dtype)
        acc = tl.dot(x, y, acc)
    if FLAT:
        c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
        c.store([m, n], acc.to(c_ptr.dtype.element_ty))
    else:
        at = (m + tl.arange(0, BM))[:, None] * N + (n + tl.arange(0, BN))[None, :]
        tl.store(c_ptr + at, acc.to(c_ptr.dtype.element_ty))

@triton.jit
def mixed(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ROWS: tl.constexpr, FLAT: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, tl.cdiv(K, BK)):
        x = a.load([m, k * BK])
        at = (k * BK + tl.arange(0, BK))[:, None] * N + (n + tl.arange(0, BN))[None, :]
        y = tl.load(b_ptr + at)
        acc = tl.dot(x, y, acc)
    at = (m + tl.arange(0, BM))[:, None] * N + (n + tl.arange(0, BN))[None, :]
    tl.store(c_ptr + at, acc.to(c_ptr.dtype.element_ty))

@triton.jit
def attention(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ROWS: tl.constexpr, FLAT: tl.constexpr):
    q_desc = tl.make_tensor_descriptor(a_ptr, shape=[M, BK], strides=[BK, 1], block_shape=[BM, BK])
    k_desc = tl.make_tensor_descriptor(b_ptr, shape=[N, BK], strides=[BK, 1], block_shape=[BN, BK])
    v_desc = tl.make_tensor_descriptor(b_ptr + K, shape=[N, BK], strides=[BK, 1], block_shape=[BN, BK])
    o_desc = tl.make_tensor_descriptor(c_ptr, shape=[M, BK], strides=[BK, 1], block_shape=[BM, BK])
    m = tl.program_id(0) * BM
    q = q_desc.load([m, 0])
    acc = tl.zeros((BM, BK), tl.float32)
    top = tl.full((BM,), -1e30, tl.float32)
    sum = tl.zeros((BM,), tl.float32)
    for n in tl.range(0, N, BN):
        k = k_desc.load([n, 0])
        s = tl.dot(q, k.T)
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        scale = tl.exp2(top - new)
        sum = sum * scale + tl.sum(p, 1)
        acc = acc * scale[:, None]
        v = v_desc.load([n, 0])
        acc = tl.dot(p.to(v.dtype), v, acc)
        top = new
    o_desc.store([m, 0], (acc / sum[:, None]).to(c_ptr.dtype.element_ty))
`

// TestSharedMemory: what is decided about TMA before the passes, by an estimate of
// shared memory, is what the allocation of the whole stage decides: descriptors are
// kept if the kernel fits with them. Where it fits neither way, either may be.
func TestSharedMemory(t *testing.T) {
	f, err := frontend.Parse("k.py", "k.py", []byte(descriptorKernels))
	if err != nil {
		t.Fatal(err)
	}
	program := f.In(frontend.Environment{})
	kept, dropped := 0, 0
	for _, kernel := range []struct {
		name  string
		flags []string // ROWS, FLAT
	}{
		{"persistent", []string{"False, False", "True, True", "False, True"}},
		{"tile", []string{"False, False", "True, True"}},
		{"mixed", []string{"False, False"}},
		{"attention", []string{"False, False"}},
	} {
		for _, elem := range []string{"fp16", "fp32"} {
			for _, tile := range [][3]int{{128, 256, 64}, {128, 64, 128}, {256, 64, 64}} {
				for _, stages := range []int{1, 3, 4, 5} {
					for _, flags := range kernel.flags {
						signature := fmt.Sprintf("*%[1]s:16, *%[1]s:16, *%[1]s:16, i32:16, i32:16, i32:16, %[2]d, %[3]d, %[4]d, %[5]s", elem, tile[0], tile[1], tile[2], flags)
						what := fmt.Sprintf("%s(%s), %d stages", kernel.name, signature, stages)
						m := ttirOf(t, program, kernel.name, signature, stages)
						byTMA, keeps := sharedMemoryOf(t, m, tmaAlways, stages), keepsDescriptors(t, m, stages)
						if keeps {
							kept++
						} else {
							dropped++
						}
						if fits := byTMA <= sharedMemory90; fits == keeps {
							continue
						}
						if byPointers := sharedMemoryOf(t, m, tmaNever, stages); min(byTMA, byPointers) <= sharedMemory90 {
							t.Errorf("%s: %d bytes by TMA, %d by pointers, of %d; kept by TMA: %v", what, byTMA, byPointers, sharedMemory90, keeps)
						}
					}
				}
			}
		}
	}
	t.Logf("%d kernels by TMA, %d by pointers", kept, dropped)
	if kept < 100 || dropped < 40 {
		t.Error("too few kernels are on one side")
	}
}

// sharedMemory90 is what a block may have on cuda:90.
const sharedMemory90 = 227 << 10

// ttirOf is a kernel after the stage ttir for cuda:90, with its descriptors.
func ttirOf(t *testing.T, program *frontend.Program, kernel, signature string, stages int) *ir.Operation {
	t.Helper()
	variants, err := program.Variants(t.Context(), &frontend.Request{Kernel: kernel, Signature: signature})
	if err != nil {
		t.Fatal(err)
	}
	m, err := program.Build(t.Context(), dialect.NewContext(), variants[0], &frontend.Options{NumWarps: 8, NumStages: stages, NumCTAs: 1})
	if err != nil {
		t.Fatal(err)
	}
	j := job90(t, tmaAlways, stages)
	if _, err := (&pass.Runner{}).Run(m, ttirRows(j.early, j.opts), passFacts(j.early, j.opts)); err != nil {
		t.Fatal(err)
	}
	return m
}

// job90 is a compile for cuda:90 with eight warps.
func job90(t *testing.T, tma string, stages int) *job {
	t.Helper()
	asked := request(t, "90", stageTTIR, "k.ttir", nil, fmt.Sprintf(`{"num_warps":8,"num_stages":%d,"tma":%q}`, stages, tma))
	j, err := readRequest(asked.Target, asked.OptionsJSON)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// keepsDescriptors reports whether the row that decides keeps the descriptors of a ttir
// module.
func keepsDescriptors(t *testing.T, m *ir.Operation, stages int) bool {
	t.Helper()
	m = m.Clone(ir.NewMapping())
	j := job90(t, tmaAlways, stages)
	if _, err := (&pass.Runner{}).Run(m, ttgirRows(j.early, j.opts)[:1], nil); err != nil {
		t.Fatal(err)
	}
	return ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
		if op.Is(tt.MakeTensorDesc) {
			return ir.Stop
		}
		return ir.Advance
	})
}

// sharedMemoryOf is what a copy of a ttir module takes of shared memory after the
// stage ttgir, with all descriptors by TMA or none.
func sharedMemoryOf(t *testing.T, m *ir.Operation, tma string, stages int) int64 {
	t.Helper()
	m = m.Clone(ir.NewMapping())
	j := job90(t, tma, stages)
	j.early.sharedMemory = 0 // no limit to decide by
	if _, err := (&pass.Runner{}).Run(m, ttgirRows(j.early, j.opts), passFacts(j.early, j.opts)); err != nil {
		t.Fatal(err)
	}
	placed, _, err := lower.Allocate(m, j.early.target())
	if err != nil {
		t.Fatal(err)
	}
	return int64(placed.Size())
}
