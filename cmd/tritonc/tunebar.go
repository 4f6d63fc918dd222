package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/tritonc/tritonc/driver/tune"
)

// tuneBar shows on a terminal how far tuning is, and the best configuration so far.
type tuneBar struct {
	mu   sync.Mutex
	bars *mpb.Progress
	bar  *mpb.Bar
	best string
}

// start draws the bar; calling what it returns takes it away.
func (b *tuneBar) start(w io.Writer, name string) (stop func()) {
	if !isTerminal(w) {
		return func() {}
	}
	b.bars = mpb.New(mpb.WithOutput(w), mpb.WithAutoRefresh(), mpb.WithWidth(40))
	b.bar = b.bars.AddBar(0,
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(name+" ")),
		mpb.AppendDecorators(
			decor.CountersNoUnit("%d of %d"), decor.NewElapsed(decor.ET_STYLE_GO, time.Now(), decor.WCSyncSpace),
			decor.Any(func(decor.Statistics) string {
				b.mu.Lock()
				defer b.mu.Unlock()
				return b.best
			})))
	return func() {
		b.bar.Abort(true)
		b.bars.Wait()
	}
}

// update tells how far it is.
func (b *tuneBar) update(p tune.Progress) {
	if b.bar == nil {
		return
	}
	b.mu.Lock()
	if p.Best != nil {
		b.best = fmt.Sprintf("  best %.2f us: %s", p.Best.Time, p.Best.Config.Text())
	}
	b.mu.Unlock()
	b.bar.SetTotal(int64(p.Total), false)
	b.bar.SetCurrent(int64(p.Done))
}
