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
// numbers. build gives the code of each; numbers are floats, results of typ.
type loops struct {
	m    *llir.Module
	text strings.Builder
}

func newLoops() *loops { return &loops{m: llir.NewModule("", "", "")} }

func (l *loops) add(prefix string, s *spec, f *Function, typ llir.Type) {
	inner := "inner_" + prefix + s.label()
	emitInto(l.m, inner, f, typ)
	// Numbers of another type are converted first.
	convert := "%a = bitcast float %v to float"
	if typ == llir.F64 {
		convert = "%a = fpext float %v to double"
	}
	l.text.WriteString(strings.NewReplacer("NAME", prefix+s.label(), "INNER", inner, "TYPE", typ.String(), "CONVERT", convert).Replace(`
define void @NAME(ptr noalias %x, ptr noalias %y, i64 %n) {
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %px = getelementptr float, ptr %x, i64 %i
  %v = load float, ptr %px
  CONVERT
  %r = call TYPE @INNER(TYPE %a)
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
		fmt.Fprintf(&rows, "ROW(%s)\n", s.label())
		if c := natural[s.name]; c != "" {
			fmt.Fprintf(&ofC, "ROW(%s, %s)\n", s.label(), c)
		} else {
			exact.add("exact_", s, Find(s.name), llir.F64)
		}
	}
	write("rows.h", rows.String())
	write("exact.h", ofC.String())
	// -ffast-math must not see the program linked: it would flush subnormal numbers.
	library, program := filepath.Join(dir, "c.o"), filepath.Join(dir, "sweep")
	run(nil, "gcc", "-O3", "-march=native", "-ffast-math", "-I", dir, "-c", "-o", library, "testdata/exact.c")
	run(nil, "gcc", "-O2", "-march=native", "-I", dir, "-o", program, "testdata/sweep.c", library,
		object("written", "off", written), object("fused", "fast", fused), object("exact", "off", exact), "-lmvec", "-lm")
	return program
}
