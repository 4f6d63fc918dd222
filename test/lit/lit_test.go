package lit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/dialects"
	"github.com/tritonc/tritonc/backends/nvidia/nvws"
	"github.com/tritonc/tritonc/backends/nvidia/tti"
	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/llvm"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/driver/simulated"
	"github.com/tritonc/tritonc/internal/kerneltest"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// litEnv names the folder of .mlir files whose functions are executed.
const litEnv = "TRITONC_LIT"

// allEnv has functions of all files executed, not only of those that a RUN line lowers.
const allEnv = "TRITONC_LIT_ALL"

// outcome is what became of a function.
type outcome string

const (
	apart    outcome = "not a kernel"
	refused  outcome = "refused"
	found    outcome = "reported by the simulator"
	clean    outcome = "ran clean"
	mistaken outcome = "a fault of the compiler"
)

// result is the outcome of one function, and why.
type result struct {
	place, function string
	outcome         outcome
	why             string
	args            []launch.Arg // after the launch
	compared        int          // arrays that must be copies of others
}

// TestFolder executes the functions of a folder's files that a RUN line lowers to LLVM IR,
// and counts. Crashes of the compiler and PTX that is not valid fail it.
func TestFolder(t *testing.T) {
	dir := os.Getenv(litEnv)
	if dir == "" {
		t.Skip(litEnv + " names no folder of .mlir files")
	}
	var results []result
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".mlir" || strings.Contains(path, "/amd/") {
			return err
		}
		src, err := os.ReadFile(path)
		if err == nil && (os.Getenv(allEnv) != "" || lowers.Match(src)) {
			results = append(results, execute(t, path, string(src))...)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	count(t, results)
	for _, r := range results {
		if r.outcome == mistaken {
			t.Errorf("%s: %s: %s", r.place, r.function, r.why)
		} else {
			t.Logf("%s: %s: %s: %s", r.place, r.function, r.outcome, r.why)
		}
	}
}

// TestOutcomes executes functions of ours, before each of which stands what becomes of it.
func TestOutcomes(t *testing.T) {
	src, err := os.ReadFile("testdata/outcomes.mlir")
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]outcome{}
	for _, m := range expected.FindAllStringSubmatch(string(src), -1) {
		wanted[m[2]] = outcome(m[1])
	}
	results := execute(t, "outcomes.mlir", string(src))
	if len(results) != len(wanted) {
		t.Errorf("%d functions, and %d outcomes are expected", len(results), len(wanted))
	}
	for _, r := range results {
		if r.outcome != wanted[r.function] {
			t.Errorf("%s: %s (%s), want %s", r.function, r.outcome, r.why, wanted[r.function])
		}
		if want := map[string]int{"converts": 1, "reads_a_buffer": 1}[r.function]; r.compared != want {
			t.Errorf("%s: %d tensors were compared, want %d", r.function, r.compared, want)
		}
		switch r.function {
		case "converts", "row_of_an_array", "copies_that_arrive":
			x, y := r.args[0].Value.(*array.Array), r.args[1].Value.(*array.Array)
			kerneltest.Equal(t, "what is converted", y, x.Floats())
		case "calls":
			kerneltest.Equal(t, "what is returned", r.args[1].Value.(*array.Array), []float64{16})
		}
	}
}

var expected = regexp.MustCompile(`// outcome: (.*)\n *tt.func .*@(\w+)`)

var (
	lowers     = regexp.MustCompile(`RUN:.*-convert-(triton-gpu|warp-specialize)-to-llvm`)
	capability = regexp.MustCompile(`RUN:.*compute-capability=(\d+)`)
)

// count logs how many functions there are of each outcome and reason.
func count(t *testing.T, results []result) {
	type reason struct {
		outcome outcome
		why     string
	}
	outcomes, reasons := map[outcome]int{}, map[reason]int{}
	for _, r := range results {
		outcomes[r.outcome]++
		reasons[reason{r.outcome, r.why}]++
	}
	compared := 0
	for _, r := range results {
		compared += r.compared
	}
	t.Logf("%d functions; %d tensors that one only moves were compared", len(results), compared)
	for _, o := range []outcome{clean, found, refused, apart, mistaken} {
		t.Logf("%5d %s", outcomes[o], o)
		var list []reason
		for r := range reasons {
			if r.outcome == o && o != clean {
				list = append(list, r)
			}
		}
		slices.SortFunc(list, func(a, b reason) int {
			return cmp.Or(cmp.Compare(reasons[b], reasons[a]), cmp.Compare(a.why, b.why))
		})
		for _, r := range list {
			t.Logf("      %5d %s", reasons[r], r.why)
		}
	}
}

