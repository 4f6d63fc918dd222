package cache

import (
	"fmt"
	"io"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/promtext"
)

// Counts are what became of the questions to a Shared.
type Counts struct {
	Hits    int64 `json:"hits"`    // entries that were taken
	Misses  int64 `json:"misses"`  // look-ups that found nothing
	Skipped int64 `json:"skipped"` // look-ups while the server was left alone
	Errors  int64 `json:"errors"`  // answers that failed, or did not come in time
	Refused int64 `json:"refused"` // entries that nobody signed who is trusted
	Kept    int64 `json:"kept"`    // entries that were given to others

	ReadBytes    int64 `json:"read_bytes"`
	WrittenBytes int64 `json:"written_bytes"`

	Waits  int64   `json:"waits"`  // for kernels that another machine was making
	Waited float64 `json:"waited"` // in all, in seconds

	Offs int64   `json:"offs"` // how often the server was found failing, and left alone
	Off  float64 `json:"off"`  // for how long, in seconds
	Away bool    `json:"away"` // it is left alone now
}

// Add adds what another store counted.
func (c *Counts) Add(o *Counts) {
	for _, n := range [][2]*int64{
		{&c.Hits, &o.Hits},
		{&c.Misses, &o.Misses},
		{&c.Skipped, &o.Skipped},
		{&c.Errors, &o.Errors},
		{&c.Refused, &o.Refused},
		{&c.Kept, &o.Kept},
		{&c.ReadBytes, &o.ReadBytes},
		{&c.WrittenBytes, &o.WrittenBytes},
		{&c.Waits, &o.Waits},
		{&c.Offs, &o.Offs},
	} {
		*n[0] += *n[1]
	}
	c.Waited += o.Waited
	c.Off += o.Off
	c.Away = c.Away || o.Away
}

// String tells people what there is to tell.
func (c *Counts) String() string {
	parts := []string{diag.Count(c.Hits, "hit"), diag.Count(c.Misses, "miss")}
	also := func(n int64, format string, args ...any) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	also(c.Skipped, "%d not asked", c.Skipped)
	also(c.Errors, "%s", diag.Count(c.Errors, "error"))
	also(c.Refused, "%d refused", c.Refused)
	also(c.Kept, "%d given", c.Kept)
	also(c.ReadBytes, "%.1f KiB read", float64(c.ReadBytes)/1024)
	also(c.WrittenBytes, "%.1f KiB written", float64(c.WrittenBytes)/1024)
	also(c.Waits, "waited %.1f s for other machines", c.Waited)
	also(c.Offs, "left alone for %.1f s", c.Off)
	return strings.Join(parts, ", ")
}

// WriteMetrics writes the text form of Prometheus.
func (c *Counts) WriteMetrics(w io.Writer) error {
	t := promtext.New("tritonc_shared_cache_")
	t.Family("lookups_total", promtext.Counter, "Look-ups in the cache that machines share, by what came of them; skipped: the server was left alone.")
	for _, l := range []struct {
		result string
		n      int64
	}{{"hit", c.Hits}, {"miss", c.Misses}, {"skipped", c.Skipped}} {
		t.Value("lookups_total", fmt.Sprintf("{result=%q}", l.result), float64(l.n))
	}
	t.One("errors_total", promtext.Counter, "Answers of the server that failed or did not come in time.", float64(c.Errors))
	t.One("refused_total", promtext.Counter, "Entries that nobody signed who is trusted.", float64(c.Refused))
	t.One("kept_total", promtext.Counter, "Kernels that were given to other machines.", float64(c.Kept))
	t.One("read_bytes_total", promtext.Counter, "Bytes of entries that were read.", float64(c.ReadBytes))
	t.One("written_bytes_total", promtext.Counter, "Bytes of entries that were written.", float64(c.WrittenBytes))
	t.One("waits_total", promtext.Counter, "Waits for kernels that another machine was making.", float64(c.Waits))
	t.One("wait_seconds_total", promtext.Counter, "Time of these waits.", c.Waited)
	t.One("off_total", promtext.Counter, "Times that the server failed and was left alone.", float64(c.Offs))
	t.One("off_seconds_total", promtext.Counter, "Time that it was left alone.", c.Off)
	away := 0.0
	if c.Away {
		away = 1
	}
	t.One("away", promtext.Gauge, "Whether the server is left alone now.", away)
	_, err := t.WriteTo(w)
	return err
}
