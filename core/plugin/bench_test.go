package plugin

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// secured runs a benchmark with and without TLS.
func secured(b *testing.B, f func(b *testing.B, opts Options)) {
	b.Run("plain", func(b *testing.B) { f(b, Options{}) })
	b.Run("TLS", func(b *testing.B) { f(b, Options{AutoMTLS: true}) })
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
					least := time.Hour
					for b.Loop() {
						start := time.Now()
						if _, err := backend.RunStages(b.Context(), sdk.RunStagesRequest{First: stage, Last: stage, Input: text}); err != nil {
							b.Fatal(err)
						}
						least = min(least, time.Since(start))
					}
					b.ReportMetric(float64(least.Microseconds()), "least-µs/op")
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
		least := time.Hour
		for b.Loop() {
			start := time.Now()
			var wg sync.WaitGroup
			for range n {
				wg.Go(func() {
					if _, err := backend.RunStages(b.Context(), sdk.RunStagesRequest{First: "echo", Last: "echo", Input: text}); err != nil {
						b.Error(err)
					}
				})
			}
			wg.Wait()
			least = min(least, time.Since(start))
		}
		b.ReportMetric(float64(least.Microseconds())/n, "least-µs/compile")
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
