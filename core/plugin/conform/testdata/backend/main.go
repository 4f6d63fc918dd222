// A backend that breaks what the protocol says, as the suite must find.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func main() { sdk.ServeBackend(backend{}) }

// stdout is the standard output that the program was started with, which the SDK sets aside.
var stdout = func() *os.File {
	fd, err := syscall.Dup(1)
	if err != nil {
		panic(err)
	}
	return os.NewFile(uintptr(fd), "stdout")
}()

type backend struct{}

func (backend) Describe(context.Context) (sdk.Facts, error) {
	return sdk.Facts{
		Name: "bad", Version: "1", Hash: fmt.Sprint(os.Getpid()),
		Targets: []sdk.TargetFacts{{Pattern: "bad:v1"}},
	}, nil
}

func (backend) SupportsTarget(_ context.Context, t sdk.Target) (sdk.SupportsTargetResponse, error) {
	t.WarpSize = 1
	return sdk.SupportsTargetResponse{Supported: true, Target: t}, nil
}

func (backend) ParseOptions(context.Context, sdk.ParseOptionsRequest) (sdk.ParseOptionsResponse, error) {
	return sdk.ParseOptionsResponse{OptionsJSON: "{}"}, nil
}

func (backend) LoadDialects(context.Context) ([]sdk.Dialect, error) {
	return []sdk.Dialect{{Name: "bad", Declaration: "none"}}, nil
}

func (backend) GetModuleMap(context.Context) ([]sdk.Module, error) {
	return []sdk.Module{{Name: "bad.empty"}}, nil
}

func (backend) AddStages(context.Context, sdk.AddStagesRequest) ([]sdk.Stage, error) {
	return []sdk.Stage{{Name: "out", Pipeline: "count,count", Run: run}}, nil
}

// RunPasses adds a line for each pass, with a number that no other has.
func (backend) RunPasses(_ context.Context, req sdk.RunPassesRequest) (sdk.RunPassesResponse, error) {
	resp := sdk.RunPassesResponse{Output: req.Input}
	if !strings.Contains(req.Input, "module") {
		return resp, &sdk.Diagnostic{File: req.InputName, Line: 1, Column: 1, Message: "no module"}
	}
	for name := range strings.SplitSeq(req.Pipeline, ",") {
		switch name {
		case "":
		case "count":
			resp.Output += fmt.Sprintf("// count %d\n", calls.Add(1))
			resp.Dumps = append(resp.Dumps, sdk.PassText{Name: name, Text: resp.Output})
		default:
			return resp, sdk.Errorf("no pass %s", name)
		}
	}
	return resp, nil
}

var calls atomic.Int64

func run(_ context.Context, in *sdk.StageInput) ([]byte, error) {
	switch n := len(in.Data); {
	case n < 100:
		return nil, fmt.Errorf("no kernel") // of the machine, it says so
	case n > 1<<20:
		os.Exit(3)
	}
	calls.Add(1)
	fmt.Fprintln(stdout, "compiling", in.Metadata["name"])
	if err := exec.Command("sleep", "3").Start(); err != nil { // and never ends it
		return nil, err
	}
	time.Sleep(30 * time.Millisecond)
	return fmt.Append(nil, os.Getpid(), calls.Load()), nil
}
