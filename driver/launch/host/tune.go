package host

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/bench"
	"github.com/tritonc/tritonc/driver/image"
	"github.com/tritonc/tritonc/driver/launch"
)

// configure chooses the configuration of an autotuned kernel: the fastest, measured
// once for each key. Without a grid it is the one that launches begin with.
func (k *kernel) configure(req *launch.Request, a *arguments, grid any) {
	p := k.p
	tuner := k.fn.Params.Autotune()
	if tuner == nil || grid == nil || req.Source.Config != "" {
		return
	}
	info, err := launch.Info(p.ctx, req.Source, req.Target, &req.Options, req.Kernel)
	if err != nil {
		k.explain(err)
	}
	if len(info.Configs) < 2 || given(a, info.Configs[0].Constants) {
		return
	}
	key := k.signatureOf(a, tuner.Key)
	best, known := p.tuned[key]
	if !known {
		best = k.fastest(req, a, grid, len(info.Configs))
		p.tuned[key] = best
	}
	choose(req, best)
}

// given reports whether the arguments give every constant.
func given(a *arguments, constants map[string]any) bool {
	for name := range constants {
		if !slices.Contains(a.names, name) {
			return false
		}
	}
	return true
}

func choose(req *launch.Request, config int) {
	src := *req.Source
	src.Config = strconv.Itoa(config)
	req.Source = &src
}

// fastest measures the configurations. One that fails is out of the race.
func (k *kernel) fastest(req *launch.Request, a *arguments, grid any, count int) int {
	p := k.p
	best, shortest := -1, 0.0
	var first error
	for i := range count {
		one := *req
		choose(&one, i)
		var times bench.Times
		fail := eval.Try(func() {
			placed := k.place(one, a, grid)
			var err error
			if times, err = bench.Measure(p.ctx, p.opts.Device, placed.Kernel, placed.Launch, p.opts.Bench); err != nil {
				k.explain(err)
			}
		})
		if p.ctx.Err() != nil {
			panic(fail)
		}
		if fail != nil {
			if first == nil {
				first = fail.Diagnostic()
			}
			p.failure = nil
			continue
		}
		if t := float64(times.Median()); best < 0 || t < shortest {
			best, shortest = i, t
		}
	}
	if best < 0 {
		k.explain(fmt.Errorf("none of its %s runs; the first: %w", diag.Count(count, "configuration"), first))
	}
	return best
}

// binaryStage is the stage whose artifact says how many registers a kernel takes.
const binaryStage = "cubin"

// registers are those of a thread of a kernel.
func registers(ctx context.Context, req launch.Request) (int64, error) {
	if req.Device.Properties().Stage != binaryStage {
		req.Options.Stages = []string{binaryStage}
	}
	ready, err := launch.Compile(ctx, req)
	if err != nil {
		return 0, err
	}
	meta, err := driver.ParseMetadata(ready.Compiled.Metadata)
	if err != nil {
		return 0, err
	}
	file, err := image.Parse(ready.Compiled.Artifact(binaryStage).Data)
	if err != nil {
		return 0, err
	}
	for _, f := range file.Kernels {
		if f.Name == meta.Kernel && f.Registers > 0 {
			return int64(f.Registers), nil
		}
	}
	return 0, fmt.Errorf("the binary does not say how many it takes")
}
