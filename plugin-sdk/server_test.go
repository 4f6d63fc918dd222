package sdk_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/sdktest"
)

// plain is a backend with few optional powers; do is its RunStages.
type plain struct {
	do func(ctx context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error)
}

func (plain) Describe(context.Context) (sdk.Facts, error) {
	return sdk.Facts{Name: "plain", Targets: []sdk.TargetFacts{{Pattern: "p:*", WarpSize: 8}}}, nil
}

func (plain) ParseOptions(context.Context, sdk.ParseOptionsRequest) (sdk.ParseOptionsResponse, error) {
	return sdk.ParseOptionsResponse{OptionsJSON: "{}", Diagnostics: []sdk.Diagnostic{{Severity: sdk.Warning, Message: "old"}}}, nil
}

func (plain) AddStages(context.Context, sdk.AddStagesRequest) ([]sdk.Stage, error) {
	return []sdk.Stage{{Name: "a"}, {Name: "b", Binary: true}}, nil
}

func (p plain) RunStages(ctx context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
	return p.do(ctx, req)
}

// powerful adds the optional powers.
type powerful struct{ plain }

func (powerful) SupportsTarget(_ context.Context, t sdk.Target) (sdk.SupportsTargetResponse, error) {
	return sdk.SupportsTargetResponse{Supported: t.Arch != "even", Target: t, Reason: "it is even"}, nil
}

func (powerful) RunPasses(_ context.Context, req sdk.RunPassesRequest) (sdk.RunPassesResponse, error) {
	return sdk.RunPassesResponse{Output: strings.ToUpper(req.Input)}, nil
}

func (powerful) ListTools(_ context.Context, req sdk.ListToolsRequest) (sdk.ListToolsResponse, error) {
	return sdk.ListToolsResponse{
		Tools: []sdk.ToolInfo{{Name: "as", Path: req.Settings["as"], SHA256: "ab"}}, LookedAt: []string{"/a", "/b"},
		Settings: []string{"as"}, Unshared: "it is " + req.Target.Arch, WhenRun: []string{"as"},
	}, nil
}

func (powerful) LoadDialects(context.Context) ([]sdk.Dialect, error) {
	return []sdk.Dialect{{Name: "p", Declaration: "{}"}, {Name: "q", Declaration: "[]"}}, nil
}

func (powerful) GetModuleMap(context.Context) ([]sdk.Module, error) {
	return []sdk.Module{
		{Name: "one", Source: "x = 1\n"},
		{Name: "lib", Aliases: []string{"other"}, Externs: []sdk.ExternFunction{
			{Name: "sin", Args: []string{"fp32"}, Result: "fp32", Symbol: "__sinf", Pure: true},
		}},
	}, nil
}

// TestDialects: the facts name the dialects, and their hash is that of what is
// declared.
func TestDialects(t *testing.T) {
	c := sdktest.Start(t, powerful{})
	f, err := c.Describe(t.Context())
	if err != nil || len(f.DialectsHash) != 64 {
		t.Errorf("facts %+v, %v", f, err)
	}
	if d := cmp.Diff([]string{"p", "q"}, f.Dialects); d != "" {
		t.Error(d)
	}
	got, err := c.LoadDialects(t.Context())
	want, _ := powerful{}.LoadDialects(t.Context())
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
	if got, err := sdktest.Start(t, plain{}).LoadDialects(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("of a backend that has none: %v, %v", got, err)
	}
}

