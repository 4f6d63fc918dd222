// Package inprocess runs a backend that is made with core/backend in the process of a
// test or benchmark: what core asks of it is answered without a plugin's process, and
// without gRPC.
package inprocess

import (
	"context"
	"fmt"

	"github.com/tritonc/tritonc/core/plugin/wire"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Kit is what backends of core/backend implement.
type Kit interface {
	sdk.Backend
	sdk.OptionParser
	sdk.StageRunner
	sdk.DialectLoader
	sdk.ModuleMapper
}

// Backend is a Kit as core sees a backend.
type Backend struct {
	Kit Kit
	// Settings are those of runs that name none.
	Settings map[string]string
}

var _ wire.Backend = Backend{}

// Facts adds to the Kit's own what plugin-sdk would find out by asking it.
func (b Backend) Facts(ctx context.Context) (*sdk.Facts, error) {
	facts, err := b.Kit.Describe(ctx)
	if err != nil {
		return nil, err
	}
	dialects, err := b.Kit.LoadDialects(ctx)
	if err != nil {
		return nil, err
	}
	facts.Dialects = nil
	for i := range dialects {
		facts.Dialects = append(facts.Dialects, dialects[i].Name)
	}
	if facts.Modules, err = b.Kit.GetModuleMap(ctx); err != nil {
		return nil, err
	}
	return &facts, nil
}

// LoadDialects implements wire.Backend.
func (b Backend) LoadDialects(ctx context.Context) ([]sdk.Dialect, error) {
	return b.Kit.LoadDialects(ctx)
}

// GetModule implements wire.Backend.
func (b Backend) GetModule(ctx context.Context, name string) (sdk.Module, error) {
	modules, err := b.Kit.GetModuleMap(ctx)
	for i := range modules {
		if modules[i].Name == name {
			return modules[i], nil
		}
	}
	if err == nil {
		err = fmt.Errorf("the backend has no module %q", name)
	}
	return sdk.Module{}, err
}

// ParseOptions implements wire.Backend.
func (b Backend) ParseOptions(ctx context.Context, req sdk.ParseOptionsRequest) (sdk.ParseOptionsResponse, error) {
	resp, err := b.Kit.ParseOptions(ctx, req)
	return resp, wire.ErrorFromSDK("in process", err)
}

// AddStages implements wire.Backend.
func (b Backend) AddStages(ctx context.Context, req sdk.AddStagesRequest) (wire.AddStagesResponse, error) {
	stages, err := b.Kit.AddStages(ctx, req)
	return wire.AddStagesResponse{Stages: stages}, wire.ErrorFromSDK("in process", err)
}

// RunStages implements wire.Backend.
func (b Backend) RunStages(ctx context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
	if req.Settings == nil {
		req.Settings = b.Settings
	}
	resp, err := b.Kit.RunStages(ctx, req)
	return resp, wire.ErrorFromSDK("in process", err)
}
