package census

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/frontend/lang"
)

const (
	manifestPath = "../../../core/frontend/testdata/manifest.tsv"
	listPath     = "testdata/functions.tsv"
)

// manifest gives the repositories that the front end's manifest names, and its
// lines with their commits.
func manifest(t *testing.T) (names, lines []string) {
	t.Helper()
	text, err := os.ReadFile(manifestPath)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "@"); ok {
			name, _, _ := strings.Cut(rest, "\t")
			names, lines = append(names, name), append(lines, rest)
		}
	}
	return names, lines
}

// TestList counts again and compares with testdata/functions.tsv, which
// TRITONC_UPDATE=1 rewrites. The sources are not here: TRITONC_CHECKOUTS names a
// folder that holds each repository at its commit, as owner/name.
func TestList(t *testing.T) {
	root := os.Getenv("TRITONC_CHECKOUTS")
	if root == "" {
		t.Skip("set TRITONC_CHECKOUTS to the folder with the checkouts that core/frontend/testdata/manifest.tsv lists, to count their calls again")
	}
	names, lines := manifest(t)
	c, err := Read(root, names)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Functions of triton.language.math (math) and libdevice that %d kernels of %d repositories call:\n", c.Kernels, len(names))
	out.WriteString("# library, function, kernels that call it, repositories. test/math/census TestList writes this.\n")
	for _, l := range lines {
		fmt.Fprintf(&out, "@%s\n", l)
	}
	for _, r := range c.Rows {
		fmt.Fprintf(&out, "%s\t%s\t%d\t%d\n", r.Library, r.Function, r.Kernels, r.Repositories)
	}
	if os.Getenv("TRITONC_UPDATE") == "1" {
		if err := os.WriteFile(listPath, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(listPath); err != nil || !bytes.Equal(have, out.Bytes()) {
		t.Errorf("%s is not what was counted: run with TRITONC_UPDATE=1 (%v)\n%s", listPath, err, out.Bytes())
	}
}

// TestMathIsOurs: the front end has every function of triton.language.math that is
// in the list. backends/nvidia has the same test of libdevice's.
func TestMathIsOurs(t *testing.T) {
	text, err := os.ReadFile(listPath)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 4 || f[0] != Math {
			continue
		}
		found++
		if lang.BuiltinNamed(f[1]) == nil {
			t.Errorf("triton.language has no %s, which %s kernels call", f[1], f[2])
		}
		if !slices.Contains(functions, f[1]) {
			t.Errorf("%s is none of triton.language.math", f[1])
		}
	}
	if found < 10 {
		t.Errorf("%d functions of triton.language.math in the list", found)
	}
}

func TestRead(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"one/a/pkg/kernels.py": `
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.cuda.libdevice import tanh as th
from .ops import power, exp
from ..shim import *

@triton.autotune(configs=[], key=[])
@triton.jit
def k(x):
    def helper(y):
        return tl.math.log2(y)
    return tl.exp(x) + tl.exp(x) + libdevice.erf(x) + th(x) + power(x, 2) + exp(x) + math.sqrt(x) + mine(x)

@triton.jit(do_not_specialize=["x"])
def j(x):
    return tl.load(x) + tl.exp(x)

def host(x):
    return tl.exp(x)
`,
		"one/a/pkg/ops.py": `
try:
    import triton.language.extra.cuda.libdevice as ld
except ImportError:
    from triton.language import libdevice as ld
import triton.language as tl
power = ld.pow
if FAST:
    exp = ld.fast_expf
else:
    exp = tl.exp
`,
		"one/a/shim.py": "from triton.language import math\nfrom triton.language.math import sin as mine\n",
		"two/b/k.py":    "from triton import jit\nimport triton.language\n@jit\ndef k(x):\n    return triton.language.exp(x)\n",
		"two/b/bad.py":  "print 'Python 2'\n",
	} {
		full := filepath.Join(root, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Read(root, []string{"one/a", "two/b"})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%d kernels", c.Kernels)
	for _, r := range c.Rows {
		got += fmt.Sprintf(", %s.%s %d/%d", r.Library, r.Function, r.Kernels, r.Repositories)
	}
	want := "3 kernels, math.exp 3/2, libdevice.erf 1/1, libdevice.fast_expf 1/1, libdevice.pow 1/1, libdevice.tanh 1/1, " +
		"math.log2 1/1, math.sin 1/1, math.sqrt 1/1"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, err := Read(root, []string{"three/c"}); err == nil || !strings.Contains(err.Error(), "three/c") {
		t.Errorf("an absent repository: %v", err)
	}
}
