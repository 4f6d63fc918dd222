package core

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/plugin/wire"
	"github.com/tritonc/tritonc/core/span"
	"github.com/tritonc/tritonc/core/work"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Compile takes src through the stages of target's backend, as far as opts asks.
func Compile(ctx context.Context, src *Source, target Target, opts *Options) (*Kernel, error) {
	ctx, s := src.Span(ctx, "compile", target)
	k, err := compile(ctx, src, target, opts)
	s.End(err)
	return k, err
}

func compile(ctx context.Context, src *Source, target Target, opts *Options) (*Kernel, error) {
	work.GrowStack()
	src, err := src.toCompile(ctx, target, opts)
	if err != nil {
		return nil, err
	}
	ctx = wire.WithKernel(ctx, src.kernel())
	t := &trip{src: src, opts: opts}
	cached := t.openCache(ctx, target)
	if k := cached.kernel(ctx); k != nil {
		return k.launchable(opts)
	}
	shared := cached.share(ctx)
	if k := shared.kernel(ctx); k != nil {
		return k.launchable(opts)
	}
	defer shared.giveUp()
	if err := t.meetBackend(ctx, target); err != nil {
		return nil, err
	}
	if err := t.settleOptions(ctx); err != nil {
		return nil, err
	}
	if err := t.planStages(ctx); err != nil {
		return nil, err
	}
	if err := t.enter(ctx); err != nil {
		return nil, err
	}
	if err := t.runStages(ctx); err != nil {
		return nil, err
	}
	k, err := t.kernel()
	if err != nil {
		return nil, err
	}
	if opts.LookedAt != nil {
		opts.LookedAt(t.result.LookedAt)
	}
	shared.keep(k)
	cached.keep(k)
	return k.launchable(opts)
}

// trip is one compile under way.
type trip struct {
	src  *Source
	opts *Options

	backend Backend
	facts   *sdk.Facts
	await   func(context.Context) error // waits for the backend's process; nil: it runs
	target  Target
	// loadDialects asks the backend for the declarations of its dialects.
	loadDialects func() ([]sdk.Dialect, error)
	options      string // canonical, as the backend answered
	plan         plan
	input        []byte     // what the first stage to run takes
	inputIR      *text.File // the same parsed, once a diagnostic needs it
	name         string     // the kernel's, as far as the input tells
	result       sdk.RunStagesResponse

	// identifying is how long the cache took to know the backend, which it may
	// have started.
	identifying time.Duration

	timings  []Timing
	warnings diag.List
	printed  strings.Builder // while it was compiled
}

// startStage is the row of what is waited for a backend.
const startStage = "backend start"

// clock starts timing a step; calling what it returns ends it.
func (t *trip) clock(stage string) func() {
	start := time.Now()
	return func() { t.timings = append(t.timings, Timing{Stage: stage, Time: time.Since(start)}) }
}

func (t *trip) meetBackend(ctx context.Context, target Target) (err error) {
	ctx, s := span.Start(ctx, "meet backend")
	defer func() { s.End(err) }()
	begin := time.Now().Add(-t.identifying)
	defer func() { t.timings = append(t.timings, Timing{Stage: startStage, Time: time.Since(begin)}) }()
	if t.backend, t.target, err = t.opts.Select(wire.WithStart(ctx), target); err != nil {
		return err
	}
	t.loadDialects = func() ([]sdk.Dialect, error) { return t.backend.LoadDialects(ctx) }
	if ahead, ok := t.backend.(wire.Ahead); ok {
		t.await = ahead.StartAhead(ctx)
	}
	t.facts, err = wire.KnownFacts(ctx, t.backend)
	return err
}

