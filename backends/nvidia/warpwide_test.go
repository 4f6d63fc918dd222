package nvidia

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tritonc/tritonc/core/backend/llvm"
	"github.com/tritonc/tritonc/internal/warpwide"
	"github.com/tritonc/tritonc/plugin-sdk/sdktest"
)

// TestReductionsOfWholeWarps: the largest numbers of rows are stored twice, in
// two layouts. Each lane chooses its row from those of the warp, in i16 and in
// i32, and ptxas finds out that these are one choice (gpu.Target.ReduceWarp).
func TestReductionsOfWholeWarps(t *testing.T) {
	needTools(t, llvm.LLC, ptxasKind)
	rows, err := os.ReadFile(filepath.FromSlash("testdata/rows.ttir"))
	if err != nil {
		t.Fatal(err)
	}
	c := sdktest.Start(t, New())
	for _, cc := range []string{"80", "86", "89", "90"} {
		for _, by := range []string{ptxDirect, ptxLLVM} {
			resp, err := c.RunStages(t.Context(), request(t, cc, stageTTIR, "rows.ttir", rows, `{"num_warps":1,"ptx":"`+by+`"}`))
			if err != nil {
				t.Fatal(err)
			}
			whole, partial, err := warpwide.Read(resp.Artifact(stageCubin))
			if err != nil {
				t.Fatal(err)
			}
			if whole["REDUX"] == 0 || len(partial) > 0 {
				t.Errorf("cuda:%s, %s: all lanes do %v, some do %v", cc, by, whole, partial)
			}
		}
	}
}
