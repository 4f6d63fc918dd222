package gpu64

import (
	"context"
	"testing"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/internal/inprocess"
)

// compile takes a kernel of a Python file to a stage, the whole way through core.
// Signature is that of the flag -s of tritonc. The result is what was lowered.
func compile(t *testing.T, path string, source []byte, kernel, signature, stage string, values map[string]any) (*core.Kernel, *lower.Result, error) {
	t.Helper()
	var lowered *lower.Result
	b := inprocess.Backend{
		Kit:      New(func(_ []byte, r *lower.Result) { lowered = r }),
		Settings: map[string]string{"verify_passes": "1"},
	}
	target := core.Target{Backend: backendName, Arch: arch, WarpSize: Lanes}
	opts := &core.Options{
		Select: func(context.Context, core.Target) (core.Backend, core.Target, error) { return b, target, nil },
		Values: values, Stages: []string{stage}, AllowUnlaunchable: true,
	}
	variants, err := core.Variants(t.Context(), &core.Source{Path: path, Text: source}, target, opts, core.Want{Kernel: kernel, Signature: signature})
	if err != nil {
		return nil, nil, err
	}
	k, err := core.Compile(t.Context(), variants[0], target, opts)
	return k, lowered, err
}
