package npu

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/internal/mlircpu"
)

// array is an argument in memory: numbers of an element type of MLIR.
type array struct {
	elem string
	data []float64
	out  bool // it is printed when the kernel has run
}

func (a *array) typ() ir.Type {
	t, err := text.ParseType(dialect.NewContext(), a.elem)
	if err != nil {
		panic(err)
	}
	return t
}

// bytes are the elements in memory.
func (a *array) bytes() []byte {
	var b []byte
	t := a.typ()
	for _, x := range a.data {
		bits := uint64(int64(x))
		if f, ok := t.(*ir.FloatType); ok {
			bits = ir.FloatToBits(f.Kind, x)
		}
		for i := range ir.BitWidth(t) / 8 {
			b = append(b, byte(bits>>(8*i)))
		}
	}
	return b
}

// set gives the array the elements of these bits.
func (a *array) set(bits []uint32) {
	t := a.typ()
	for i, v := range bits {
		switch t := t.(type) {
		case *ir.FloatType:
			a.data[i] = ir.BitsToFloat(t.Kind, uint64(v))
		default:
			a.data[i] = float64(int64(uint64(v)<<(64-ir.BitWidth(t))) >> (64 - ir.BitWidth(t)))
		}
	}
}

// run executes a kernel of the stage ttadapter on a simulated NPU, and where MLIR's tools
// are installed on the CPU, too, and compares the results. Arguments are *array or
// constants as MLIR writes them, with their types: "7 : i32".
func run(t *testing.T, kernel string, artifact []byte, grid [3]int, args ...any) {
	t.Helper()
	same := make([]any, len(args))
	for i, arg := range args {
		same[i] = arg
		if a, ok := arg.(*array); ok {
			same[i] = &array{elem: a.elem, data: slices.Clone(a.data), out: a.out}
		}
	}
	simulate(t, artifact, grid, args...)
	if _, err := exec.LookPath("mlir-runner-22"); err != nil {
		return
	}
	runOnCPU(t, kernel, artifact, grid, same...)
	for i, arg := range args {
		if a, ok := arg.(*array); ok && a.out {
			near(t, fmt.Sprintf("the CPU's argument %d", i), same[i].(*array).data, a.data, 4e-3)
		}
	}
}

// runOnCPU executes a kernel by MLIR's runner, for each program of a grid, one after the
// other.
func runOnCPU(t *testing.T, kernel string, artifact []byte, grid [3]int, args ...any) {
	t.Helper()
	opt, runner := needMLIR(t)
	input := filepath.Join(t.TempDir(), "kernel.mlir")
	if err := os.WriteFile(input, program(t, kernel, artifact, grid, args), 0o600); err != nil {
		t.Fatal(err)
	}
	lowered, err := exec.Command(opt, append([]string{input}, mlircpu.Pipeline(string(artifact))...)...).Output()
	if err != nil {
		t.Fatalf("mlir-opt-22: %v\n%s", err, stderrOf(err))
	}
	cmd := exec.Command(runner, "-e", "main", "-entry-point-result=void", "-O1", "-shared-libs="+runnerLibs(t, opt))
	cmd.Stdin = bytes.NewReader(lowered)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("mlir-runner-22: %v\n%s", err, stderrOf(err))
	}
	printed := regexp.MustCompile(`(?s)data = *\n(.*?\])`).FindAllStringSubmatch(string(out), -1)
	for _, arg := range args {
		a, ok := arg.(*array)
		if !ok || !a.out {
			continue
		}
		if len(printed) == 0 {
			t.Fatalf("mlir-runner-22 printed:\n%s", out)
		}
		var bits []uint32
		for _, s := range strings.FieldsFunc(printed[0][1], func(r rune) bool { return strings.ContainsRune("[], \n", r) }) {
			n, err := strconv.ParseInt(s, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			bits = append(bits, uint32(n))
		}
		if len(bits) != len(a.data) {
			t.Fatalf("mlir-runner-22 printed %d elements of %d", len(bits), len(a.data))
		}
		a.set(bits)
		printed = printed[1:]
	}
}

// stderrOf is what a command wrote before it failed.
func stderrOf(err error) []byte {
	if e, ok := err.(*exec.ExitError); ok {
		return e.Stderr
	}
	return nil
}

