package conform

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/core/ir/text"
)

// TestKernels holds the kernels' ttir to what the front end makes of kernels.py.
// TRITONC_UPDATE=1 writes it.
func TestKernels(t *testing.T) {
	src, err := os.ReadFile("kernels/kernels.py")
	if err != nil {
		t.Fatal(err)
	}
	file, err := frontend.Parse("kernels.py", "kernels.py", src)
	if err != nil {
		t.Fatal(err)
	}
	program := file.In(frontend.Environment{})
	variants, err := program.Variants(t.Context(), &frontend.Request{})
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]bool{}
	for _, v := range variants {
		module, err := program.Build(t.Context(), dialect.NewContext(), v, &frontend.Options{NumWarps: 4, NumStages: 2, NumCTAs: 1})
		if err != nil {
			t.Fatal(err)
		}
		got := text.Append(nil, module, text.Options{})
		path := filepath.Join("kernels", v.Kernel+".ttir")
		made[v.Kernel] = true
		if os.Getenv("TRITONC_UPDATE") == "1" {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s; TRITONC_UPDATE=1 rewrites it:\n%s", path, diff)
		}
	}
	for i := range goldens {
		if g := &goldens[i]; !made[g.name] || len(g.ttir()) == 0 {
			t.Errorf("kernels.py has no %s, or it was not embedded", g.name)
		}
	}
	if len(made) != len(goldens) {
		t.Errorf("%d kernels in kernels.py, %d are run", len(made), len(goldens))
	}
}
