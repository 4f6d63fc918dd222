package core

import (
	"context"
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
	t.plan, err = planStages(resp.Stages, t.src, t.opts.Stages)
	return err
}

// planStages decides what to run so that src becomes the wanted artifacts.
func planStages(stages []sdk.Stage, src *Source, wanted []string) (plan, error) {
	var p plan
	first, err := entry(stages, src)
	if err != nil {
		return p, err
	}
	p.given = SourceStage
	if first > 0 {
		p.given = stages[first-1].Name
	}
	if len(wanted) == 0 {
		wanted = []string{stages[len(stages)-1].Name}
	}
	last := first - 1
	for _, name := range wanted {
		i := slices.IndexFunc(stages, func(s sdk.Stage) bool { return s.Name == name })
		switch {
		case name == p.given:
			p.source = true
		case i >= first:
			p.want = append(p.want, name)
			last = max(last, i)
		case i >= 0 || name == SourceStage:
			return p, diag.Errorf(diag.Pos{File: src.Path}, "no %s can be made of a .%s file", name, src.Kind()).
				WithHelp("what comes after it: %s", strings.Join(append([]string{p.given}, names(stages[first:])...), ", "))
		default:
			return p, diag.Errorf(diag.Pos{}, "this backend has no stage %q", name).
				WithHelp("its stages: %s", strings.Join(append([]string{SourceStage}, names(stages)...), ", "))
		}
	}
	p.run = stages[first : last+1]
	return p, nil
}

// ttirEnding is that of files with the IR that the front end builds.
const ttirEnding = "ttir"

// entry returns the index of the first stage that src must go through.
func entry(stages []sdk.Stage, src *Source) (int, error) {
	ending := src.Kind()
	if ending == pythonEnding {
		return 0, nil
	}
	known := []string{"." + pythonEnding, "." + ttirEnding}
	for i, s := range stages {
		if i == len(stages)-1 {
			break // nothing comes after it
		}
		if s.Ending == ending {
			return i + 1, nil
		}
		if s.Ending != ttirEnding {
			known = append(known, "."+s.Ending)
		}
	}
	if ending == ttirEnding {
		return 0, nil // this backend starts from ttir and has no stage that makes it
	}
	return 0, diag.Errorf(diag.Pos{File: src.Path}, "tritonc cannot tell what this file is").
		WithHelp("for this target it reads %s", strings.Join(known, ", "))
}

func names(stages []sdk.Stage) []string {
	list := make([]string, len(stages))
	for i, s := range stages {
		list[i] = s.Name
	}
	return list
}