// TestModules: the names of modules come in a list, and each is asked for by itself.
func TestModules(t *testing.T) {
	c := sdktest.Start(t, powerful{})
	names, err := c.GetModuleMap(t.Context())
	if d := cmp.Diff([]sdk.Module{{Name: "one"}, {Name: "lib", Aliases: []string{"other"}}}, names); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
	whole, _ := powerful{}.GetModuleMap(t.Context())
	for _, want := range whole {
		got, err := c.GetModule(t.Context(), want.Name)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", want.Name, err, d)
		}
	}
	for _, name := range []string{"other", "none"} {
		var refused sdk.Diagnostics
		if _, err := c.GetModule(t.Context(), name); !errors.As(err, &refused) || !strings.Contains(refused.Error(), `no module "`+name+`"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOptionalPowers(t *testing.T) {
	ctx := t.Context()
	c := sdktest.Start(t, plain{})
	f, err := c.Describe(ctx)
	if err != nil || f.Name != "plain" || f.Has("run_passes") {
		t.Errorf("facts %+v, %v", f, err)
	}
	for target, want := range map[sdk.Target]bool{
		{Backend: "p", Arch: "1"}: true, {Backend: "p", Arch: "1", WarpSize: 8}: true,
		{Backend: "p", Arch: "1", WarpSize: 9}: false, {Backend: "q", Arch: "1"}: false,
	} {
		r, err := c.SupportsTarget(ctx, target)
		if err != nil || r.Supported != want || r.Supported && r.Target.WarpSize != 8 || target.WarpSize == 9 && r.Reason == "" {
			t.Errorf("%v: %+v, %v", target, r, err)
		}
	}
	if _, err := c.RunPasses(ctx, sdk.RunPassesRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("RunPasses: %v", err)
	}
	if _, err := c.ListTools(ctx, sdk.ListToolsRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("ListTools: %v", err)
	}
	o, err := c.ParseOptions(ctx, sdk.ParseOptionsRequest{})
	if err != nil || len(o.Diagnostics) != 1 || o.Diagnostics[0].Severity != sdk.Warning {
		t.Errorf("options %+v, %v", o, err)
	}

	c = sdktest.Start(t, powerful{})
	ask := sdk.ListToolsRequest{Target: sdk.Target{Backend: "p", Arch: "odd"}, Settings: map[string]string{"as": "/bin/as"}}
	tools, err := c.ListTools(ctx, ask)
	want, _ := powerful{}.ListTools(ctx, ask)
	if d := cmp.Diff(want, tools); err != nil || d != "" {
		t.Errorf("ListTools: %v\n%s", err, d)
	}
	if f, err = c.Describe(ctx); err != nil || !f.Has("run_passes") {
		t.Errorf("facts %+v, %v", f, err)
	}
	for target, want := range map[sdk.Target]bool{
		{Backend: "p", Arch: "odd"}: true, {Backend: "p", Arch: "even"}: false, {Backend: "z", Arch: "odd"}: false,
	} {
		if r, err := c.SupportsTarget(ctx, target); err != nil || r.Supported != want {
			t.Errorf("%v: %+v, %v", target, r, err)
		}
	}
	if r, err := c.RunPasses(ctx, sdk.RunPassesRequest{Input: "x"}); err != nil || r.Output != "X" {
		t.Errorf("RunPasses: %+v, %v", r, err)
	}
}

// TestErrors: each kind of error of a backend arrives as what it is.
func TestErrors(t *testing.T) {
	run := func(do func(context.Context, sdk.RunStagesRequest) (sdk.RunStagesResponse, error)) (sdk.RunStagesResponse, error) {
		return sdktest.Start(t, plain{do}).RunStages(t.Context(), sdk.RunStagesRequest{InputName: "a\xff"})
	}
	one := func(err error) sdk.Diagnostic {
		t.Helper()
		var l sdk.Diagnostics
		if !errors.As(err, &l) || len(l) != 1 {
			t.Fatalf("got %v, want one diagnostic", err)
		}
		return l[0]
	}
	_, err := run(func(_ context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
		return sdk.RunStagesResponse{}, &sdk.Diagnostic{File: req.InputName, Line: 2, Column: 3, Message: "bad \xff byte"}
	})
	if d := one(err); d.Kind != sdk.User || d.Error() != "a\uFFFD:2:3: error: bad \uFFFD byte" {
		t.Errorf("got %+v", d)
	}
	_, err = run(func(context.Context, sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
		return sdk.RunStagesResponse{}, errors.New("disk full")
	})
	if d := one(err); d.Kind != sdk.Environment || d.Message != "disk full" {
		t.Errorf("got %+v", d)
	}
	_, err = run(func(context.Context, sdk.RunStagesRequest) (sdk.RunStagesResponse, error) { panic("oh") })
	if d := one(err); d.Kind != sdk.Bug || !strings.Contains(d.Message, "BUG") || len(d.Notes) != 1 || !strings.Contains(d.Notes[0].Message, "server_test.go") {
		t.Errorf("got %+v", d)
	}
	resp, err := run(func(context.Context, sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
		return sdk.RunStagesResponse{
			Artifacts:   []sdk.Artifact{{Stage: "a", Data: []byte("half")}},
			Diagnostics: []sdk.Diagnostic{{Severity: sdk.Warning, Message: "careful"}},
		}, sdk.Errorf("wrong")
	})
	if one(err).Message != "wrong" || string(resp.Artifact("a")) != "half" || len(resp.Diagnostics) != 1 {
		t.Errorf("got %+v, %v", resp, err)
	}
	// What cannot be sent is an error, too, and not waited for.
	bounded, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	if _, err = sdktest.Start(t, plain{}).RunStages(bounded, sdk.RunStagesRequest{OptionsJSON: "\xff"}); err == nil || bounded.Err() != nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("options that are not UTF-8: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = sdktest.Start(t, plain{func(ctx context.Context, _ sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
		cancel()
		<-ctx.Done()
		return sdk.RunStagesResponse{}, ctx.Err()
	}}).RunStages(ctx, sdk.RunStagesRequest{})
	if status.Code(err) != codes.Canceled {
		t.Errorf("a cancelled call: %v", err)
	}
}
