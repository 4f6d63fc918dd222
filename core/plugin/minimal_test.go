package plugin

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin/process"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// built is the folder of the backends that the tests build; TestMain makes it.
var built string

func TestMain(m *testing.M) {
	process.Trampoline()
	if len(os.Args) > 1 && os.Args[1] == "act-as-host" {
		actAsHost(os.Args[2:])
		return
	}
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == Prefix+"bare" {
		serveBare()
		return
	}
	if versions, ok := strings.CutPrefix(filepath.Base(os.Args[0]), Prefix+"speaks-"); ok {
		speak(strings.TrimSuffix(versions, ".exe"))
		return
	}
	os.Exit(func() int {
		var err error
		if built, err = os.MkdirTemp("", "tritonc-plugins"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(built)
		return m.Run()
	}())
}

// buildBackend builds the program in the module at dir as the backend name, in
// a folder of its own, and returns that folder. Nothing is downloaded: what it
// needs is what the tests' own module needs.
func buildBackend(t testing.TB, name, dir string) string {
	t.Helper()
	out := filepath.Join(built, name)
	file := filepath.Join(out, Prefix+name)
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	if _, err := os.Stat(file); err == nil {
		return out
	}
	cmd := exec.Command("go", "build", "-o", file, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=readonly -buildvcs=false", "GOPROXY=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build in %s: %v\n%s", dir, err, text)
	}
	return out
}

func minimalDir(t testing.TB) string {
	return buildBackend(t, "minimal", filepath.FromSlash("../../examples/backends/minimal"))
}

func newHost(t testing.TB, opts Options) *Host {
	t.Helper()
	if opts.LookupEnv == nil {
		opts.LookupEnv = homeless
	}
	h := New(opts)
	t.Cleanup(func() { h.Close() })
	return h
}

// homeless is the environment without a place to keep anything between tests.
func homeless(key string) (string, bool) {
	if key == "HOME" || key == "XDG_CACHE_HOME" {
		return "", false
	}
	return os.LookupEnv(key)
}

const someTTIR = `module {
  tt.func public @add(%x: !tt.ptr<f32>) attributes {noinline = false} {
    %0 = tt.get_program_id x : i32
    %1 = tt.addptr %x, %0 : !tt.ptr<f32>, i32
    %2 = tt.load %1 : !tt.ptr<f32>
    %3 = arith.addf %2, %2 : f32
    %4 = arith.addf %3, %3 : f32
    tt.store %1, %4 : !tt.ptr<f32>
    tt.return
  }
}
`

// TestMinimal compiles with the example backend, as core will.
func TestMinimal(t *testing.T) {
	ctx := context.Background()
	h := newHost(t, Options{Dirs: []string{minimalDir(t)}})
	target, err := sdk.ParseTarget("minimal:any")
	if err != nil {
		t.Fatal(err)
	}
	b, target, err := h.Select(ctx, target)
	if err != nil {
		t.Fatal(err)
	}
	if target.WarpSize != 1 {
		t.Errorf("the target was not completed: %v", target)
	}
	opts, err := b.ParseOptions(ctx, sdk.ParseOptionsRequest{Target: target, OptionsJSON: `{"sort":"count"}`})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"num_warps":4,"sort":"count"}`; opts.OptionsJSON != want {
		t.Errorf("options %s, want %s", opts.OptionsJSON, want)
	}
	stages, err := b.AddStages(ctx, sdk.AddStagesRequest{Target: target, OptionsJSON: opts.OptionsJSON})
	if err != nil || len(stages.Stages) != 1 {
		t.Fatalf("stages %v, %v", stages, err)
	}
	resp, err := b.RunStages(ctx, sdk.RunStagesRequest{
		Target: target, OptionsJSON: opts.OptionsJSON, First: "ops", Last: "ops", Input: []byte(someTTIR), InputName: "x.ttir",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "   2 arith.addf\n   1 module\n   1 tt.addptr\n   1 tt.func\n   1 tt.get_program_id\n   1 tt.load\n   1 tt.return\n   1 tt.store\n"
	if got := string(resp.Artifact("ops")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if want := `{"name":"add","num_warps":4,"shared":0,"sort":"count","target":{"arch":"any","backend":"minimal","warp_size":1}}`; resp.MetadataJSON != want {
		t.Errorf("metadata %s, want %s", resp.MetadataJSON, want)
	}
}

// TestMinimalMistakes: what the user does wrong comes back as diagnostics.
func TestMinimalMistakes(t *testing.T) {
	ctx := context.Background()
	h := newHost(t, Options{Dirs: []string{minimalDir(t)}})
	b, err := h.Backend("minimal")
	if err != nil {
		t.Fatal(err)
	}
	target := sdk.Target{Backend: "minimal", Arch: "any"}
	_, err = b.ParseOptions(ctx, sdk.ParseOptionsRequest{Target: target, OptionsJSON: `{"num_warp":2,"sort":"size"}`})
	l := diag.All(err)
	if len(l) != 2 {
		t.Fatalf("got %v, want two diagnostics", err)
	}
	if !strings.Contains(l[0].Message, `"size" is none of name, count`) {
		t.Errorf("message %q", l[0].Message)
	}
	if !strings.Contains(l[1].Help, "did you mean num_warps?") {
		t.Errorf("help %q", l[1].Help)
	}
	_, err = b.RunStages(ctx, sdk.RunStagesRequest{
		Target: target, OptionsJSON: `{}`, First: "ops", Last: "ops", Input: []byte("nothing"), InputName: "x.ttir",
	})
	if l := diag.All(err); len(l) != 1 || l[0].Pos != (diag.Pos{File: "x.ttir", Line: 1, Col: 1}) {
		t.Errorf("got %v, want one diagnostic at x.ttir:1:1", err)
	}
	if _, err := b.RunPasses(ctx, sdk.RunPassesRequest{}); err == nil || !strings.Contains(err.Error(), "does not serve RunPasses") {
		t.Errorf("RunPasses: %v", err)
	}
}

// TestSelectNothing: the error of an unsupported target lists what is there.
func TestSelectNothing(t *testing.T) {
	h := newHost(t, Options{Dirs: []string{minimalDir(t)}})
	_, _, err := h.Select(context.Background(), sdk.Target{Backend: "cuda", Arch: "70"})
	l := diag.All(err)
	if len(l) != 1 || !strings.Contains(l[0].Message, "cuda:70") || !strings.Contains(l[0].Help, "minimal: minimal:*") {
		t.Errorf("got %v", err)
	}
	empty := newHost(t, Options{Dirs: []string{t.TempDir()}})
	_, _, err = empty.Select(context.Background(), sdk.Target{Backend: "cuda", Arch: "70"})
	if l := diag.All(err); len(l) != 1 || !strings.Contains(l[0].Message, "none was found") {
		t.Errorf("got %v", err)
	}
}
