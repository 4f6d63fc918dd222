// The backend of the host's tests. How it misbehaves is in its file name,
// tritonc-backend-<mode>, or in the stage that it is asked to run.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func main() {
	mode := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(os.Args[0]), "tritonc-backend-"), ".exe")
	countStart()
	misbehave(mode)
	switch mode {
	case "noisy":
		fmt.Println("loading my tables")
	case "other-protocol":
		fmt.Println("1|99|unix|/nowhere|grpc|")
		time.Sleep(time.Minute)
	case "exits":
		fmt.Fprintln(os.Stderr, "libfoo.so.3: cannot open shared object file")
		os.Exit(3)
	case "panics":
		panic("no tables")
	case "deaf":
		fmt.Println("1|1|unix|/nowhere|grpc|")
		time.Sleep(time.Minute)
	case "hangs":
		time.Sleep(time.Minute)
	}
	sdk.ServeBackend(backend{mode})
}

// countStart adds a line to the file <program>.starts, where there is one.
func countStart() {
	if f, err := os.OpenFile(os.Args[0]+".starts", os.O_APPEND|os.O_WRONLY, 0); err == nil {
		fmt.Fprintln(f, os.Getpid())
		f.Close()
	}
}

// version is what the file <program>.version says.
func version() string {
	if text, err := os.ReadFile(os.Args[0] + ".version"); err == nil {
		return string(text)
	}
	return "0"
}

// The descriptors as C code has them: go-plugin replaces os.Stdout and os.Stderr.
// They are kept, for a collected file is a closed one.
var (
	descriptor1 = os.NewFile(1, "descriptor 1")
	realStderr  = os.Stderr
)

type backend struct{ mode string }

func (b backend) Describe(context.Context) (sdk.Facts, error) {
	if b.mode == "describe-panics" {
		panic("no facts")
	}
	if b.mode == "describe-hangs" {
		time.Sleep(time.Minute)
	}
	facts := sdk.Facts{
		Name: b.mode, Version: version(), Hash: "h",
		Targets: []sdk.TargetFacts{{Pattern: "test:*", WarpSize: 32, WarpSizes: []int{64}}},
		Settings: []sdk.SettingSpec{
			{Name: "assembler", Env: []string{"TEST_FIRST", "TEST_SECOND"}},
			{Name: "memory", Env: []string{"TEST_MEMORY"}, Limit: true},
		},
	}
	// A mode declares-x-y has the targets x:* and declares the dialect y.
	if what, ok := strings.CutPrefix(b.mode, "declares-"); ok {
		owner, _, _ := strings.Cut(what, "-")
		facts.Targets[0].Pattern = owner + ":*"
	}
	return facts, nil
}

func (b backend) LoadDialects(context.Context) ([]sdk.Dialect, error) {
	what, ok := strings.CutPrefix(b.mode, "declares-")
	if !ok {
		return nil, nil
	}
	owner, dialect, _ := strings.Cut(what, "-")
	return []sdk.Dialect{{Name: dialect, Declaration: "by " + owner}}, nil
}

func (backend) GetModuleMap(context.Context) ([]sdk.Module, error) {
	return []sdk.Module{{Name: "made.by", Source: fmt.Sprintf("pid = %d\n", os.Getpid())}}, nil
}

func (backend) ParseOptions(_ context.Context, req sdk.ParseOptionsRequest) (sdk.ParseOptionsResponse, error) {
	return sdk.ParseOptionsResponse{OptionsJSON: "{}"}, nil
}

func (backend) AddStages(context.Context, sdk.AddStagesRequest) ([]sdk.Stage, error) {
	return []sdk.Stage{{Name: "echo", Ending: "txt"}}, nil
}

// ListTools names the assembler's bytes, wherever it is, and a linker that seldom runs.
func (backend) ListTools(_ context.Context, req sdk.ListToolsRequest) (sdk.ListToolsResponse, error) {
	path := req.Settings["assembler"]
	return sdk.ListToolsResponse{
		Tools:    []sdk.ToolInfo{{Name: "assembler", Path: path, SHA256: filepath.Base(path)}, {Name: "linker", SHA256: path}, {Name: "linker/lib", SHA256: path}},
		LookedAt: []string{path}, Settings: []string{"assembler"}, WhenRun: []string{"linker"},
	}, nil
}