// runnerLibs are the libraries of MLIR's runner, beside a tool of its LLVM.
func runnerLibs(t *testing.T, tool string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(tool)
	if err != nil {
		t.Fatal(err)
	}
	var libs []string
	for _, name := range []string{"libmlir_runner_utils.so*", "libmlir_c_runner_utils.so*"} {
		pattern := filepath.Join(filepath.Dir(path), "..", "lib", name)
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Skipf("skipped: there is no %s (LLVM's package mlir-22-tools)", pattern)
		}
		libs = append(libs, found[0])
	}
	return strings.Join(libs, ",")
}

// program is a module with the kernel and a function main that calls it.
func program(t *testing.T, kernel string, artifact []byte, grid [3]int, args []any) []byte {
	t.Helper()
	f, err := text.ParseFile(dialect.NewContext(), "ttadapter", artifact)
	if err != nil {
		t.Fatal(err)
	}
	module := string(text.Append(nil, f.Op, text.Options{}))
	module = strings.TrimSuffix(strings.TrimSpace(module), "}")
	var b, main strings.Builder
	b.WriteString(module)
	b.WriteString("  func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}\n")
	line := func(format string, args ...any) { fmt.Fprintf(&main, "    "+format+"\n", args...) }
	line("%%c0 = arith.constant 0 : index")
	line("%%c1 = arith.constant 1 : index")
	var names, types []string
	for i, arg := range args {
		a, ok := arg.(*array)
		if !ok {
			line("%%a%d = arith.constant %s", i, arg)
			names = append(names, fmt.Sprintf("%%a%d", i))
			types = append(types, arg.(string)[strings.LastIndex(arg.(string), ":")+2:])
			continue
		}
		typ := fmt.Sprintf("memref<%dx%s>", len(a.data), a.elem)
		fmt.Fprintf(&b, "  memref.global \"private\" constant @in%d : %s = dense<\"0x%s\">\n", i, typ, strings.ToUpper(hex.EncodeToString(a.bytes())))
		line("%%g%d = memref.get_global @in%d : %s", i, i, typ)
		line("%%m%d = memref.alloc() : %s", i, typ)
		line("memref.copy %%g%d, %%m%d : %s to %s", i, i, typ, typ)
		line("%%a%d = memref.cast %%m%d : %s to memref<?x%s>", i, i, typ, a.elem)
		names = append(names, fmt.Sprintf("%%a%d", i))
		types = append(types, fmt.Sprintf("memref<?x%s>", a.elem))
	}
	for i, n := range grid {
		line("%%n%d = arith.constant %d : index", i, n)
		line("%%s%d = arith.constant %d : i32", i, n)
		names, types = append(names, fmt.Sprintf("%%s%d", i)), append(types, "i32")
	}
	for i := range grid {
		line("scf.for %%i%d = %%c0 to %%n%d step %%c1 {", i, i)
		line("%%p%d = arith.index_cast %%i%d : index to i32", i, i)
		names, types = append(names, fmt.Sprintf("%%p%d", i)), append(types, "i32")
	}
	line("func.call @%s(%s) : (%s) -> ()", kernel, strings.Join(names, ", "), strings.Join(types, ", "))
	for range grid {
		line("}")
	}
	for i, arg := range args {
		if a, ok := arg.(*array); ok && a.out {
			printBits(line, i, a)
		}
	}
	b.WriteString("  func.func @main() {\n" + main.String() + "    return\n  }\n}\n")
	return []byte(b.String())
}

// printBits prints the bits of an array's elements as numbers of 32 bits.
func printBits(line func(string, ...any), i int, a *array) {
	n, width := len(a.data), ir.BitWidth(a.typ())
	line("%%l%d = arith.constant %d : index", i, n)
	line("%%b%d = memref.alloc() : memref<%dxi32>", i, n)
	line("scf.for %%i = %%c0 to %%l%d step %%c1 {", i)
	line("  %%x0 = memref.load %%m%d[%%i] : memref<%dx%s>", i, n, a.elem)
	x := "%x0"
	if _, float := a.typ().(*ir.FloatType); float {
		line("  %%x1 = arith.bitcast %s : %s to i%d", x, a.elem, width)
		x = "%x1"
	}
	if width < 32 {
		line("  %%x2 = arith.extui %s : i%d to i32", x, width)
		x = "%x2"
	}
	line("  memref.store %s, %%b%d[%%i] : memref<%dxi32>", x, i, n)
	line("}")
	line("%%u%d = memref.cast %%b%d : memref<%dxi32> to memref<*xi32>", i, i, n)
	line("func.call @printMemrefI32(%%u%d) : (memref<*xi32>) -> ()", i)
}