// awaitBackend waits for the process that was started meanwhile, as part of the row that
// meetBackend has begun.
func (t *trip) awaitBackend(ctx context.Context) error {
	if t.await == nil {
		return nil
	}
	begin := time.Now()
	ctx, s := span.Start(ctx, "await backend")
	err := t.await(ctx)
	s.End(err)
	for i := range t.timings {
		if row := &t.timings[i]; row.Stage == startStage {
			row.Time += time.Since(begin)
		}
	}
	return err
}

func (t *trip) settleOptions(ctx context.Context) error {
	if err := t.checkFileOptions(); err != nil {
		return err
	}
	all := make(map[string]any, len(t.src.Options)+len(t.opts.Values))
	maps.Copy(all, t.src.Options)
	maps.Copy(all, t.opts.Values)
	values, err := json.Marshal(all)
	if err != nil {
		return diag.Errorf(diag.Pos{}, "options: %v", err)
	}
	resp, err := t.backend.ParseOptions(ctx, sdk.ParseOptionsRequest{
		Target: t.target, OptionsJSON: string(values),
	})
	t.warn(resp.Diagnostics)
	t.options = resp.OptionsJSON
	if err != nil {
		t.placeOptions(ctx, err)
	}
	return t.explain(err)
}

// placeOptions gives what a backend says of an option of the file its place there. A
// backend knows no places: each option is asked about alone, and is meant by what the
// backend says of it again.
func (t *trip) placeOptions(ctx context.Context, err error) {
	if t.src.variant == nil {
		return
	}
	for i := range t.src.variant.Options {
		o := &t.src.variant.Options[i]
		if _, given := t.opts.Values[o.Name]; given {
			continue
		}
		alone, err2 := json.Marshal(map[string]any{o.Name: o.Value})
		if err2 != nil {
			continue
		}
		_, err2 = t.backend.ParseOptions(ctx, sdk.ParseOptionsRequest{Target: t.target, OptionsJSON: string(alone)})
		for _, same := range diag.All(err2) {
			for _, d := range diag.All(err) {
				if d.Pos == (diag.Pos{}) && d.Message == same.Message {
					help := d.Help
					*d = *o.Errorf("%s", d.Message)
					d.Help = help
				}
			}
		}
	}
}

// checkFileOptions refuses options of the file that only the caller may give.
func (t *trip) checkFileOptions() error {
	if t.src.variant == nil {
		return nil
	}
	var errs diag.List
	for i := range t.src.variant.Options {
		o := &t.src.variant.Options[i]
		if _, given := t.opts.Values[o.Name]; given {
			continue // it has no effect
		}
		for j := range t.facts.Options {
			if spec := &t.facts.Options[j]; spec.Name == o.Name && spec.CallerOnly {
				errs = append(errs, o.Errorf("the option %s cannot come from %s", o.Name, o.From).
					WithHelp("it names files or arguments of a tool, which only the command line may choose: --option %s=…", o.Name))
			}
		}
	}
	return errs.Err()
}

// runStages has the backend run what of the plan remains, in one call.
func (t *trip) runStages(ctx context.Context) error {
	if len(t.plan.run) == 0 {
		return nil // an artifact was given and it is the one that is wanted
	}
	if err := t.awaitBackend(ctx); err != nil {
		return err
	}
	resp, err := t.backend.RunStages(ctx, sdk.RunStagesRequest{
		Target: t.target, OptionsJSON: t.options,
		First: t.plan.run[0].Name, Last: t.plan.run[len(t.plan.run)-1].Name,
		Input: t.input, InputName: t.inputName(), MetadataJSON: string(t.src.Metadata),
		Want: t.plan.want, Launchable: !t.opts.AllowUnlaunchable,
	})
	t.result = resp
	t.warn(resp.Diagnostics)
	for _, step := range resp.Timings {
		t.timings = append(t.timings, Timing{step.Stage, step.Name, time.Duration(step.Nanoseconds), step.Did})
	}
	if err != nil && resp.Reproducer != "" {
		return &Crash{Err: t.explain(err), Reproducer: resp.Reproducer}
	}
	return t.explain(err)
}
