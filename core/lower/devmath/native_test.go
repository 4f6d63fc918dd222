package devmath

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/llir"
)

// loops is a module with loops over functions: PREFIX_NAME(x, y, n) computes n
// numbers, those of further arguments lying blockSize apart. add takes the code of
// each; numbers are floats, results of typ.
type loops struct {
	m    *llir.Module
	text strings.Builder
}

// blockSize is how many numbers a loop gets at most.
const blockSize = 1024

func newLoops() *loops { return &loops{m: llir.NewModule("", "", "")} }

func (l *loops) add(prefix string, s *spec, f *Function, typ llir.Type) {
	inner := "inner_" + prefix + s.label()
	emitInto(l.m, inner, f, typ)
	// Numbers of another type are converted first.
	convert := "bitcast float %%v%d to float"
	if typ == llir.F64 {
		convert = "fpext float %%v%d to double"
	}
	var loads strings.Builder
	var args []string
	for i := range f.Args {
		fmt.Fprintf(&loads, "  %%i%[1]d = add i64 %%i, %[2]d\n  %%px%[1]d = getelementptr float, ptr %%x, i64 %%i%[1]d\n"+
			"  %%v%[1]d = load float, ptr %%px%[1]d\n  %%a%[1]d = %[3]s\n", i, i*blockSize, fmt.Sprintf(convert, i))
		args = append(args, fmt.Sprintf("%s %%a%d", typ, i))
	}
	l.text.WriteString(strings.NewReplacer("NAME", prefix+s.label(), "INNER", inner, "TYPE", typ.String(), "LOADS", loads.String(),
		"ARGS", strings.Join(args, ", ")).Replace(`
define void @NAME(ptr noalias %x, ptr noalias %y, i64 %n) {
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
LOADS
  %r = call TYPE @INNER(ARGS)
  %py = getelementptr TYPE, ptr %y, i64 %i
  store TYPE %r, ptr %py
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
`))
}

func (l *loops) print() []byte { return append(l.m.Print(), l.text.String()...) }

// sweeper compiles the functions for this machine, several numbers at a time where it
// can, with what they are compared with and testdata/sweep.c to a program.
func sweeper(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"llc-22", "opt-22", "gcc"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not installed: nothing to compile the functions with")
		}
	}
	dir := t.TempDir()
	triple, err := exec.Command("gcc", "-dumpmachine").Output()
	if err != nil {
		t.Fatal(err)
	}
	run := func(in []byte, name string, args ...string) {
		cmd := exec.Command(name, args...)
		cmd.Stdin = bytes.NewReader(in)
		if msg, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, msg)
		}
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	object := func(name, contract string, l *loops) string {
		fast, out := filepath.Join(dir, name+".ll"), filepath.Join(dir, name+".o")
		run(l.print(), "opt-22", "-O3", "-mtriple="+strings.TrimSpace(string(triple)), "-mcpu=native", "-inline-threshold=1000000", "-S", "-o", fast, "-")
		run(nil, "llc-22", "-O2", "-mcpu=native", "-relocation-model=pic", "-fp-contract="+contract, "-filetype=obj", "-o", out, fast)
		return out
	}
	written, fused, exact := newLoops(), newLoops(), newLoops()
	var rows, ofC strings.Builder
	for _, s := range sweepSpecs() {
		v := s.variants()
		written.add("written_", s, v[0].f, llir.F32)
		fused.add("fused_", s, v[1].f, llir.F32)
		others := "0" // no function
		if v[0].f.Args > 1 {
			if others = otherArguments[s.name]; others == "" {
				others = "near"
			}
		}
		fmt.Fprintf(&rows, "ROW(%s, %d, %s)\n", s.label(), v[0].f.Args, others)
		if c := natural[s.name]; c != "" {
			fmt.Fprintf(&ofC, "ROW(%s, %s, %d)\n", s.label(), c, v[0].f.Args)
		} else {
			exact.add("exact_", s, Find(s.name), llir.F64)
		}
	}
	block := fmt.Sprint("-DBLOCK=", blockSize)
	write("rows.h", rows.String())
	write("exact.h", ofC.String())
	// -ffast-math must not see the program linked: it would flush subnormal numbers.
	library, program := filepath.Join(dir, "c.o"), filepath.Join(dir, "sweep")
	run(nil, "gcc", "-O3", "-march=native", "-ffast-math", block, "-I", dir, "-c", "-o", library, "testdata/exact.c")
	run(nil, "gcc", "-O2", "-march=native", block, "-I", dir, "-o", program, "testdata/sweep.c", "testdata/functions.c", library,
		object("written", "off", written), object("fused", "fast", fused), object("exact", "off", exact), "-lmvec", "-lm")
	return program
}
