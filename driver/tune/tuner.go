package tune

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/driver/bench"
	"github.com/tritonc/tritonc/driver/launch"
)

// A Tuner chooses the configurations of autotuned kernels that a program launches: by
// times that are known, or else by measuring, as Triton does at the first launch for each
// key. Launches that are measured write to the memory that is passed, unless the file
// resets or restores it. The zero Tuner measures all configurations. It may serve several
// Functions and goroutines; its fields are set before.
//
//	launch.Options{…, Tuner: &tune.Tuner{}}
type Tuner struct {
	// Times, when not nil, has times of earlier runs, such as those that tritonc tune
	// --write kept. Where they have the key, nothing is measured.
	Times *File
	// Measured, when not nil, is called with what was measured, of which a File can keep
	// the times.
	Measured func(r *Result)
	Search   Search
	// Bench says how long is measured. What @triton.autotune says goes before it.
	Bench bench.Options
	// Parallel is how many configurations are compiled at a time; 0: as many as there
	// are cores.
	Parallel int
	// Tritonc and Backend are the versions for the entries.
	Tritonc, Backend string

	device sync.Mutex // while it measures
}

// Choose implements launch.Tuner.
func (u *Tuner) Choose(ctx context.Context, trial *launch.Trial) (number int, measured bool, err error) {
	key := keyOf(trial.Kernel, trial.Known.Tuning, trial.Args)
	if c := u.known(trial, key); c != nil {
		return c.Number, false, nil
	}
	if !trial.Launchable() {
		return trial.Known.Config, false, nil
	}
	u.device.Lock() // two kernels at once would measure each other
	defer u.device.Unlock()
	t := &tuner{
		opts: &Options{
			Source: trial.Source, Kernel: trial.Kernel.Name, Target: trial.Target, Options: trial.Compile, Device: trial.Device,
			Parallel: u.Parallel, Search: u.Search, Bench: u.Bench, Tritonc: u.Tritonc, Backend: u.Backend,
		},
		info: trial.Kernel, times: map[int]float64{}, began: time.Now(),
	}
	t.compile = func(ctx context.Context, index int) built { return t.candidate(ctx, trial, index) }
	t.begin(trial.Known, key)
	r, err := t.finish(ctx)
	if err != nil {
		return 0, false, err
	}
	if u.Measured != nil {
		u.Measured(r)
	}
	return r.Best.Number, true, nil
}

// known is the configuration of a trial that is the fastest by the times, or nil.
func (u *Tuner) known(trial *launch.Trial, key Key) *frontend.ConfigInfo {
	if u.Times == nil {
		return nil
	}
	found, err := u.Times.Find(Want{
		Kernel: trial.Kernel.Name, Source: SourceHash(trial.Source), Key: key, Device: trial.Device.Properties().Name,
		Target: TargetName(trial.Target),
	})
	if err != nil {
		return nil // it is to be measured
	}
	best := Fastest(found)
	if best == nil {
		return nil
	}
	for _, list := range [][]frontend.ConfigInfo{trial.Known.Left, trial.Kernel.Configs} {
		i := slices.IndexFunc(list, func(c frontend.ConfigInfo) bool { return Config(c.Settings).Same(best.Config) })
		if i >= 0 {
			return &list[i]
		}
	}
	return nil
}

// Fastest is the fastest configuration of several entries, nil where all failed.
func Fastest(entries []*Entry) *Measured {
	var best *Measured
	for _, e := range entries {
		if m := e.Best(); m != nil && (best == nil || m.Time < best.Time) {
			best = m
		}
	}
	return best
}

// candidate compiles a configuration of a trial.
func (t *tuner) candidate(ctx context.Context, trial *launch.Trial, index int) (b built) {
	var c *launch.Candidate
	if c, b.err = trial.Build(ctx, t.left[index].Number); b.err != nil {
		return b
	}
	b.warnings = slices.Clone(c.Warnings)
	b.run = func(ctx context.Context) (bench.Times, error) {
		if c.Hooked {
			return t.measureHooked(ctx, c, c.Kernel, c.Launch)
		}
		return bench.Measure(ctx, trial.Device, c.Kernel, c.Launch, t.bench)
	}
	return b
}
