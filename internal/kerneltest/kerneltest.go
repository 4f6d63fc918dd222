package kerneltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/driver/sim"
	"github.com/tritonc/tritonc/driver/simulated"
	"github.com/tritonc/tritonc/internal/testseed"
)

// Kernel says which kernel to compile, and how.
type Kernel struct {
	// File is the path of a Python file; or Source is its text; or Given is it, with what
	// it imports.
	File, Source string
	Given        *core.Source
	// Name of the kernel; "" where there is only one.
	Name string
	// Target is a device as on the command line; "" is that of TargetEnv, else
	// cuda:80.
	Target string
	// Options are the backend's, by name: {"num_warps": 2}.
	Options Options
	// Sim configures the simulated device.
	Sim simulated.Options

	// Origin names the golden test whose kernel it is, for what Covered says.
	Origin string
}

// Options are compile options by name.
type Options = map[string]any

// Expr is a constant that the kernel's file evaluates: tl.float32, 'tf32'.
type Expr = launch.Expr

// Outcome is what a run left beside the arrays.
type Outcome struct {
	// Report is the simulated device's, nil of any other.
	Report *sim.Report
	// PTX is what was run, the text of another stage where the device takes that;
	// Signature is what followed from the arguments.
	PTX, Signature string
	// Printed is what the kernel printed.
	Printed string

	target  core.Target
	options Options // as the metadata have them, defaults included
}

// Blocks is how many blocks a program has.
func (o *Outcome) Blocks() int {
	if n, ok := o.options["num_ctas"].(float64); ok {
		return int(n)
	}
	return 1
}

// HasForm reports whether a claim about the form of the code, such as which instructions
// it has, applies. It holds where the kernel is compiled with certain options, of which
// OptionsEnv may set others; the test's log then says that the form is not checked. What
// a kernel computes does not depend on them, and is checked with all. Options that the
// target lacks hold. On targets of other vendors than NVIDIA no claim applies.
func (o *Outcome) HasForm(t testing.TB, holds Options) bool {
	t.Helper()
	if o.target.Backend != "cuda" {
		t.Logf("the form of the code is checked on NVIDIA's GPUs, the results alone on %s", o.target)
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(holds)) {
		if v, ok := o.options[name]; ok && fmt.Sprint(v) != fmt.Sprint(holds[name]) {
			t.Logf("the form of the code is checked with %s=%v, the results alone with %v", name, holds[name], v)
			return false
		}
	}
	return true
}

// With returns the kernel with further options.
func (k Kernel) With(options Options) Kernel {
	all := maps.Clone(k.Options)
	if all == nil {
		all = Options{}
	}
	maps.Copy(all, options)
	k.Options = all
	return k
}

// Warps returns the kernel with another number of warps.
func (k Kernel) Warps(n int) Kernel { return k.With(Options{"num_warps": n}) }

// On returns the kernel for another target.
func (k Kernel) On(target string) Kernel {
	k.Target = target
	return k
}

// CompiledFor is the target that the kernel is compiled for.
func (k Kernel) CompiledFor() string { return firstOf(everywhere, firstOf(k.Target, defaultTarget())) }

// Run compiles the kernel for its arguments and runs it on a grid. Arguments
// are in the order of the kernel's parameters: *array.Array for memory, Go
// numbers and bools, nil for None, []any for a tuple, Expr for other constants.
// Everything that goes wrong fails the test.
func (k Kernel) Run(t testing.TB, grid [3]int, args ...any) *Outcome {
	t.Helper()
	out, err := k.TryRun(t, grid, args...)
	if err != nil {
		if out != nil {
			t.Fatalf("%s\n%s", Text(err), out.PTX)
		}
		t.Fatal(Text(err))
	}
	return out
}

// Replace, where set, gives what is compiled in the place of a kernel with these
// arguments, and its own arguments; nil leaves it.
var Replace func(k Kernel, target core.Target, args []launch.Arg) (*core.Source, []launch.Arg)

// TryRun is Run that returns what went wrong; the outcome is nil when the
// kernel did not compile.
func (k Kernel) TryRun(t testing.TB, grid [3]int, args ...any) (*Outcome, error) {
	t.Helper()
	for {
		out, err := k.once(t, grid, args...)
		if !errors.Is(err, driver.ErrLost) { // else another test's kernel took the device along
			return out, err
		}
	}
}

