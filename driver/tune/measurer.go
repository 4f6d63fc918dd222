package tune

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/bench"
	"github.com/tritonc/tritonc/driver/launch"
)

// Measurer is a Device that stands for many of its type, wherever these are. It keeps
// what is written to its buffers and launches nothing itself: what is to be measured is a
// Trial, and any of the devices measures it.
type Measurer interface {
	driver.Device
	// Trial is a launch with the contents that its buffers have now.
	Trial(ctx context.Context, k driver.Kernel, l driver.Launch) (Trial, error)
	// Measure has one device measure all trials, round by round: the first of a round
	// follows the last of the one before. Each trial has an Outcome. The error is that of
	// devices, or of the way to them, that leave nothing to be measured.
	Measure(ctx context.Context, trials []Trial, rounds int, opts bench.Options) ([]Outcome, error)
	// Parallel is how many devices there are now.
	Parallel() int
}

// Trial is a launch to be measured.
type Trial interface {
	// Renew has buffers given the contents that they had when the trial was made, before
	// each launch that is measured. Others have them at the first one.
	Renew(buffers []driver.Buffer)
}

// Outcome is what came of a trial.
type Outcome struct {
	Times bench.Times
	// Failure is why there are none, as Reason has it; else "".
	Failure string
	// Took is how long the device was at work on it.
	Took time.Duration
	// On names the device, for people.
	On string
}

// failure is the error of an Outcome.
type failure string

func (f failure) Error() string { return string(f) }

// endError is an error of a Measurer after which nothing can be measured.
type endError struct{ err error }

func (e *endError) Error() string { return e.err.Error() }
func (e *endError) Unwrap() error { return e.err }

func ended(err error) error {
	if err == nil {
		return nil
	}
	return &endError{err}
}

// trial makes a Trial of what was built.
func (t *tuner) trial(ctx context.Context, m Measurer, b *launch.Built, grid [3]int) (Trial, error) {
	k, err := b.Load(m)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var own []*array.Array
	placed, err := k.Place(grid, func(x *array.Array) driver.Buffer {
		b := t.buffer(x)
		if b != nil && !t.common[x] {
			mu.Lock()
			defer mu.Unlock()
			own = append(own, x)
		}
		return b
	})
	if err != nil {
		return nil, err
	}
	defer placed.Free()
	defer t.freeThese(own)
	if k.Hooks == nil {
		trial, err := m.Trial(ctx, placed.Kernel, placed.Launch)
		return trial, ended(err)
	}
	t.hooking.Lock()
	defer t.hooking.Unlock()
	h := &arrayHooks{k.Hooks, t}
	before, err := h.before(ctx)
	if err != nil {
		return nil, err
	}
	trial, err := m.Trial(ctx, placed.Kernel, placed.Launch)
	if err != nil {
		return nil, ended(err)
	}
	after, err := h.after(ctx)
	if err != nil {
		return nil, err
	}
	var renewed []driver.Buffer
	for _, x := range append(before, after...) {
		if b := t.find(x); b != nil && !slices.Contains(renewed, b) {
			renewed = append(renewed, b)
		}
	}
	trial.Renew(renewed)
	return trial, nil
}

// elsewhere has a device measure what was built.
func (t *tuner) elsewhere(ctx context.Context, m Measurer, b *built) (*Outcome, error) {
	trial, err := b.trial(ctx)
	if err != nil {
		return nil, err
	}
	list, err := m.Measure(ctx, []Trial{trial}, 1, t.bench)
	if err != nil {
		return nil, ended(err)
	}
	return &list[0], nil
}

// Leaders, which are measured again: those within the noise of the fastest, at least so
// many and, the first time, at most so many.
const (
	fewLeaders  = 2
	mostLeaders = 8
	leadRounds  = 3
	leadMargin  = 1.03
)

// again has one device measure all leaders once more. Their times were those of
// several devices, of which one may be warmer than another. It goes on until none that
// was not measured again is as fast as the fastest of those that were.
func (t *tuner) again(ctx context.Context, m Measurer) error {
	done := map[int]bool{}
	for {
		more := t.leaders(done)
		if len(more) == 0 {
			return nil
		}
		for _, index := range more {
			done[index] = true
		}
		if err := t.together(ctx, m, done); err != nil {
			return err
		}
	}
}

// leaders are configurations that are to be measured beside those of done.
func (t *tuner) leaders(done map[int]bool) (list []int) {
	var order []int
	for index, m := range t.entry.Configs {
		if m.OK() {
			order = append(order, index)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return t.entry.Configs[a].compare(&t.entry.Configs[b]) })
	if len(done) > 0 {
		for _, index := range order {
			if done[index] {
				return list // the fastest of those that one device has measured
			}
			list = append(list, index)
		}
		return list
	}
	if len(order) < 2 {
		return nil
	}
	first := &t.entry.Configs[order[0]]
	for i, index := range order[:min(len(order), mostLeaders)] {
		if c := &t.entry.Configs[index]; i >= fewLeaders && c.Low > first.High && c.Time > leadMargin*first.Time {
			break
		}
		list = append(list, index)
	}
	return list
}

// together has one device measure configurations, by their places in the entry.
func (t *tuner) together(ctx context.Context, m Measurer, which map[int]bool) error {
	var places []int
	var trials []Trial
	for place := range t.entry.Configs {
		if !which[place] {
			continue
		}
		b := t.compile(ctx, t.order[place])
		if b.err == nil {
			var trial Trial
			trial, b.err = b.trial(ctx)
			trials = append(trials, trial)
		}
		if b.err != nil { // it could be compiled a moment ago
			return b.err
		}
		places = append(places, place)
	}
	list, err := m.Measure(ctx, trials, leadRounds, t.bench)
	if err != nil {
		return err
	}
	for i, place := range places {
		o := &list[i]
		t.result.Measuring += o.Took
		t.result.On = o.On
		t.entry.Configs[place].set(o.Times, failureOf(o))
		t.times[t.order[place]] = t.entry.Configs[place].cost()
	}
	t.result.Again = len(places)
	return nil
}

func failureOf(o *Outcome) error {
	if o.Failure != "" {
		return failure(o.Failure)
	}
	return nil
}