func (backend) RunPasses(_ context.Context, req sdk.RunPassesRequest) (sdk.RunPassesResponse, error) {
	return sdk.RunPassesResponse{Output: req.Pipeline + ":" + req.Input}, nil
}

func (backend) RunStages(ctx context.Context, req sdk.RunStagesRequest) (sdk.RunStagesResponse, error) {
	answer := func(text string) (sdk.RunStagesResponse, error) {
		return sdk.RunStagesResponse{Artifacts: []sdk.Artifact{{Stage: req.First, Data: []byte(text)}}}, nil
	}
	sdk.ReportProgress(ctx, sdk.Progress{Stage: req.First})
	switch req.First {
	case "echo":
		sdk.ReportProgress(ctx, sdk.Progress{Stage: "echo", Text: "about to answer"}) // is sent at once
		return sdk.RunStagesResponse{Artifacts: []sdk.Artifact{{Stage: req.First, Data: req.Input}}, MetadataJSON: req.MetadataJSON}, nil
	case "count":
		return answer(fmt.Sprint(len(req.Input)))
	case "pid":
		return answer(fmt.Sprint(os.Getpid()))
	case "parent":
		return answer(sdk.TraceParent(ctx))
	case "env":
		return answer(strings.Join(os.Environ(), "\n"))
	case "settings":
		return answer(req.Settings["assembler"])
	case "socket":
		return answer(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"))
	case "stdin":
		n, err := os.Stdin.Read(make([]byte, 1))
		return answer(fmt.Sprint(n, " ", err))
	case "panic":
		var p *int
		return answer(fmt.Sprint(*p))
	case "goroutine-panic":
		go panic("lost my goroutine")
		time.Sleep(time.Minute)
	case "exit":
		os.Exit(4)
	case "wait":
		// Tells that it runs, in the file named by the input.
		if err := os.WriteFile(string(req.Input), nil, 0o600); err != nil {
			return sdk.RunStagesResponse{}, err
		}
		<-ctx.Done()
		return sdk.RunStagesResponse{}, ctx.Err()
	case "tool":
		// The tool writes its number into the file named by the input.
		_, err := sdk.Command{
			Path: "sh", Args: []string{"-c", `echo $$ > "$0.new" && mv "$0.new" "$0" && exec sleep 60`, string(req.Input)},
		}.Run(ctx)
		return sdk.RunStagesResponse{}, err
	case "leave-behind":
		// A careless child: it inherits the outputs and outlives the backend.
		cmd := exec.Command("sh", "-c", `echo $$ > "$0" && exec sleep 60`, string(req.Input))
		cmd.Stdout, cmd.Stderr = realStderr, realStderr
		if err := cmd.Start(); err != nil {
			return sdk.RunStagesResponse{}, err
		}
		return answer("left")
	case "print":
		fmt.Println("a word through fmt")
		// As C code would: lines longer than go-plugin's scanner reads.
		line := []byte(strings.Repeat("x", 200<<10) + "\n")
		if _, err := descriptor1.Write(line); err != nil {
			return sdk.RunStagesResponse{}, err
		}
		return answer("printed")
	case "log":
		sdk.Logger(ctx).Info("from the backend", "n", 7)
		sdk.ReportProgress(ctx, sdk.Progress{Stage: "log", Fraction: 0.25, Text: "placing registers"})
		return answer("logged")
	case "chatter":
		// As many lines as the input says, after the number of the call.
		call, n := 0, 0
		if _, err := fmt.Sscan(string(req.Input), &call, &n); err != nil {
			return sdk.RunStagesResponse{}, err
		}
		for i := range n {
			sdk.Logger(ctx).Warn("from the backend", "call", call, "line", i)
		}
		return answer("logged")
	case "environment":
		return sdk.RunStagesResponse{Artifacts: []sdk.Artifact{{Stage: "half", Data: []byte("done")}}}, fmt.Errorf("disk full")
	}
	text, known, err := misdo(ctx, req.First, string(req.Input))
	switch {
	case err != nil:
		return sdk.RunStagesResponse{}, err
	case known:
		return answer(text)
	}
	return sdk.RunStagesResponse{}, sdk.Errorf("no stage %s", req.First)
}
