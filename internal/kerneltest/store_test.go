package kerneltest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/inprocess"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// counted is a backend that counts what it is asked, and can be taken away.
type counted struct {
	inprocess.Kit
	calls int
	gone  bool
	asked sdk.RunStagesRequest
}

var errGone = errors.New("there is no llc")

func (c *counted) call() error {
	c.calls++
	if c.gone {
		return errGone
	}
	return nil
}

func (c *counted) ParseOptions(_ context.Context, req sdk.ParseOptionsRequest) (sdk.ParseOptionsResponse, error) {
	return sdk.ParseOptionsResponse{OptionsJSON: "all of " + req.OptionsJSON + req.Settings["llc"]}, c.call()
}

func (c *counted) AddStages(context.Context, sdk.AddStagesRequest) ([]sdk.Stage, error) {
	return []sdk.Stage{{Name: "ptx"}, {Name: "cubin", Binary: true}}, c.call()
}

func (c *counted) RunStages(_ context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
	c.asked = req
	resp := sdk.RunStagesResponse{MetadataJSON: "{}"}
	for _, stage := range append(slices.Clone(req.Want), req.Last) {
		resp.Artifacts = append(resp.Artifacts, sdk.Artifact{Stage: stage, Data: []byte(stage + " of " + string(req.Input))})
	}
	return resp, c.call()
}

// TestStore: a machine whose backend can do nothing gets what another one's
// made, whichever stages either asked for.
func TestStore(t *testing.T) {
	t.Setenv(StoreCodeEnv, "")
	dir := store(t.TempDir())
	with := func(c *counted, llc string) *inProcess {
		return &inProcess{Backend: inprocess.Backend{Kit: c}, store: dir, settings: map[string]string{"llc": llc}, made: map[string]sdk.RunStagesResponse{}}
	}
	here, there := &counted{}, &counted{gone: true}
	ctx := t.Context()
	run := sdk.RunStagesRequest{First: "ttir", Last: "ptx", Input: []byte("add")}
	for _, b := range []*inProcess{with(here, "/here/llc"), with(there, "")} {
		opts, err := b.ParseOptions(ctx, sdk.ParseOptionsRequest{OptionsJSON: "{}"})
		if err != nil || opts.OptionsJSON != "all of {}/here/llc" {
			t.Errorf("%+v, %v", opts, err)
		}
		if stages, err := b.AddStages(ctx, sdk.AddStagesRequest{}); err != nil || len(stages.Stages) != 2 {
			t.Errorf("%+v, %v", stages, err)
		}
		resp, err := b.RunStages(ctx, run)
		if err != nil || string(resp.Artifact("ptx")) != "ptx of add" || resp.Artifact("cubin") != nil || resp.MetadataJSON != "{}" {
			t.Errorf("%+v, %v", resp, err)
		}
	}
	if here.calls != 3 || there.calls != 0 || here.asked.Last != "cubin" || here.asked.Settings["llc"] != "/here/llc" {
		t.Errorf("%d calls here, %d there, the last %+v", here.calls, there.calls, here.asked)
	}
	run.Last, run.Want = "cubin", []string{"ptx"}
	resp, err := with(there, "").RunStages(ctx, run)
	if err != nil || string(resp.Artifact("cubin")) != "cubin of add" {
		t.Errorf("%+v, %v", resp, err)
	}
	run.Input = []byte("sub")
	if _, err := with(there, "").RunStages(ctx, run); !errors.Is(err, errGone) {
		t.Errorf("another kernel: %v", err)
	}
	files, err := os.ReadDir(string(dir))
	if err != nil || len(files) != 3 {
		t.Errorf("the store has %v, %v", files, err)
	}
	for _, f := range files { // one of which is asked for
		if err := os.WriteFile(filepath.Join(string(dir), f.Name()), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run.Input = []byte("add")
	if _, err := with(there, "").RunStages(ctx, run); err == nil || errors.Is(err, errGone) || !strings.Contains(err.Error(), string(dir)) {
		t.Errorf("a broken file: %v", err)
	}
}
