package nvidia

import (
	"context"
	"path/filepath"

	"github.com/tritonc/tritonc/core/filememo"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Version is the backend's version, for people.
const Version = "0.1.0"

// Backend implements the contract.
type Backend struct {
	facts sdk.Facts
	memo  *toolMemo
}

var _ sdk.Backend = (*Backend)(nil)

// New makes the backend. It reads nothing yet.
func New() *Backend {
	file := ""
	if dir := cacheDir(); dir != "" {
		file = filepath.Join(dir, "tools.json")
	}
	return &Backend{facts: facts(), memo: filememo.New[identity](file)}
}

// facts are the answer to Describe.
func facts() sdk.Facts {
	f := sdk.Facts{
		Name:     "nvidia",
		Version:  Version,
		Hash:     sdk.ProgramHash(),
		Options:  optionSpecs,
		Settings: settingSpecs,
		Specialization: sdk.Specialization{
			IntDivisor:        16,
			PointerDivisor:    16,
			IntOneIsConstexpr: true,
			Attributes:        []sdk.ArgAttribute{{Key: "D", Name: "tt.divisibility", Value: 16}},
		},
		BinaryEnding: stageCubin,
	}
	for _, a := range archs {
		f.Targets = append(f.Targets, a.facts())
	}
	return f
}

// Describe implements sdk.Backend.
func (b *Backend) Describe(context.Context) (sdk.Facts, error) { return b.facts, nil }

// ParseOptions implements sdk.Backend.
func (b *Backend) ParseOptions(_ context.Context, req sdk.ParseOptionsRequest) (sdk.ParseOptionsResponse, error) {
	a, err := archOf(req.Target)
	if err != nil {
		return sdk.ParseOptionsResponse{}, err
	}
	text, err := parseOptions(a, req.OptionsJSON)
	return sdk.ParseOptionsResponse{OptionsJSON: text}, err
}

// AddStages implements sdk.Backend.
func (b *Backend) AddStages(_ context.Context, req sdk.AddStagesRequest) (sdk.AddStagesResponse, error) {
	if _, err := archOf(req.Target); err != nil {
		return sdk.AddStagesResponse{}, err
	}
	var resp sdk.AddStagesResponse
	for i := range stages {
		s := &stages[i]
		resp.Stages = append(resp.Stages, sdk.Stage{Name: s.name, Binary: s.binary, Ending: s.name, Doc: s.doc})
	}
	return resp, nil
}

// RunStages implements sdk.Backend.
func (b *Backend) RunStages(ctx context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
	a, err := archOf(req.Target)
	if err != nil {
		return sdk.RunStagesResponse{}, err
	}
	opts, err := readOptions(req.OptionsJSON)
	if err != nil {
		return sdk.RunStagesResponse{}, err
	}
	c := &compilation{backend: b, ctx: ctx, req: req, arch: a, opts: opts, meta: newMetadata()}
	err = c.runStages()
	return c.resp, err
}
