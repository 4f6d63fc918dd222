package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// benchProgress shows how far a benchmark is, on a terminal.
type benchProgress struct {
	bars *mpb.Progress
	bar  *mpb.Bar
	text atomic.Pointer[string] // what is measured
	done int64
}

// start begins with the first of total measurements; calling what it returns takes
// the bar away.
func (p *benchProgress) start(w io.Writer, total int) (stop func()) {
	p.done = -1
	p.text.Store(new(string))
	if !isTerminal(w) {
		return func() {}
	}
	p.bars = mpb.New(mpb.WithOutput(w), mpb.WithAutoRefresh(), mpb.WithWidth(40))
	p.bar = p.bars.AddBar(int64(total),
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return *p.text.Load() + " " })),
		mpb.AppendDecorators(decor.CountersNoUnit("%d of %d"), decor.NewElapsed(decor.ET_STYLE_GO, time.Now(), decor.WCSyncSpace)))
	return func() {
		p.bar.Abort(true)
		p.bars.Wait()
		p.bars = nil
	}
}

// next begins another measurement.
func (p *benchProgress) next(text string) {
	p.done++
	if p.bars != nil {
		p.text.Store(&text)
		p.bar.SetCurrent(p.done)
	}
}

// note says what was chosen, above the bar.
func (p *benchProgress) note(r *reporter, format string, args ...any) {
	if p.bars != nil {
		fmt.Fprintf(p.bars, "tritonc: "+format+"\n", args...)
		return
	}
	r.note(format, args...)
}
