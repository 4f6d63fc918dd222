package kerneltest

import (
	"context"
	"io"
	"slices"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia"
	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/simulated"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// twin is another vendor's backend: one target, twin:1, of which it makes what
// NVIDIA's makes of cuda:80.
type twin struct {
	*backend.Backend
	compiled int
}

var a100 = sdk.Target{Backend: "cuda", Arch: "80", WarpSize: 32}

func (b *twin) Describe(ctx context.Context) (sdk.Facts, error) {
	f, err := b.Backend.Describe(ctx)
	f.Name = "twin"
	i := slices.IndexFunc(f.Targets, func(t sdk.TargetFacts) bool { return t.Pattern == "cuda:80" })
	f.Targets = []sdk.TargetFacts{f.Targets[i]}
	f.Targets[0].Pattern = "twin:1"
	return f, err
}

func (b *twin) ParseOptions(ctx context.Context, req sdk.ParseOptionsRequest) (sdk.ParseOptionsResponse, error) {
	req.Target = a100
	return b.Backend.ParseOptions(ctx, req)
}

func (b *twin) AddStages(ctx context.Context, req sdk.AddStagesRequest) ([]sdk.Stage, error) {
	req.Target = a100
	return b.Backend.AddStages(ctx, req)
}

func (b *twin) RunStages(ctx context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
	b.compiled++
	req.Target = a100
	return b.Backend.RunStages(ctx, req)
}

// A backend that is added compiles the kernels of its targets, and its devices run
// them; other targets stay with theirs.
func TestAddBackend(t *testing.T) {
	Simulated(t)
	added, opened := &twin{Backend: nvidia.New()}, 0
	AddBackend(added, func(_ context.Context, target core.Target, printed io.Writer) (driver.Device, error) {
		opened++
		return simulated.New(a100, simulated.Options{Output: printed})
	})
	k := Kernel{Source: `
import triton
import triton.language as tl

@triton.jit
def double(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, i < n) * 2, i < n)
`}
	for _, target := range []string{"twin:1", "cuda:86"} {
		x := Full(3, "fp32", 100)
		k.On(target).Run(t, Grid(2), x, 77, 64)
		want := slices.Concat(slices.Repeat([]float64{6}, 77), slices.Repeat([]float64{3}, 23))
		Equal(t, target, x, want)
	}
	if added.compiled != 1 || opened != 1 {
		t.Errorf("%d compiles and %d devices of the added backend, want one of each", added.compiled, opened)
	}
}
