package plugin

import (
	"testing"
	"time"

	"github.com/tritonc/tritonc/core/plugin/manifest"
	"github.com/tritonc/tritonc/core/plugin/process"
)

// BenchmarkStartWays is a plugin's start up to its first answer, by itself and with
// each of what makes it safer.
func BenchmarkStartWays(b *testing.B) {
	program := minimalDir(b)
	sum, err := process.FileSum(program + "/" + Prefix + "minimal")
	if err != nil {
		b.Fatal(err)
	}
	for _, way := range []struct {
		name string
		opts Options
	}{
		{"plain", Options{}},
		{"lock", Options{Lock: &manifest.Lock{Backends: []manifest.LockedBackend{{Name: "minimal", SHA256: sum}}}}},
		{"memory", Options{Confine: process.Confine{Memory: 1 << 30, Try: true}}},
		{"sandbox", Options{Confine: process.Confine{Sandbox: &process.Sandbox{}, Try: true}}},
		{"tls", Options{AutoMTLS: true}},
	} {
		b.Run(way.name, func(b *testing.B) {
			way.opts.Dirs, way.opts.LookupEnv = []string{program}, homeless
			least := time.Hour
			for b.Loop() {
				start := time.Now()
				h := New(way.opts)
				be, err := h.Backend("minimal")
				if err != nil {
					b.Fatal(err)
				}
				if _, err := be.Facts(b.Context()); err != nil {
					b.Fatal(err)
				}
				least = min(least, time.Since(start))
				b.StopTimer()
				h.Close()
				b.StartTimer()
			}
			b.ReportMetric(float64(least.Microseconds()), "least-µs/op")
		})
	}
}
