package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tritonc/tritonc/plugin-sdk/internal/wire"
)

// runStages runs stages by their Run functions.
func runStages(ctx context.Context, stages []Stage, req *RunStagesRequest) (resp RunStagesResponse, err error) {
	began := time.Now()
	names := strings.Join(wire.Each(stages, func(s Stage) string { return s.Name }), ", ")
	index := func(name string) int {
		return slices.IndexFunc(stages, func(s Stage) bool { return s.Name == name })
	}
	first, last := index(req.First), index(req.Last)
	if first < 0 || last < first {
		return resp, Errorf("there are no stages %q to %q", req.First, req.Last).WithHelp("the stages are %s", names)
	}
	wanted := []int{last}
	for _, w := range req.Want {
		i := index(w)
		if i < first || i > last {
			return resp, Errorf("the stage %q is not among those to run, %s to %s", w, req.First, req.Last)
		}
		wanted = append(wanted, i)
	}
	given := StageBefore(stages, first)
	run := StagesFor(stages, given, wanted...)
	if run == nil {
		return resp, Errorf("not all of %s are made of what the stage %s takes", strings.Join(append([]string{req.Last}, req.Want...), ", "), req.First)
	}
	metadata, err := startMetadata(req, first == 0)
	if err != nil {
		return resp, err
	}
	in := StageInput{
		Target: req.Target, OptionsJSON: req.OptionsJSON, Settings: req.Settings, Metadata: metadata,
		resp: &resp, began: began,
	}
	stem := strings.TrimSuffix(req.InputName, path.Ext(req.InputName))
	made := map[int][]byte{given: req.Input} // what stages still to run take
	for k, i := range run {
		if err := ctx.Err(); err != nil {
			return resp, err
		}
		s, before := &stages[i], StageBefore(stages, i)
		in.Data, in.file = made[before], req.InputName
		if before != given {
			in.file = stem + "." + stages[before].ending()
		}
		if !slices.ContainsFunc(run[k+1:], func(j int) bool { return StageBefore(stages, j) == before }) {
			delete(made, before)
		}
		out, err := in.run(ctx, s)
		if err != nil {
			// The text that it is about, so that the host can show it.
			if before != given && !stages[before].Binary && resp.Artifact(stages[before].Name) == nil {
				resp.Artifacts = append(resp.Artifacts, Artifact{stages[before].Name, in.Data})
			}
			return resp, err
		}
		if i == last || slices.Contains(req.Want, s.Name) {
			resp.Artifacts = append(resp.Artifacts, Artifact{s.Name, out})
		}
		made[i] = out
	}
	text, err := canonicalJSON(in.Metadata)
	if err != nil {
		return resp, fmt.Errorf("metadata: %w", err)
	}
	resp.MetadataJSON = text
	return resp, nil
}

// run runs one stage on in.
func (in *StageInput) run(ctx context.Context, s *Stage) (out []byte, err error) {
	if s.Run == nil {
		return nil, Errorf("BUG: the stage %s has no Run", s.Name).ofKind(Bug)
	}
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, panicked("the backend", "the stage "+s.Name, p, debug.Stack())
		}
	}()
	ReportProgress(ctx, Progress{Stage: s.Name})
	in.stage = s.Name
	row := len(in.resp.Timings)
	start := time.Now()
	in.resp.Timings = append(in.resp.Timings, Timing{Stage: s.Name, Start: start.Sub(in.began).Nanoseconds()})
	out, err = s.Run(ctx, in)
	in.mu.Lock()
	in.resp.Timings[row].Nanoseconds = time.Since(start).Nanoseconds()
	in.mu.Unlock()
	if out == nil {
		out = []byte{}
	}
	return out, err
}

// startMetadata is what is known before the first stage: what an earlier compile
// wrote, else the options, the target and the kernel's name.
func startMetadata(req *RunStagesRequest, fromTTIR bool) (map[string]any, error) {
	m := map[string]any{}
	for _, text := range []string{req.OptionsJSON, req.MetadataJSON} {
		if text == "" {
			continue
		}
		var values map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &values); err != nil {
			return nil, Errorf("the options or the metadata are not a JSON object: %v", err)
		}
		for name, v := range values {
			m[name] = v
		}
	}
	var arch any = req.Target.Arch
	if n, err := strconv.Atoi(req.Target.Arch); err == nil { // as Triton has it: 90, but "gfx942"
		arch = n
	}
	m["target"] = map[string]any{"backend": req.Target.Backend, "arch": arch, "warp_size": req.Target.WarpSize}
	if fromTTIR {
		if name := kernelName.FindSubmatch(req.Input); name != nil {
			m["name"] = string(name[1])
		}
	}
	return m, nil
}

// kernelName finds the kernel in ttir.
var kernelName = regexp.MustCompile(`tt\.func public @"?([\w.$-]+)`)

// canonicalJSON gives an object on one line, keys sorted.
func canonicalJSON(m map[string]any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b) // sorts a map's keys
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// addTool reports a tool once.
func (r *RunStagesResponse) addTool(t ToolInfo) {
	if !slices.Contains(r.Tools, t) {
		r.Tools = append(r.Tools, t)
	}
	if !slices.Contains(r.LookedAt, t.Path) {
		r.LookedAt = append(r.LookedAt, t.Path)
	}
}