func (k Kernel) once(t testing.TB, grid [3]int, args ...any) (*Outcome, error) {
	t.Helper()
	src, err := k.source()
	if err != nil {
		return nil, err
	}
	target, err := core.ParseTarget(k.CompiledFor())
	if err != nil {
		return nil, err
	}
	var printed strings.Builder
	dev, err := k.Open(t.Context(), target, &printed)
	if err != nil {
		return nil, err
	}
	defer dev.Close()
	stage := "ptx" // a driver that takes binaries takes it, too
	if d, _ := onDevice(); d == nil {
		stage = dev.Properties().Stage
	}
	opts := core.Options{Select: SelectBackend, Values: k.options(), Stages: []string{stage}}
	named, err := name(t.Context(), src, target, &opts, k.Name, args)
	if err != nil {
		return nil, err
	}
	kernel := k.Name
	if Replace != nil {
		if ir, passed := Replace(k, target, named); ir != nil {
			src, named, kernel = ir, passed, ""
		}
	}
	compiled, err := compile(t, launch.Request{
		Source: src, Kernel: kernel, Args: named, Target: target, Device: dev,
		Options: opts,
	})
	if err != nil {
		if strings.Contains(err.Error(), "no usable llc was found") {
			if dir := os.Getenv(StoreEnv); dir != "" {
				return nil, fmt.Errorf("%s=%s does not have what this kernel compiles to: %w", StoreEnv, dir, err)
			}
			t.Skip(err)
		}
		return nil, err
	}
	out := &Outcome{target: target, Signature: compiled.Signature, PTX: string(compiled.Compiled.Artifact(stage).Data)}
	ctx := t.Context()
	if d, _ := onDevice(); d != nil {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, launchLimit)
		defer cancel()
	}
	if err := json.Unmarshal(compiled.Compiled.Metadata, &out.options); err != nil {
		return out, fmt.Errorf("metadata: %w", err)
	}
	result, err := compiled.Run(ctx, grid)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("the kernel did not end within %v: %w", launchLimit, err)
	}
	out.Printed = printed.String()
	if err == nil {
		noteKernel(k, target)
	}
	if result != nil {
		out.Report, _ = result.Report.(*sim.Report)
	}
	if err == nil && stage == "ptx" {
		err = noteForms(t, out)
	}
	return out, err
}

// compile is launch.Compile in which a panic is the test's failure, not the
// process's.
func compile(t testing.TB, req launch.Request) (k *launch.Kernel, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the compiler panics: %v\n%s", p, debug.Stack())
		}
	}()
	return launch.Compile(t.Context(), req)
}

func (k Kernel) source() (*core.Source, error) {
	if k.Given != nil {
		return k.Given, nil
	}
	if k.File == "" {
		return &core.Source{Path: "kernel.py", Text: []byte(k.Source)}, nil
	}
	text, err := os.ReadFile(k.File)
	return &core.Source{Path: k.File, Text: text}, err
}

// name gives arguments by position their parameters' names.
func name(ctx context.Context, src *core.Source, target core.Target, opts *core.Options, kernel string, args []any) ([]launch.Arg, error) {
	info, err := launch.Info(ctx, src, target, opts, kernel)
	if err != nil {
		return nil, err
	}
	if len(args) > len(info.Params) {
		return nil, fmt.Errorf("%s has %d parameters, given %d arguments", info.Name, len(info.Params), len(args))
	}
	named := make([]launch.Arg, len(args))
	for i, a := range args {
		named[i] = launch.Arg{Name: info.Params[i].Name, Value: value(a)}
	}
	return named, nil
}

// value widens Go's numbers to those that package launch takes.
func value(a any) any {
	switch v := a.(type) {
	case int:
		return int64(v)
	case int32:
		return int64(v)
	case uint32:
		return int64(v)
	case float32:
		return float64(v)
	case []any:
		t := make(launch.Tuple, len(v))
		for i := range v {
			t[i].Value = value(v[i])
		}
		return t
	}
	return a
}

// Text is an error as the command would print it.
func Text(err error) string {
	var b strings.Builder
	for _, d := range diag.All(err) {
		diag.Fprint(&b, d)
	}
	if b.Len() > 0 {
		return b.String()
	}
	var arg *launch.ArgError
	if errors.As(err, &arg) && arg.Help != "" {
		return arg.Error() + "\n  help: " + arg.Help
	}
	return err.Error()
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// Grid makes a grid of one to three dimensions.
func Grid(n ...int) [3]int { return sim.Dim(n...) }

// Rand returns a source of fresh random numbers and logs its seed, which
// TRITONC_SEED repeats.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := testseed.Seed()
	t.Logf("%s=%d", testseed.Env, seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func dtype(name string) *array.DType {
	d := array.Named(name)
	if d == nil {
		panic("BUG: no element type " + name + "; there are " + array.Names())
	}
	return d
}

// Empty makes an array that nobody has written: what a kernel does not write
// of it stays poison, and what it reads is reported.
func Empty(typ string, shape ...int) *array.Array { return array.Empty(dtype(typ), shape...) }

// Zeros makes an array of zeros.
func Zeros(typ string, shape ...int) *array.Array { return array.New(dtype(typ), shape...) }

// Full makes an array of one value.
func Full(v float64, typ string, shape ...int) *array.Array { return Zeros(typ, shape...).Fill(v) }

// Randn makes an array of normal values, Rand of [0, 1), Randint of integers in
// [lo, hi).
func Randn(r *rand.Rand, typ string, shape ...int) *array.Array { return Zeros(typ, shape...).Randn(r) }

// Uniform makes an array of values in [0, 1).
func Uniform(r *rand.Rand, typ string, shape ...int) *array.Array {
	return Zeros(typ, shape...).Rand(r)
}

// Randint makes an array of integers in [lo, hi).
func Randint(r *rand.Rand, lo, hi int64, typ string, shape ...int) *array.Array {
	return Zeros(typ, shape...).Randint(r, lo, hi)
}

// Near fails the test where |got - want| > atol + rtol·|want|.
func Near(t testing.TB, what string, got *array.Array, want []float64, rtol, atol float64) {
	t.Helper()
	ref := array.Of(array.Named("fp64"), want...)
	m, err := array.Compare(got, ref, rtol, atol)
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if m != nil {
		t.Errorf("%s: %s", what, m)
	}
}

// Equal fails the test where elements are not the same; NaNs are.
func Equal(t testing.TB, what string, got *array.Array, want []float64) {
	t.Helper()
	Near(t, what, got, want, 0, 0)
}
