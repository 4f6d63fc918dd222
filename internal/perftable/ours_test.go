package perftable

import (
	"os"
	"testing"
)

// TestOurs measures.
func TestOurs(t *testing.T) {
	out := ""
	for _, target := range targets {
		for _, j := range jobs(t) {
			if target == "cuda:80" && (j.name == "casts_fp8" || j.name == "matmul_fp8e4nv") {
				continue
			}
			r := newRow(target, j.name)
			k := compile(t, j, target)
			r.ptx = ptxInstructions(k.ptx)
			if _, err := r.assemble(t, k.ptx); err != nil {
				t.Error(err)
			}
			if err := r.simulate(t, k, k.shared, shapeOf(j)); err != nil {
				t.Errorf("%s: %v", j.name, err)
			}
			out += r.line()
		}
	}
	os.WriteFile(os.Getenv("PERF_OUT"), []byte(out), 0o644)
}
