package core

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// plan says which of a backend's stages a trip runs and which artifacts it
// keeps.
type plan struct {
	given  string      // the stage whose artifact the source is; "" for a Python file
	run    []sdk.Stage // the stages to run, first to last
	want   []string    // stages whose artifacts are asked for, of those run
	source bool        // whether the source's own text is asked for
}

// wants reports whether the artifact of a stage that runs is asked for.
func (p *plan) wants(stage string) bool { return slices.Contains(p.want, stage) }

// ending returns the file ending of the artifact that the trip starts from.
func (p *plan) ending(src *Source) string {
	if p.given == SourceStage {
		return SourceStage
	}
	return src.Kind()
}

func (t *trip) planStages(ctx context.Context) error {
	resp, err := t.backend.AddStages(ctx, sdk.AddStagesRequest{
		Target: t.target, OptionsJSON: t.options,
	})
	t.warn(resp.Diagnostics)
	if err != nil {
		return t.explain(err)
	}
	for i, s := range resp.Stages {
		if s.From != "" && sdk.StageBefore(resp.Stages, i) < 0 {
			return fmt.Errorf("BUG in the backend %s for %s: its stage %s takes what %s makes, and there is none of that name before it", t.facts.Name, t.target, s.Name, s.From)
		}
	}
	t.plan, err = planStages(resp.Stages, t.src, t.opts.Stages)
	return err
}

// planStages decides what to run so that src becomes the wanted artifacts.
func planStages(stages []sdk.Stage, src *Source, wanted []string) (plan, error) {
	var p plan
	given, err := entry(stages, src, wanted)
	if err != nil {
		return p, err
	}
	p.given = SourceStage
	if given >= 0 {
		p.given = stages[given].Name
	}
	after := sdk.StagesAfter(stages, given)
	if n := len(after); len(wanted) == 0 && n > 0 {
		wanted = []string{stages[after[n-1]].Name}
	}
	var places []int
	for _, name := range wanted {
		i := slices.IndexFunc(stages, func(s sdk.Stage) bool { return s.Name == name })
		switch {
		case name == p.given:
			p.source = true
		case slices.Contains(after, i):
			p.want = append(p.want, name)
			places = append(places, i)
		case i >= 0 || name == SourceStage:
			return p, diag.Errorf(diag.Pos{File: src.Path}, "no %s can be made of a .%s file", name, src.Kind()).
				WithHelp("what comes after it: %s", strings.Join(append([]string{p.given}, names(stages, after)...), ", "))
		default:
			return p, diag.Errorf(diag.Pos{}, "this backend has no stage %q", name).
				WithHelp("its stages: %s", strings.Join(append([]string{SourceStage}, names(stages, sdk.StagesAfter(stages, -1))...), ", "))
		}
	}
	for _, i := range sdk.StagesFor(stages, given, places...) {
		p.run = append(p.run, stages[i])
	}
	return p, nil
}

// ttirEnding is that of files with the IR that the front end builds.
const ttirEnding = "ttir"

// entry returns the index of the stage whose artifact src is, or -1 where it goes through
// all stages. After a final stage nothing comes: what src is of one, and text, is taken
// where it is wanted, as a device does that is to run it.
func entry(stages []sdk.Stage, src *Source, wanted []string) (int, error) {
	ending := src.Kind()
	if ending == pythonEnding {
		return -1, nil
	}
	known := []string{"." + pythonEnding, "." + ttirEnding}
	for i, s := range stages {
		final := len(sdk.StagesAfter(stages, i)) == 0
		if final && (s.Binary || !slices.Contains(wanted, s.Name)) {
			continue
		}
		if s.Ending == ending {
			return i, nil
		}
		if s.Ending != ttirEnding {
			known = append(known, "."+s.Ending)
		}
	}
	if ending == ttirEnding {
		return -1, nil // this backend starts from ttir and has no stage that makes it
	}
	return -1, diag.Errorf(diag.Pos{File: src.Path}, "tritonc cannot tell what this file is").
		WithHelp("for this target it reads %s", strings.Join(known, ", "))
}

// names are those of the stages at places.
func names(stages []sdk.Stage, places []int) []string {
	list := make([]string, len(places))
	for i, at := range places {
		list[i] = stages[at].Name
	}
	return list
}
