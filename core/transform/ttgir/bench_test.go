package ttgir_test

import (
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/core/transform/ttgir/layouts"
)

// BenchmarkStage is the whole of the layout passes on one kernel; parsing is
// not counted.
func BenchmarkStage(b *testing.B) {
	t := &testing.T{}
	all := archives(t, "testdata/kernels")
	for _, name := range []string{"vector_add", "layer_norm_bwd", "sorts"} {
		b.Run(name, func(b *testing.B) {
			s := all[name]
			rows := []pass.Row{
				convertFor(t, s), {Pass: layouts.Coalesce}, {Pass: layouts.RemoveConversions}, {Pass: canonicalize}, {Pass: std.CSE}, {Pass: layouts.RemoveConversions},
			}
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				m, err := text.Parse(dialect.NewContext(), name, []byte(s["ttir.mlir"]))
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				var r pass.Runner
				if _, err := r.Run(m, rows, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
