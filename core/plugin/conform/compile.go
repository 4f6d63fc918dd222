package conform

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin/wire"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// kernel compiles vector_add to each final stage. One may lack a tool of the machine, where
// there is another.
func kernel(ctx context.Context, s *suite) (string, error) {
	if err := s.needStages(); err != nil {
		return "", err
	}
	s.missing = map[int]error{}
	var made []string
	var lacks error
	for _, i := range s.finals() {
		final := s.final
		s.final = i
		data, err := s.compile(ctx, s.backend, goldens[0].ttir())
		switch {
		case err != nil && lacksTool(err):
			s.missing[i], s.final = err, final
			lacks = cmp.Or(lacks, err)
		case err != nil:
			return "", fmt.Errorf("vector_add does not compile: %w", err)
		case s.golden != nil:
			s.final = final
			made = append(made, fmt.Sprintf("%s of %s", diag.Count(len(data), "byte"), s.stages[i].Name))
		default:
			s.golden = data
			made = append(made, fmt.Sprintf("%s of %s", diag.Count(len(data), "byte"), s.stages[i].Name))
		}
	}
	if s.golden == nil {
		return "", fmt.Errorf("vector_add does not compile: %w", lacks)
	}
	return "vector_add, " + strings.Join(made, ", ") + lacking(lacks), nil
}

// lacksTool reports whether an error is the machine's trouble.
func lacksTool(err error) bool {
	var bug *wire.BugError
	return diag.All(err) == nil && !errors.As(err, &bug) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
}

// kernels compiles the rest, with the artifacts of all stages. A backend may say of a
// kernel that it cannot do it, at its place in the input; it must do vector_add.
func kernels(ctx context.Context, s *suite) (string, error) {
	if err := s.needGolden(); err != nil {
		return "", err
	}
	var made, not []string
	for i := range goldens {
		g := &goldens[i]
		req := s.request(0, s.lastOf(0), g.ttir(), "")
		for i, stage := range s.stages {
			if s.missing[i] == nil {
				req.Want = append(req.Want, stage.Name)
			}
		}
		resp, err := s.backend.RunStages(ctx, req)
		if err != nil {
			if err := refusesAt(err, string(g.ttir())); err != nil {
				return "", fmt.Errorf("%s: %w", g.name, err)
			}
			not = append(not, g.name)
			continue
		}
		if err := s.complete(g, &resp); err != nil {
			return "", fmt.Errorf("%s: %w", g.name, err)
		}
		s.compiled[g.name] = &resp
		made = append(made, g.name)
	}
	if s.compiled[vectorAdd] == nil {
		return "", errors.New("vector_add compiles, but not where the artifacts of all stages are wanted")
	}
	text := names(made)
	if len(not) > 0 {
		text += "; refused: " + names(not)
	}
	return text, nil
}

// complete holds that a compile has an artifact of each stage, and metadata as they may be.
func (s *suite) complete(g *golden, resp *sdk.RunStagesResponse) error {
	for i := range s.stages {
		if s.missing[i] == nil && len(resp.Artifact(s.stages[i].Name)) == 0 {
			return fmt.Errorf("the artifact of the stage %s is wanted, and is not there or empty", s.stages[i].Name)
		}
	}
	return checkMetadata(resp.MetadataJSON, g.name)
}

// checkMetadata holds that the metadata of a kernel are an object, and what a launch reads
// of it as a launch reads it. Every field may be absent, and so may the object.
func checkMetadata(metadata, kernel string) error {
	if metadata == "" {
		return nil
	}
	var fields map[string]json.RawMessage
	var launch launchMetadata
	if err := json.Unmarshal([]byte(metadata), &fields); err != nil {
		return fmt.Errorf("the metadata %.60q are not a JSON object: %w", metadata, err)
	}
	if fields == nil {
		return fmt.Errorf("the metadata %q are not a JSON object", metadata)
	}
	if err := json.Unmarshal([]byte(metadata), &launch); err != nil {
		return fmt.Errorf("the metadata have another type than a launch reads: %w", err)
	}
	switch {
	case launch.Name != "" && launch.Name != kernel:
		return fmt.Errorf("the metadata have the name %q: it is that of the kernel's function, or absent", launch.Name)
	case launch.NumWarps < 0 || launch.NumCTAs < 0 || launch.Shared < 0 || launch.GlobalScratchSize < 0 || launch.GlobalScratchAlign < 0:
		return fmt.Errorf("a number of the metadata is below 0: %+v", launch)
	}
	return nil
}

// stageByStage enters at each stage with the artifact of the one before it. A stage may take
// it by a tool that no whole compile runs, and that the machine lacks.
func stageByStage(ctx context.Context, s *suite) (string, error) {
	if err := s.needGolden(); err != nil {
		return "", err
	}
	whole := s.compiled[vectorAdd]
	switch {
	case whole == nil:
		return "", skip("an artifact of vector_add is missing")
	case len(s.stages) == 1:
		return "", skip("there is one stage")
	}
	var entered []string
	var lacks error
	for i := range s.stages {
		b := sdk.StageBefore(s.stages, i)
		if b < 0 || s.missing[i] != nil {
			continue
		}
		before, stage := &s.stages[b], &s.stages[i]
		req := s.request(i, s.lastOf(i), whole.Artifact(before.Name), whole.MetadataJSON)
		req.InputName = strings.TrimSuffix(inputName, "ttir") + before.Ending
		resp, err := s.backend.RunStages(ctx, req)
		switch {
		case err != nil && lacksTool(err):
			lacks = cmp.Or(lacks, err)
			continue
		case err != nil:
			return "", fmt.Errorf("the stage %s does not take the artifact of %s: %w", stage.Name, before.Name, err)
		}
		if len(resp.Artifact(req.Last)) == 0 {
			return "", fmt.Errorf("entered at %s, RunStages answered no artifact of %s", stage.Name, req.Last)
		}
		entered = append(entered, stage.Name)
	}
	if len(entered) == 0 && lacks != nil {
		return "", lacks
	}
	return names(entered) + lacking(lacks), nil
}

// lacking is what a check's text has of an error that it passes over.
func lacking(err error) string {
	if err == nil {
		return ""
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return "; " + line
}

// refusesAt holds that an error is a diagnostic with a place in an input.
func refusesAt(err error, input string) error {
	list := diag.All(err)
	if len(list) == 0 {
		return fmt.Errorf("it must compile or end with a diagnostic of kind USER, not: %w", err)
	}
	at := list[0].Pos
	if lines := strings.Count(input, "\n"); at.File != "" && at.File != inputName || at.Line < 1 || at.Line > lines {
		return fmt.Errorf("the diagnostic %q of an input of %s named %s has no place in it", list[0].Error(), diag.Count(lines, "line"), inputName)
	}
	return nil
}

// refuses holds that an input that is not a module ends with a diagnostic that has a place in it.
func refuses(ctx context.Context, s *suite, input string) (string, error) {
	if err := s.needStages(); err != nil {
		return "", err
	}
	_, err := s.compile(ctx, s.backend, []byte(input))
	if err == nil {
		return "", errors.New("it compiles an input that is not a module")
	}
	if err := refusesAt(err, input); err != nil {
		return "", err
	}
	return diag.All(err)[0].Error(), nil
}