// execute executes the functions of a file.
func execute(t *testing.T, path, src string) []result {
	target := "cuda:80"
	if m := capability.FindStringSubmatch(src); m != nil {
		target = "cuda:" + m[1]
	}
	var results []result
	line := 1
	for part := range strings.SplitSeq(src, "// -----") {
		place := fmt.Sprintf("%s:%d", filepath.Base(path), line)
		line += strings.Count(part, "\n")
		names, err := functions(part)
		if err != nil {
			results = append(results, result{place: place, outcome: apart, why: "its module is refused: " + err.Error()})
		}
		for _, name := range names {
			r := run(t, part, name, target)
			r.place, r.function = place, name
			results = append(results, r)
		}
	}
	return results
}

func parse(src string) (*ir.Operation, error) {
	ctx := dialect.NewContext(ttng.Dialect(), nvws.Dialect(), dialects.NVG(), dialects.NVVM(), dialects.Proton(), dialects.ProtonGPU(), tti.Dialect())
	m, err := text.Parse(ctx, "module.mlir", []byte(src))
	if err != nil {
		return nil, err
	}
	if err := ir.Verify(m); err != nil {
		return nil, err
	}
	return m, nil
}

// functions are the names of a module's functions.
func functions(src string) ([]string, error) {
	if !strings.Contains(src, "func") {
		return nil, nil
	}
	m, err := parse(src)
	if err != nil {
		return nil, err
	}
	var names []string
	for op := range m.Body().Ops() {
		if op.Is(tt.Func) || op.Is(llvm.Func) {
			names = append(names, op.SymbolName())
		}
	}
	return names, nil
}

// run executes one function.
func run(t *testing.T, src, name, target string) (r result) {
	defer func() {
		if p := recover(); p != nil {
			r.outcome, r.why = mistaken, fmt.Sprint(p)
		}
	}()
	m, err := parse(src)
	if err != nil {
		return result{outcome: apart, why: err.Error()}
	}
	fn := ir.LookUp(m, name)
	if !fn.Is(tt.Func) {
		return result{outcome: apart, why: "it is a function of the LLVM dialect"}
	}
	target, err = targetOf(m, target)
	if err != nil {
		return result{outcome: apart, why: err.Error()}
	}
	m.SetAttr("ttg.target", m.Context().StringAttr(target))
	params, err := makeKernel(m, fn)
	if err != nil {
		return result{outcome: apart, why: err.Error()}
	}
	if err := ir.Verify(m); err != nil {
		return result{outcome: mistaken, why: fmt.Sprintf("the test makes no valid kernel of it: %v", err)}
	}
	args, err := arguments(params)
	if err != nil {
		return result{outcome: apart, why: err.Error()}
	}
	file := &core.Source{Path: "kernel.ttgir", Text: text.Append(nil, m, text.Options{})}
	err = launched(t, file, target, args)
	if err != nil && strings.Contains(err.Error(), "no usable llc was found") {
		t.Skip(err)
	}
	r = judge(err)
	r.args = args
	if r.outcome != clean {
		return r
	}
	for i, p := range params {
		if !p.copied {
			continue
		}
		r.compared++
		if !bytes.Equal(args[i].Value.(*array.Array).Data, args[p.of].Value.(*array.Array).Data) {
			r.outcome, r.why = mistaken, fmt.Sprintf("what it only moves to another layout is another: argument %d is not %d", i, p.of)
		}
	}
	return r
}

// targetOf is the target that a module names, else the one given; for one that nothing is
// compiled for, the greatest before it, or cuda:80.
func targetOf(m *ir.Operation, given string) (string, error) {
	target := cmp.Or(m.StringAttr("ttg.target"), given)
	digits, cuda := strings.CutPrefix(target, "cuda:")
	cc, err := strconv.Atoi(digits)
	if !cuda || err != nil {
		return "", notKernel{"its target is not one of CUDA's"}
	}
	n, _ := m.IntAttr("ttg.num-ctas")
	switch {
	case cc > 90, n > 1: // clusters
		cc = 90
	case cc < 80:
		cc = 80
	}
	return fmt.Sprintf("cuda:%d", cc), nil
}

