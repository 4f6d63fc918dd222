package nvidia

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tritonc/tritonc/core/work/worktest"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Wherever its context ends, a call ends with the context's error: no message, no
// reproducer, nothing of ours.
func TestStops(t *testing.T) {
	src, err := os.ReadFile(filepath.Join("testdata", "rows.ttir"))
	if err != nil {
		t.Fatal(err)
	}
	b := New()
	req := request(t, "80", stageTTIR, "rows.py", src, "")
	req.Last, req.Want = stageLLIR, nil
	for name, run := range map[string]func(context.Context) (reproducer string, err error){
		"RunStages": func(ctx context.Context) (string, error) {
			resp, err := b.RunStages(ctx, req)
			return resp.Reproducer, err
		},
		"RunPasses": func(ctx context.Context) (string, error) {
			resp, err := b.RunPasses(ctx, sdk.RunPassesRequest{
				Target: req.Target, Input: string(src), InputName: "rows.ttir", Pipeline: "canonicalize,cse,symbol-dce",
				VerifyEach: true, Analyses: []string{"axis-info"},
			})
			return resp.Reproducer, err
		},
	} {
		looks := int64(0)
		for ; ; looks++ {
			reproducer, err := run(worktest.After(t.Context(), looks))
			if err == nil {
				break
			}
			if !errors.Is(err, context.Canceled) || reproducer != "" {
				t.Fatalf("%s, stopped at look %d: %v\n%s", name, looks, err, reproducer)
			}
		}
		if looks < 3 {
			t.Errorf("%s looked at its context %d times", name, looks)
		}
		t.Logf("%s looks at its context %d times", name, looks)
	}
}
