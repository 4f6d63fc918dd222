package counts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/driver/sim"
	"github.com/tritonc/tritonc/internal/kerneltest"
	"github.com/tritonc/tritonc/internal/refkernels"
)

// kernelDir holds the kernels and the list of jobs.
const kernelDir = "../../core/frontend/testdata"

// A job is one reference kernel.
type job struct {
	refkernels.Job
	// as names the file in line information; one of its own makes a compile that
	// nothing remembers.
	as string
}

func jobs(t testing.TB) []job {
	t.Helper()
	var out []job
	for _, j := range refkernels.Jobs(t, kernelDir) {
		out = append(out, job{Job: j})
	}
	return out
}

// jobNamed is one of jobs.
func jobNamed(t testing.TB, name string) job {
	t.Helper()
	for _, j := range jobs(t) {
		if j.Name == name {
			return j
		}
	}
	t.Fatalf("there is no job %s", name)
	return job{}
}

// compiled is a kernel as PTX with what a launch must know.
type compiled struct {
	kernel          string
	llir, ptx       string
	threads, shared int
	scratch         int // bytes of global memory that each block needs
	timings         []core.Timing
}

// compile takes a job from Python to PTX.
func compile(t testing.TB, j job, target string) *compiled {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(kernelDir, j.File))
	if err != nil {
		t.Fatal(err)
	}
	to, err := core.ParseTarget(target)
	if err != nil {
		t.Fatal(err)
	}
	opts := &core.Options{Select: kerneltest.Select, Values: j.Options, Stages: []string{"llir", "ptx"}}
	src := &core.Source{Path: j.File, Name: j.as, Text: text}
	variants, err := core.Variants(t.Context(), src, to, opts, core.Want{Kernel: j.Kernel, Signature: j.Signature})
	if err != nil {
		t.Fatal(err)
	}
	k, err := core.Compile(t.Context(), variants[0], to, opts)
	if err != nil {
		t.Fatal(kerneltest.Text(err))
	}
	c, err := newCompiled(k)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newCompiled takes PTX and what a launch must know from a kernel.
func newCompiled(k *core.Kernel) (*compiled, error) {
	var meta struct {
		NumWarps int `json:"num_warps"`
		Shared   int
		Scratch  int `json:"global_scratch_size"`
	}
	if err := json.Unmarshal(k.Metadata, &meta); err != nil {
		return nil, err
	}
	return &compiled{
		kernel: k.Name, llir: string(k.Artifact("llir").Data), ptx: string(k.Artifact("ptx").Data),
		threads: 32 * meta.NumWarps, shared: meta.Shared, scratch: meta.Scratch, timings: k.Timings,
	}, nil
}

// A shape is a launch of a kernel: its grid and arguments.
type shape struct {
	grid [3]int
	args func(d *sim.Device) []any
}

// ramp fills a buffer with a pattern that is finite in every format.
func ramp(d *sim.Device, name string, bytes int) *sim.Buffer {
	data := make([]byte, bytes)
	for i := range data {
		data[i] = byte(i*37>>3) & 0x33
	}
	b := d.Alloc(name, bytes)
	b.Write(0, data)
	return b
}

// buffers are arguments that are all memory, of one size.
func buffers(bytes int, names ...string) func(d *sim.Device) []any {
	return func(d *sim.Device) []any {
		var out []any
		for _, n := range names {
			out = append(out, ramp(d, n, bytes))
		}
		return out
	}
}

// with appends numbers to arguments.
func with(f func(d *sim.Device) []any, more ...any) func(d *sim.Device) []any {
	return func(d *sim.Device) []any { return append(f(d), more...) }
}

func matmulShape(n int, strides ...any) shape {
	size := int32(n)
	args := append([]any{size, size, size}, strides...)
	tiles := (n + 127) / 128
	return shape{sim.Dim(tiles * tiles), with(buffers(4*n*n, "a", "b", "c"), args...)}
}

