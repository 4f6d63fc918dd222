package main

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progressAfter is how long something goes on before a bar appears.
const progressAfter = time.Second

// progress shows how far something is, on a terminal, once it takes long.
type progress struct {
	done, total atomic.Int64
	// above, if there is one, has what is written meanwhile go to a writer that puts lines
	// above the bar; calling what it returns ends that.
	above func(w io.Writer) (end func())
}

// update tells how far it is; a device calls it.
func (p *progress) update(done, total int) {
	p.total.Store(int64(total))
	p.done.Store(int64(done))
}

// start begins to wait; calling what it returns takes the bar away. what is counted.
func (p *progress) start(w io.Writer, name, what string) (stop func()) {
	if !isTerminal(w) {
		return func() {}
	}
	began := time.Now()
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-quit:
		case <-time.After(progressAfter):
			p.show(w, name, what, began, quit)
		}
	})
	return func() {
		close(quit)
		wg.Wait()
	}
}

// show draws the bar until quit is closed.
func (p *progress) show(w io.Writer, name, what string, began time.Time, quit <-chan struct{}) {
	bars := mpb.New(mpb.WithOutput(w), mpb.WithAutoRefresh(), mpb.WithWidth(40))
	bar := bars.AddBar(0,
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(name+" ")),
		mpb.AppendDecorators(decor.CountersNoUnit("%d of %d "+what), decor.NewElapsed(decor.ET_STYLE_GO, began, decor.WCSyncSpace)))
	end := func() {}
	if p.above != nil {
		end = p.above(bars)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-quit:
			bar.Abort(true)
			end() // and what was written appears with the last refresh
			bars.Wait()
			return
		case <-tick.C:
			bar.SetTotal(max(p.total.Load(), 1), false)
			bar.SetCurrent(p.done.Load())
		}
	}
}
