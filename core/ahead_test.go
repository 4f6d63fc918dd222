package core

import (
	"context"
	"errors"
	"testing"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// starting is upper while its process starts: only its facts are known.
type starting struct {
	upper
	began, waited int
	failure       error // of the start
}

func (b *starting) Facts(context.Context) (*sdk.Facts, error) {
	return nil, errors.New("the process is waited for")
}

func (b *starting) KnownFacts(ctx context.Context) (*sdk.Facts, error) { return b.upper.Facts(ctx) }

func (b *starting) StartAhead(context.Context) func(context.Context) error {
	b.began++
	return func(context.Context) error {
		b.waited++
		return b.failure
	}
}

func (b *starting) RunStages(ctx context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
	if b.waited == 0 {
		return sdk.RunStagesResponse{}, errors.New("there is no process yet")
	}
	return b.upper.RunStages(ctx, req)
}

func (b *starting) choose(_ context.Context, t Target) (Backend, Target, error) { return b, t, nil }

// TestStartAhead: the front end does not wait for the backend's process, stages do, and a
// start that fails is the compile's error.
func TestStartAhead(t *testing.T) {
	src := &Source{Path: "k.py", Text: []byte(`# tritonc: k(*fp32, i32)
import triton
import triton.language as tl

@triton.jit
def k(x_ptr, n):
    tl.store(x_ptr, n + 1.0)
`)}
	b := &starting{}
	k, err := Compile(t.Context(), src, toy, &Options{Select: b.choose})
	if err != nil || len(k.Artifact("obj").Data) == 0 {
		t.Fatalf("%v, %+v", err, k)
	}
	if b.began != 1 || b.waited != 1 {
		t.Errorf("%d starts, %d waits", b.began, b.waited)
	}

	b = &starting{}
	src.Text = append(src.Text, "    no_such_name()\n"...)
	if _, err := Compile(t.Context(), src, toy, &Options{Select: b.choose}); err == nil || b.began != 1 || b.waited != 0 {
		t.Errorf("of a kernel with a mistake: %v, %d starts, %d waits", err, b.began, b.waited)
	}

	gone := errors.New("it cannot be run")
	b = &starting{failure: gone}
	src.Text = src.Text[:len(src.Text)-len("    no_such_name()\n")]
	if _, err := Compile(t.Context(), src, toy, &Options{Select: b.choose}); !errors.Is(err, gone) {
		t.Errorf("after a start that failed: %v", err)
	}
}
