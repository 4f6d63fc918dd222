package triton

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/diff"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
)

const smallDir = "testdata/small"

// smallSignature is that of a kernel whose case does not say another, and
// smallPrelude comes before a case that is the body of a kernel. The script
// bench/triton_small.py has the same.
const (
	smallSignature = "x=*fp32:16, y=*i32:16, h=*fp16:16, q=*i64:16, n=i32, m=i64, f=fp32, u=u32, B=64"
	smallHead      = "import triton\nimport triton.language as tl\n"
	smallPrelude   = "@triton.jit\ndef k(x, y, h, q, n, m, f, u, B: tl.constexpr):\n    o = tl.arange(0, 64)\n"
)

// A small kernel holds one construct of the language.
type small struct {
	key       string // what the results go by: a digest of the case
	signature string
	source    string
	// remark says why the outcome is not Triton's: "differs: …",
	// "refused here: …" or "accepted here: …".
	remark string
}

var remarks = regexp.MustCompile(`\A# ((?:differs|refused here|accepted here): .*)\n`)

// smalls reads the kernels of a family, each after a line "#---".
func smalls(t *testing.T, family string) []small {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(smallDir, family+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	var out []small
	for _, block := range regexp.MustCompile(`(?m)^#---.*\n`).Split(string(src), -1)[1:] {
		block = strings.Trim(block, "\n") + "\n"
		k := small{signature: smallSignature}
		if m := remarks.FindStringSubmatch(block); m != nil {
			k.remark, block = m[1], block[len(m[0]):]
		}
		k.key = fmt.Sprintf("%x", sha256.Sum256([]byte(block)))[:12]
		if line, rest, _ := strings.Cut(block, "\n"); strings.HasPrefix(line, "# -s ") {
			k.signature, block = line[len("# -s "):], rest
		}
		if !strings.Contains(block, "def k(") {
			body := smallPrelude
			for line := range strings.Lines(block) {
				body += "    " + line
			}
			block = body
		}
		k.source = smallHead + block
		out = append(out, k)
	}
	return out
}

// build takes a small kernel to the end of the ttir stage.
func (k *small) build(facts *frontend.Facts) (m *ir.Operation, err error) {
	f, err := frontend.Parse("k.py", "k.py", []byte(k.source))
	if err != nil {
		return nil, err
	}
	text, debug := strings.CutSuffix(k.signature, " debug=True")
	m, err = ttirOf(f.In(environment(facts)), "k", text, &frontend.Options{
		NumWarps: 4, NumStages: 3, NumCTAs: 1, SanitizeOverflow: true, Debug: debug, MaxNumImpreciseAcc: impreciseAcc90,
	})
	if err != nil {
		return nil, err
	}
	_, err = (&pass.Runner{VerifyEach: true}).Run(m, rows90, nil)
	return m, err
}

// TestSmall holds thousands of small kernels against Triton 3.6.0, each with one
// construct of the language: what it accepts gives its ttir, what it refuses is
// refused, with a diagnostic that has a place. A remark in the case says where and
// why that is not so. bench/triton_small.py wrote what Triton makes of them.
func TestSmall(t *testing.T) {
	facts := facts90(t)
	paths, err := filepath.Glob(filepath.Join(smallDir, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, path := range paths {
		family := strings.TrimSuffix(filepath.Base(path), ".txt")
		archive, err := txtar.ParseFile(filepath.Join(smallDir, family+".triton"))
		if err != nil {
			t.Fatal(err)
		}
		theirs := map[string]string{}
		for _, f := range archive.Files {
			theirs[f.Name] = string(f.Data)
		}
		for _, k := range smalls(t, family) {
			want, known := theirs[k.key]
			if !known {
				t.Errorf("%s: bench/triton_small.py has not seen this kernel:\n%s", family, k.source)
				continue
			}
			m, err := k.build(facts)
			got, what := outcome(m, err, want)
			count[got]++
			if err != nil {
				checkDiagnostics(t, &k, err)
			}
			if expected, _, _ := strings.Cut(k.remark, ":"); expected != "" && got == expected {
				count["of these with a reason"]++
			} else if expected != "" || got != "same ttir" && got != "refused by both" {
				t.Errorf("%s: %s\n%s%s", family, got, k.source, what)
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%5d %s", count[what], what)
	}
}

// outcome compares what became of a kernel with what Triton made of it.
func outcome(m *ir.Operation, err error, want string) (got, what string) {
	reason, refused := strings.CutPrefix(want, "error: ")
	switch {
	case err != nil && refused:
		return "refused by both", ""
	case err != nil:
		return "refused here", explain(err)
	case refused:
		return "accepted here", "Triton: " + reason
	}
	module, err := text.Parse(dialect.NewContext(), "triton.ttir", []byte(want))
	if err != nil {
		return "unreadable", err.Error()
	}
	if ours, theirs := diff.Normal(m), diff.Normal(module); ours != theirs {
		return "differs", diff.Texts("ours", ours, "triton", theirs)
	}
	return "same ttir", ""
}

// checkDiagnostics holds the errors of a kernel to what a user needs of them:
// words, a line of the file and what is there.
func checkDiagnostics(t *testing.T, k *small, err error) {
	t.Helper()
	all := diag.All(err)
	if len(all) == 0 {
		t.Errorf("not a diagnostic: %v\n%s", err, k.source)
	}
	for _, d := range all {
		if d.Message == "" || d.Pos.Line == 0 || d.Pos.Col == 0 || d.Line == "" {
			t.Errorf("a diagnostic without words or place: %s\n%s", explain(d), k.source)
		}
	}
}
