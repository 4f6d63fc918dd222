package triton

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/core/ir/text"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// ttgirDirEnv names a folder into which TestTTGIR writes <job>.ttgir. The
// numeric tests of backends/nvidia/gpu take their kernels from it when
// TRITONC_TTGIR_DIR names it, too: make numeric.
const ttgirDirEnv = "TRITONC_TTGIR_OUT"

// TestTTGIR takes every job through the passes of ttgir and the lowering, for
// every NVIDIA architecture. That the results are right is for the numeric tests
// to say.
func TestTTGIR(t *testing.T) {
	files := make(map[string]*frontend.File)
	backend := nvidia.New()
	for _, j := range jobs(t) {
		if _, ok := expected(t, j.name); !ok {
			continue // Triton itself does not compile this job for cuda:80
		}
		t.Run(j.name, func(t *testing.T) {
			ttir := text.Append(nil, build(t, files, j), text.Options{Locations: true})
			for _, arch := range []string{"80", "86", "89", "90"} {
				target := sdk.Target{Backend: "cuda", Arch: arch}
				opts, err := backend.ParseOptions(t.Context(), sdk.ParseOptionsRequest{Target: target, OptionsJSON: optionsJSON(t, j)})
				if err != nil {
					t.Fatal(err)
				}
				resp, err := backend.RunStages(t.Context(), sdk.RunStagesRequest{
					Target: target, OptionsJSON: opts.OptionsJSON, First: "ttgir", Last: "llir", Want: []string{"ttgir"},
					Input: ttir, InputName: j.file, Settings: map[string]string{"verify_passes": "1"},
				})
				if err != nil {
					t.Errorf("cuda:%s: %v", arch, err)
					continue
				}
				if dir := os.Getenv(ttgirDirEnv); dir != "" && arch == "80" {
					if err := os.WriteFile(filepath.Join(dir, j.name+".ttgir"), resp.Artifact("ttgir"), 0o666); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// optionsJSON are a job's options as the backend reads them.
func optionsJSON(t *testing.T, j job) string {
	t.Helper()
	values := map[string]string{}
	for _, o := range strings.FieldsFunc(j.options, func(r rune) bool { return r == ',' || r == ' ' }) {
		if name, value, ok := strings.Cut(o, "="); ok {
			values[name] = value
		}
	}
	out, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