// shapeOf says how a job is launched: small, with every path of the kernel taken.
func shapeOf(j job) shape {
	const n = int32(256)
	one := sim.Dim(1)
	switch j.Name {
	case "vector_add":
		return shape{sim.Dim(4), with(buffers(4*4096, "x", "y", "out"), int32(4096))}
	case "row_softmax":
		return shape{sim.Dim(4), with(buffers(4*4*2048, "out", "in"), int32(2048), int32(2048), int32(2048))}
	case "layer_norm_fwd":
		return shape{sim.Dim(2), with(buffers(2*2*4096, "X", "Y", "W", "B", "Mean", "Rstd"), int32(4096), int32(4096), float32(1e-5))}
	case "layer_norm_bwd":
		return shape{sim.Dim(2), with(buffers(2*16*2048, "DX", "DY", "DW", "DB", "X", "W", "Mean", "Rstd"), int32(16), int32(2048))}
	case "matmul_fp16", "matmul_bf16":
		return matmulShape(int(n), n, n, n)
	case "matmul_fp16_strided":
		return matmulShape(int(n), n, int32(1), n, int32(1), n, int32(1))
	case "matmul_fp16_8w":
		return shape{sim.Dim(2), matmulShape(int(n), n, n, n).args}
	case "matmul_fp32":
		return matmulShape(int(n), n, n, n)
	case "matmul_fp8e4nv":
		return matmulShape(int(n), n, n, n)
	case "matmul_desc", "matmul_desc_ws":
		return shape{sim.Dim(132), matmulShape(int(n)).args}
	case "flash_fwd_full", "flash_fwd_causal":
		return shape{sim.Dim(2), with(buffers(2*256*64, "Q", "K", "V", "O", "L"),
			float32(0.125), n*64, n*64, int32(64), int32(1), n)}
	case "row_min_split":
		return shape{one, with(buffers(4*16*2048, "in", "out"), int32(16), int32(2048), int32(2048))}
	case "prod_mid":
		return shape{sim.Dim(2), with(buffers(4*8192, "in", "mid"), int32(8192))}
	case "cumsum_rows":
		return shape{sim.Dim(2), with(buffers(4*2*2048, "x", "y"), int32(2048), int32(2048))}
	case "casts":
		return shape{one, buffers(2048, "x", "h", "b", "i8", "u8", "i64")}
	case "casts_fp8":
		return shape{one, buffers(1024, "x", "h", "e4", "e5")}
	case "promotions":
		return shape{one, with(buffers(1024, "x", "i", "u", "o"), int32(48), float32(1.5))}
	case "control_flow":
		return shape{one, with(buffers(2048, "x", "o"), int32(256), int32(7))}
	case "reductions":
		return shape{one, buffers(8192, "x", "o", "i")}
	case "sorts":
		return shape{one, buffers(4096, "x", "o", "h")}
	case "shapes":
		return shape{one, buffers(4*3*32*32, "x", "o")}
	case "atomics":
		return shape{sim.Dim(2), with(buffers(4*4100, "x", "i", "o"), int32(512))}
	case "block_ptrs":
		return shape{sim.Dim(2), with(buffers(4*64*128, "a", "o"), int32(64), int32(128), int32(128))}
	case "descriptors":
		return shape{sim.Dim(2, 2), with(buffers(2*64*128, "a", "o"), int32(64), int32(128))}
	case "randoms":
		return shape{sim.Dim(2), with(buffers(1024, "o"), int32(7))}
	case "debugging":
		return shape{one, func(d *sim.Device) []any {
			return []any{sim.Upload(d, "x", ones(128)), d.Alloc("o", 512), int32(128)}
		}}
	case "hints":
		return shape{sim.Dim(2), with(buffers(4096, "x", "o"), int32(256), int32(16))}
	case "transpose2d":
		return shape{sim.Dim(2, 2), with(buffers(2*128*128, "x", "o"), int32(128), int32(128))}
	case "dot_chain", "dot_scaled":
		return shape{one, buffers(4*64*64, "a", "b", "c", "o")}
	}
	if j.Kernel == "dots" {
		return shape{one, buffers(8*64*64, "a", "b", "o")}
	}
	return shape{one, buffers(8192, "x", "o")} // one program over x and o
}

func ones(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = 1
	}
	return out
}