// launched compiles a kernel and launches one program of it.
func launched(t *testing.T, source *core.Source, on string, args []launch.Arg) error {
	target, err := core.ParseTarget(on)
	if err != nil {
		return err
	}
	dev, err := simulated.New(target, simulated.Options{MaxInstructions: 1 << 22, Output: io.Discard})
	if err != nil {
		return diag.Errorf(diag.Pos{}, "%v", err)
	}
	defer dev.Close()
	k, err := launch.Compile(t.Context(), launch.Request{
		Source: source, Args: args, Target: target, Device: dev, Options: core.Options{Select: kerneltest.Select},
	})
	if err == nil {
		_, err = k.Run(t.Context(), kerneltest.Grid(1))
	}
	return err
}

// judge says what an error of a run means.
func judge(err error) result {
	var fault *driver.Fault
	switch {
	case err == nil:
		return result{outcome: clean}
	case errors.As(err, &fault):
		return result{outcome: found, why: general(fault.Findings[0].Message)}
	}
	var d *sdk.Diagnostic
	var arg *launch.ArgError
	all := diag.All(err)
	switch {
	case errors.As(err, &arg):
		return result{outcome: apart, why: general(arg.Text)}
	case strings.Contains(err.Error(), "BUG"):
	case errors.As(err, &d) && d.Kind != sdk.Bug:
		return result{outcome: refused, why: general(d.Message)}
	case len(all) > 0:
		return result{outcome: refused, why: general(all[0].Message)}
	}
	return result{outcome: mistaken, why: kerneltest.Text(err)}
}

var details = regexp.MustCompile(`%\w+|0x[0-9a-f]+|\d+|!?\w+(\.\w+)*<[^ ]*>+`)

// general is a message without what differs from one place to the next.
func general(message string) string { return details.ReplaceAllString(message, "…") }

// arguments are values for the parameters of a kernel: memory that is large enough, where
// a pointer of the function's own leads to with integers that are zero, elsewhere with
// small positive numbers; and scalars that are 1, 2, 3, so that a loop from the first to
// the second by the third ends.
func arguments(params []param) ([]launch.Arg, error) {
	r := rand.New(rand.NewPCG(1, 1))
	var args []launch.Arg
	scalars := int64(0)
	blocks := slices.ContainsFunc(params, func(p param) bool { return p.block != nil })
	for _, p := range params {
		name := typeName(p.elem)
		typ := array.Named(name)
		switch {
		case typ == nil:
			return nil, notKernel{"it takes " + kindOf(p.elem)}
		case p.shape == nil && typ.Float():
			args = append(args, launch.Arg{Value: 0.5, Type: name})
		case p.shape == nil:
			scalars++
			v := scalars
			if p.aligned || blocks { // an index of a block may be a number of bytes that hardware rounds
				v *= 16
			}
			if name == "i1" {
				v = 1
			}
			args = append(args, launch.Arg{Value: v, Type: name})
		default:
			shape := make([]int, len(p.shape))
			for i, n := range p.shape {
				shape[i] = int(n)
			}
			x := array.New(typ, shape...)
			switch {
			case typ.Float():
				x.Rand(r)
			case p.shape[0] != bufferSize: // a lock is free
				x.Randint(r, 1, 4)
			}
			if p.block == nil {
				args = append(args, launch.Arg{Value: x})
			} else {
				args = append(args, launch.Arg{Value: &launch.Descriptor{Array: x, Block: shape}})
			}
		}
	}
	return args, nil
}

// typeName is the name of an element type in package array; "" if there is none.
func typeName(t ir.Type) string {
	switch t := t.(type) {
	case *ir.IntegerType:
		return fmt.Sprintf("i%d", t.Width)
	case *ir.IndexType, *tt.PtrType:
		return "i64"
	case *ir.FloatType:
		return map[ir.FloatKind]string{
			ir.F16: "fp16", ir.BF16: "bf16", ir.F32: "fp32", ir.F64: "fp64",
			ir.F8E4M3FN: "fp8e4nv", ir.F8E5M2: "fp8e5", ir.F8E4M3FNUZ: "fp8e4b8", ir.F8E5M2FNUZ: "fp8e5b16",
		}[t.Kind]
	}
	return ""
}
