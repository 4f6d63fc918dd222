package conform

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// passes has each stage's pipeline run on what the stage takes: twice, and in another
// process.
func passes(ctx context.Context, s *suite) (string, error) {
	if err := s.needGolden(); err != nil {
		return "", err
	}
	if !s.facts.Has(host.CapRunPasses) {
		return "", skip("it lacks the capability " + host.CapRunPasses)
	}
	if err := s.wrongPasses(ctx); err != nil {
		return "", err
	}
	h, other, err := s.start(s.opts.TempDir)
	if err != nil {
		return "", err
	}
	defer h.Close()
	var ran []string
	for i := range s.stages {
		stage := &s.stages[i]
		input := s.inputOf(i)
		if stage.Pipeline == "" || input == nil {
			continue
		}
		first, err := s.runPasses(ctx, s.backend, string(input), stage.Pipeline)
		if err == nil {
			err = wholePasses(&first)
		}
		if err != nil {
			return "", fmt.Errorf("the passes of the stage %s: %w", stage.Name, err)
		}
		for _, again := range []struct {
			in   *plugin.Backend
			when string
		}{{s.backend, "the second time"}, {other, "in another process"}} {
			resp, err := s.runPasses(ctx, again.in, string(input), stage.Pipeline)
			if err != nil {
				return "", fmt.Errorf("the passes of the stage %s run, but not %s: %w", stage.Name, again.when, err)
			}
			if resp.Output != first.Output || !slices.Equal(resp.Dumps, first.Dumps) {
				return "", fmt.Errorf("the passes of the stage %s give another module %s, %s: what they make may depend on the request and the program alone", stage.Name, again.when, afterPass(&first, &resp))
			}
		}
		ran = append(ran, stage.Name)
	}
	if len(ran) == 0 {
		return "no stage has a pipeline of them", nil
	}
	return names(ran), nil
}

// inputOf is what a stage takes of vector_add; nil where it is not known.
func (s *suite) inputOf(stage int) []byte {
	before := sdk.StageBefore(s.stages, stage)
	switch whole := s.compiled[vectorAdd]; {
	case before < 0:
		return goldens[0].ttir()
	case whole == nil:
		return nil
	default:
		return whole.Artifact(s.stages[before].Name)
	}
}

func (s *suite) runPasses(ctx context.Context, b *plugin.Backend, input, pipeline string) (sdk.RunPassesResponse, error) {
	return b.RunPasses(ctx, sdk.RunPassesRequest{
		Target: s.target, OptionsJSON: s.options, Input: input, InputName: inputName,
		Pipeline: pipeline, VerifyEach: true, DumpAfter: []string{sdk.DumpAll},
	})
}

// wrongPasses are the user's mistakes, and diagnostics therefore.
func (s *suite) wrongPasses(ctx context.Context) error {
	ttir := string(goldens[0].ttir())
	if _, err := s.runPasses(ctx, s.backend, ttir, ""); err != nil {
		return fmt.Errorf("no passes at all must give the module as it is, not: %w", err)
	}
	_, err := s.runPasses(ctx, s.backend, ttir, "no-backend-has-this-pass")
	if diag.All(err) == nil {
		return fmt.Errorf("a pass that there is not must end with a diagnostic of kind USER, not: %w", orNothing(err))
	}
	const wrong = "this is not IR\n"
	if _, err = s.runPasses(ctx, s.backend, wrong, ""); err == nil {
		return errors.New("it runs passes on an input that is not a module")
	}
	return refusesAt(err, wrong)
}

// orNothing is err, or one that says that there is none.
func orNothing(err error) error {
	if err == nil {
		return errors.New("success")
	}
	return err
}

// wholePasses holds that a response has the module after each pass, and at last as Output.
func wholePasses(resp *sdk.RunPassesResponse) error {
	switch n := len(resp.Dumps); {
	case resp.Output == "":
		return errors.New("the output is empty")
	case n == 0:
		return fmt.Errorf("dump_after is %q, and there are no dumps", sdk.DumpAll)
	case resp.Dumps[n-1].Text != resp.Output:
		return fmt.Errorf("the dump after the last pass, %s, is not the output", resp.Dumps[n-1].Name)
	}
	return nil
}

// afterPass says after which pass two runs differ first.
func afterPass(a, b *sdk.RunPassesResponse) string {
	for i, dump := range a.Dumps {
		if i >= len(b.Dumps) || b.Dumps[i] != dump {
			return "first after " + dump.Name
		}
	}
	return "at the end"
}
