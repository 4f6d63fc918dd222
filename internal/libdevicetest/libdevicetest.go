// Package libdevicetest has the tests that each vendor's library of device functions, as
// kernels import it, passes.
package libdevicetest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/llir"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// types are the types of signatures.
var types = map[string]llir.Type{
	"i1": llir.I32, "i32": llir.I32, "u32": llir.I32, "i64": llir.I64, "u64": llir.I64, "fp32": llir.F32, "fp64": llir.F64,
}

// Lower makes a function of m of each function, by lower, which gives nil for what it does
// not know. A result of another type than the signature's fails the test.
func Lower(t *testing.T, m *llir.Module, functions []sdk.ExternFunction, lower func(b *llir.Builder, symbol string, result llir.Type, x []llir.Value) llir.Value) {
	t.Helper()
	for i, e := range functions {
		params := make([]llir.Type, len(e.Args))
		for i, a := range e.Args {
			params[i] = types[a]
		}
		result := types[e.Result]
		fn := m.NewFunc("f"+strconv.Itoa(i), false, result, params...)
		b := llir.NewBuilder(fn)
		b.SetBlock(fn.NewBlock(nil))
		x := make([]llir.Value, len(params))
		for i := range x {
			x[i] = fn.Param(i)
		}
		v := lower(b, e.Symbol, result, x)
		switch {
		case v == nil:
			t.Errorf("%s has no lowering", e.Symbol)
			v = m.Zero(result)
		case v.Type() != result:
			t.Errorf("%s gives %s, want %s", e.Symbol, v.Type(), result)
			v = m.Zero(result)
		}
		b.Ret(v)
	}
}

// Assemble fails the test where llc does not take m, or makes lines with call of it: calls
// of functions that nothing defines. Without llc it skips the test.
func Assemble(t *testing.T, m *llir.Module, call string, flags ...string) {
	t.Helper()
	llc, err := exec.LookPath("llc-22")
	if err != nil {
		t.Skip("llc-22 is not installed: nothing to check the LLVM IR with")
	}
	cmd := exec.Command(llc, append(flags, "-O0", "-o", "-", "-")...)
	cmd.Stdin = bytes.NewReader(m.Print())
	cmd.Stderr = os.Stderr
	code, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(code) {
		if bytes.Contains(line, []byte(call)) {
			t.Errorf("%v: %s", flags, line)
		}
	}
}

// Counted fails the test where functions have no row for one that public kernels were
// counted to call, or one for a function that only others have: other vendors' modules of
// the same name. root is the folder of the repository.
func Counted(t *testing.T, root string, functions []sdk.ExternFunction, others string) {
	t.Helper()
	list, err := os.ReadFile(filepath.Join(root, "test/math/census/testdata/functions.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]bool{}
	for _, e := range functions {
		ours[e.Name] = true
	}
	found := 0
	for line := range strings.Lines(string(list)) {
		f := strings.Fields(line)
		if len(f) != 4 || f[0] != "libdevice" {
			continue
		}
		found++
		if name := f[1]; ours[name] == slices.Contains(strings.Fields(others), name) {
			t.Errorf("%s, which %s kernels call: there is %v", name, f[2], ours[name])
		}
	}
	if found < 20 {
		t.Errorf("%d functions of libdevice in the list", found)
	}
}
