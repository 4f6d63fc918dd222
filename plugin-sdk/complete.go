package sdk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/plugin-sdk/internal/wire"
)

// complete is a backend with all that its author left to the SDK: it answers every
// call of the protocol.
type complete struct {
	backend Backend
	devices bool // the program serves a driver, too
}

// Describe answers the author's facts, and what the other methods tell.
func (c *complete) Describe(ctx context.Context) (Facts, error) {
	f, err := c.backend.Describe(ctx)
	if err != nil {
		return f, err
	}
	if f.Name == "" {
		f.Name = nameOf(os.Args[0])
	}
	if f.Version == "" {
		f.Version = ProgramVersion()
	}
	if f.Hash == "" {
		f.Hash = ProgramHash()
	}
	if c.runsPasses() && !f.Has(wire.CapRunPasses) {
		f.Capabilities = append(slices.Clone(f.Capabilities), wire.CapRunPasses)
	}
	if c.devices && !f.Has(wire.CapDevices) {
		f.Capabilities = append(slices.Clone(f.Capabilities), wire.CapDevices)
	}
	dialects, err := c.LoadDialects(ctx)
	if err != nil {
		return f, err
	}
	f.Dialects, f.DialectsHash = wire.Each(dialects, func(d Dialect) string { return d.Name }), hashOf(dialects)
	modules, err := c.GetModuleMap(ctx)
	f.Modules = wire.Each(modules, func(m Module) Module { return Module{Name: m.Name, Aliases: m.Aliases} })
	return f, err
}

// nameOf is the <name> of a program tritonc-backend-<name>; empty for others.
func nameOf(program string) string {
	base := strings.TrimSuffix(filepath.Base(program), ".exe")
	if name, ok := strings.CutPrefix(base, "tritonc-backend-"); ok {
		return name
	}
	return ""
}

// hashOf identifies what dialects declare.
func hashOf(dialects []Dialect) string {
	if len(dialects) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, d := range dialects {
		fmt.Fprintf(sum, "%d %s %d %s\n", len(d.Name), d.Name, len(d.Declaration), d.Declaration)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// LoadDialects declares the backend's dialects.
func (c *complete) LoadDialects(ctx context.Context) ([]Dialect, error) {
	if b, ok := c.backend.(DialectLoader); ok {
		return b.LoadDialects(ctx)
	}
	return nil, nil
}

// GetModuleMap lists the modules that kernels may import, whole.
func (c *complete) GetModuleMap(ctx context.Context) ([]Module, error) {
	if b, ok := c.backend.(ModuleMapper); ok {
		return b.GetModuleMap(ctx)
	}
	return nil, nil
}

// GetModule returns the module with a name; aliases do not count.
func (c *complete) GetModule(ctx context.Context, name string) (Module, error) {
	modules, err := c.GetModuleMap(ctx)
	if err != nil {
		return Module{}, err
	}
	for i := range modules {
		if modules[i].Name == name {
			return modules[i], nil
		}
	}
	return Module{}, fmt.Errorf("the backend has no module %q", name)
}

// SupportsTarget says whether the backend compiles for t: the facts decide, and then the backend
// when it has an opinion.
func (c *complete) SupportsTarget(ctx context.Context, t Target) (SupportsTargetResponse, error) {
	f, err := c.backend.Describe(ctx)
	if err != nil {
		return SupportsTargetResponse{}, err
	}
	if c, ok := c.backend.(TargetChecker); ok {
		if _, matches := f.For(t); matches {
			return c.SupportsTarget(ctx, t)
		}
	}
	return f.Supports(t), nil
}

// ParseOptions checks and completes a user's options.
func (c *complete) ParseOptions(ctx context.Context, req ParseOptionsRequest) (ParseOptionsResponse, error) {
	if p, ok := c.backend.(OptionParser); ok {
		ctx, told := within(ctx, nil)
		resp, err := p.ParseOptions(ctx, req)
		resp.Diagnostics = append(resp.Diagnostics, told.warnings()...)
		return resp, err
	}
	f, err := c.backend.Describe(ctx)
	if err != nil {
		return ParseOptionsResponse{}, err
	}
	values, err := ParseOptions(f.Options, req.OptionsJSON)
	if err != nil {
		return ParseOptionsResponse{}, err
	}
	return ParseOptionsResponse{OptionsJSON: values.JSON()}, nil
}

// errNoToolList is the answer of a backend that does not list its tools.
var errNoToolList = errors.New("the backend does not list its tools")

// listsTools reports whether the author lists tools.
func (c *complete) listsTools() bool {
	_, ok := c.backend.(ToolLister)
	return ok
}

// ListTools lists what compiles may take from the machine.
func (c *complete) ListTools(ctx context.Context, req ListToolsRequest) (ListToolsResponse, error) {
	if b, ok := c.backend.(ToolLister); ok {
		return b.ListTools(ctx, req)
	}
	return ListToolsResponse{}, errNoToolList
}

// AddStages lists the stages of a compile.
func (c *complete) AddStages(ctx context.Context, req AddStagesRequest) (stages []Stage, warnings Diagnostics, err error) {
	ctx, told := within(ctx, nil)
	stages, err = c.backend.AddStages(ctx, req)
	stages = slices.Clone(stages) // they may be the author's for all calls
	for i := range stages {
		stages[i].Ending = stages[i].ending()
	}
	return stages, told.warnings(), err
}

// RunStages runs the stages req.First to req.Last.
func (c *complete) RunStages(ctx context.Context, req RunStagesRequest) (RunStagesResponse, error) {
	ctx, told := within(ctx, req.Progress)
	resp, err := c.runStages(ctx, req)
	resp.Diagnostics = append(resp.Diagnostics, told.warnings()...)
	return resp, err
}

func (c *complete) runStages(ctx context.Context, req RunStagesRequest) (RunStagesResponse, error) {
	if r, ok := c.backend.(StageRunner); ok {
		return r.RunStages(ctx, req)
	}
	stages, err := c.backend.AddStages(ctx, AddStagesRequest{Target: req.Target, OptionsJSON: req.OptionsJSON, Settings: req.Settings})
	if err != nil {
		return RunStagesResponse{}, err
	}
	return runStages(ctx, stages, &req)
}

// runsPasses reports whether the backend is a PassRunner.
func (c *complete) runsPasses() bool {
	_, ok := c.backend.(PassRunner)
	return ok
}

var errNoPasses = errors.New("this backend runs no passes by name")

// RunPasses runs passes by name, where the backend is a PassRunner.
func (c *complete) RunPasses(ctx context.Context, req RunPassesRequest) (RunPassesResponse, error) {
	if r, ok := c.backend.(PassRunner); ok {
		return r.RunPasses(ctx, req)
	}
	return RunPassesResponse{}, errNoPasses
}
