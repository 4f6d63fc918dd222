package plugin

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tritonc/tritonc/core/plugin/process"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// timed runs f as often as a benchmark wants and reports the least and the median time
// of a call, divided by n: the mean is what the machine's other programs make of it.
func timed(b *testing.B, n int, unit string, f func()) {
	var all []time.Duration
	for b.Loop() {
		start := time.Now()
		f()
		all = append(all, time.Since(start))
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[0].Microseconds())/float64(n), "least-µs/"+unit)
	b.ReportMetric(float64(all[len(all)/2].Microseconds())/float64(n), "median-µs/"+unit)
}

// secured runs a benchmark with and without TLS, and in a sandbox.
func secured(b *testing.B, f func(b *testing.B, opts Options)) {
	b.Run("plain", func(b *testing.B) { f(b, Options{}) })
	b.Run("TLS", func(b *testing.B) { f(b, Options{AutoMTLS: true}) })
	b.Run("sandbox", func(b *testing.B) { f(b, Options{Confine: process.Confine{Sandbox: &process.Sandbox{}}}) })
}

// BenchmarkTrip is what a compile pays for its backend's being another program: a
// module goes there, to a stage that does nothing, and comes back ("echo") or is
// counted.
func BenchmarkTrip(b *testing.B) {
	for _, stage := range []string{"count", "echo"} {
		for _, size := range []int{1 << 10, 64 << 10, 1 << 20, 16 << 20} {
			text := []byte(strings.Repeat("0123456789abcde\n", size/16))
			b.Run(fmt.Sprintf("%s/%dKiB", stage, size>>10), func(b *testing.B) {
				secured(b, func(b *testing.B, opts Options) {
					_, backend := testHost(b, "works", opts)
					mustRun(b, backend, "echo", "")
					b.ReportAllocs()
					timed(b, 1, "op", func() {
						if _, err := backend.RunStages(b.Context(), sdk.RunStagesRequest{First: stage, Last: stage, Input: text}); err != nil {
							b.Fatal(err)
						}
					})
				})
			})
		}
	}
}

// BenchmarkConcurrent is 16 compiles of a mebibyte at the same time.
func BenchmarkConcurrent(b *testing.B) {
	const n = 16
	text := []byte(strings.Repeat("0123456789abcde\n", 1<<16))
	secured(b, func(b *testing.B, opts Options) {
		_, backend := testHost(b, "works", opts)
		mustRun(b, backend, "echo", "")
		timed(b, n, "compile", func() {
			var wg sync.WaitGroup
			for range n {
				wg.Go(func() {
					if _, err := backend.RunStages(b.Context(), sdk.RunStagesRequest{First: "echo", Last: "echo", Input: text}); err != nil {
						b.Error(err)
					}
				})
			}
			wg.Wait()
		})
	})
}

// BenchmarkStart is the start of a plugin that is known up to its first answer; its end
// is not counted.
func BenchmarkStart(b *testing.B) {
	dirs := []string{minimalDir(b)}
	secured(b, func(b *testing.B, opts Options) {
		cache := b.TempDir()
		opts.Dirs, opts.LookupEnv = dirs, func(key string) (string, bool) { return cache, key == "XDG_CACHE_HOME" }
		least := time.Hour
		for b.Loop() {
			start := time.Now()
			h := New(opts)
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
