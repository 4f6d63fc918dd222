package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// dialectText parses the modules that stages print, as `tritonc opt` and `tritonc diff`
// do, and prints them again.
func dialectText(_ context.Context, s *suite) (string, error) {
	if err := s.needGolden(); err != nil {
		return "", err
	}
	if len(s.declared) == 0 {
		return "", skip("it declares no dialects")
	}
	modules := 0
	seen := map[string]bool{}
	for i := range goldens {
		resp := s.compiled[goldens[i].name]
		if resp == nil {
			continue
		}
		for j := range s.stages {
			stage := &s.stages[j]
			src := resp.Artifact(stage.Name)
			if stage.Binary || !moduleText.Match(src) {
				continue
			}
			if err := s.roundTrip(goldens[i].name+"."+stage.Name, src); err != nil {
				return "", err
			}
			modules++
			for name := range s.declared {
				seen[name] = seen[name] || bytes.Contains(src, []byte(name+"."))
			}
		}
	}
	if modules == 0 {
		return "", skip("no stage prints a module")
	}
	var used []string
	for name := range s.declared {
		if seen[name] {
			used = append(used, name)
		}
	}
	slices.Sort(used)
	what := "none of them has anything of the dialects"
	if len(used) > 0 {
		what = "in them " + names(used)
	}
	return diag.Count(modules, "module") + ", " + what, nil
}

// moduleText finds the first line of a module in MLIR text.
var moduleText = regexp.MustCompile(`(?m)^(module( @\S+)?( attributes \{.*\})? \{|"builtin\.module"\()`)

// roundTrip holds that a text parses with the backend's declarations and that core prints
// it as it was.
func (s *suite) roundTrip(name string, src []byte) error {
	ctx := dialect.NewContext()
	ctx.SetLoader(func(name string) (*ir.Dialect, error) {
		if d := s.declared[name]; d != nil {
			return d, nil
		}
		return nil, fmt.Errorf("the dialect '%s' is not declared: name it in the facts", name)
	})
	module, err := text.Parse(ctx, name, src)
	if err != nil {
		var shown strings.Builder
		for _, d := range diag.All(err) {
			diag.Fprint(&shown, d)
		}
		return errors.New(strings.TrimRight(shown.String(), "\n"))
	}
	var printed []byte
	for _, unnamed := range []bool{true, false} { // MLIR's printers are either
		printed = text.Append(nil, module, text.Options{Locations: bytes.Contains(src, []byte("loc(")), Unnamed: unnamed})
		if bytes.Equal(printed, src) {
			return nil
		}
	}
	line, was, is := firstLine(string(src), string(printed))
	return fmt.Errorf("tritonc prints line %d of %s in another way: declare the form that the stage prints\nstage   %s\ntritonc %s", line, name, was, is)
}

// firstLine is the first line in which two texts differ.
func firstLine(a, b string) (number int, inA, inB string) {
	linesA, linesB := strings.Split(a, "\n"), strings.Split(b, "\n")
	for number < len(linesA)-1 && number < len(linesB)-1 && linesA[number] == linesB[number] {
		number++
	}
	return number + 1, linesA[number], linesB[number]
}
