package host

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/work"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/image"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/driver/tune"
)

// configure chooses the configuration of an autotuned kernel: the fastest, measured
// once for each key. Without a grid it is the one that launches begin with.
func (k *kernel) configure(req *launch.Request, a *arguments, grid any) {
	p := k.p
	if k.fn.Params.Autotune() == nil || grid == nil || req.Source.Config != "" {
		return
	}
	info, err := launch.Info(p.ctx, req.Source, req.Target, &req.Options, req.Kernel)
	if err != nil {
		k.explain(err)
	}
	if len(info.Configs) < 2 || given(a, info.Configs[0].Constants) {
		return
	}
	prepared, err := launch.Prepare(p.ctx, *req)
	if err != nil {
		k.explain(err)
	}
	key := k.fn.Module.File.Path + ":" + k.fn.Name() + tune.KeyOf(info, prepared.Known, a.args).String()
	best, known := p.tuned[key]
	if !known {
		best = k.fastest(req, a, grid)
		p.tuned[key] = best
	}
	src := *req.Source
	src.Config = strconv.Itoa(best)
	req.Source = &src
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

// fastest measures the configurations.
func (k *kernel) fastest(req *launch.Request, a *arguments, grid any) int {
	p := k.p
	for _, s := range a.memory {
		s.place(p)
	}
	var evaluating sync.Mutex // the code of the file belongs to one goroutine
	result, err := tune.Run(p.ctx, tune.Options{
		Source: req.Source, Kernel: req.Kernel, Target: req.Target, Options: req.Options, Device: req.Device,
		Args:   func(*frontend.ConfigInfo) ([]launch.Arg, error) { return a.args, nil },
		Buffer: func(x *array.Array) driver.Buffer { return a.memory[x].buf },
		Grid: func(known *frontend.Variant) (size [3]int, err error) {
			evaluating.Lock()
			defer evaluating.Unlock()
			defer work.Catch(&err)
			if fail := eval.Try(func() { size = k.grid(grid, a, known.Constants) }); fail != nil {
				return size, fail.Diagnostic()
			}
			return size, nil
		},
		Bench: p.opts.Bench,
	})
	if err != nil {
		k.explain(err)
	}
	for _, s := range a.memory {
		s.written = true
	}
	return result.Best.Number
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
