package triton

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/diff"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttir"
)

// A row of the manifest is a public kernel with what Triton 3.6.0 says of it.
type row struct {
	repo, path, kernel, signature string
	// verdict is "accepted", or the class and first line of Triton's error, or
	// "unresolved: NAME" where the kernel needs a package that was not there.
	verdict string
}

func (r row) String() string {
	return fmt.Sprintf("%s %s: %s(%s)", r.repo, r.path, r.kernel, r.signature)
}

// manifest reads the rows:
//
//	@owner/name	commit
//	path	kernel	signature	verdict
func manifest(t *testing.T) []row {
	t.Helper()
	list, err := os.ReadFile(filepath.Join(kernelDir, "manifest.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	repo := ""
	for line := range strings.Lines(string(list)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if name, ok := strings.CutPrefix(f[0], "@"); ok {
			repo = name
			continue
		}
		if len(f) != 4 {
			t.Fatalf("manifest.tsv: %q has %d columns, want 4", line, len(f))
		}
		rows = append(rows, row{repo, f[0], f[1], f[2], f[3]})
	}
	return rows
}

// slow bounds the time of one kernel; the longest takes a tenth of it on an idle
// machine.
const slow = 30 * time.Second

// refused are the kernels that Triton accepts and we do not, with the reason.
var refused = map[string]string{
	"python/test/unit/language/test_compile_only.py topk_kernel": "the signature's guess asks for 64 of 8 elements, for which Triton makes code that gives more than there are",
}

// accepted are the kernels that Triton refuses and we do not, with the reason.
var accepted = map[string]string{}

// unequal are the kernels whose ttir is not Triton's, with the reason.
var unequal = map[string]string{
	"python/test/gsan/test_gsan.py _host_tma_reduce_add_kernel": "the value is converted to the descriptor's type, with a warning; Triton takes its bits",
}

// TestManifest compiles the public kernels of the manifest to ttir and holds
// the outcome against Triton's verdict: what Triton accepts compiles, what it
// refuses gets a diagnostic that has a place, and nothing panics. The kernels of
// refused and accepted are excepted; the log counts them by reason, and one more
// fails the test. The sources are not here: TRITONC_CHECKOUTS names a folder that
// has each repository at its commit, as owner/name.
//
// With TRITONC_CHECKOUTS_IR naming the folder that bench/triton_verdicts.py
// --keep wrote, the ttir is compared with Triton's as well, and is the same but
// for the kernels of unequal. TRITONC_ONLY narrows the rows to those whose text
// holds it.
func TestManifest(t *testing.T) {
	root := os.Getenv("TRITONC_CHECKOUTS")
	if root == "" {
		t.Skip("set TRITONC_CHECKOUTS to the folder with the checkouts that testdata/manifest.tsv lists, to build their kernels")
	}
	facts := facts90(t)
	sources := checkouts{}
	count := map[string]int{}
	// except counts an outcome that is not Triton's under its reason, or fails.
	met := map[string]bool{}
	except := func(r row, what string, known map[string]string, details string) {
		count[what]++
		name := r.path + " " + r.kernel
		met[name] = true
		why := known[name]
		if why == "" {
			t.Errorf("%v: %s\n%s", r, what, details)
			return
		}
		count[what+": "+why]++
	}
	for _, r := range manifest(t) {
		if !strings.Contains(r.String(), os.Getenv("TRITONC_ONLY")) {
			continue
		}
		start := time.Now()
		m, err := compile(sources, root, r, facts)
		if d := time.Since(start); d > slow {
			t.Errorf("%v:\ntook %v", r, d)
		}
		isAccepted := r.verdict == "accepted"
		switch {
		case errors.Is(err, errAbsent):
			count["absent"]++
		case errors.Is(err, errPanic):
			t.Errorf("%v:\n%v", r, err)
		case strings.HasPrefix(r.verdict, "unresolved: "):
			count["Triton could not try"]++
		case isAccepted && err == nil:
			count["accepted by both"]++
			switch ours, theirs, known := both(t, r, m); {
			case !known:
			case ours == theirs:
				count["equal ttir"]++
			case strings.Contains(theirs, "ub.poison"):
				count["unequal ttir: a loop's variable after the loop, which Triton leaves open"]++
			default:
				except(r, "unequal ttir", unequal, diff.Texts("ours", ours, "triton", theirs))
			}
		case !isAccepted && err != nil:
			count["refused by both"]++
			checkPlaces(t, r, err)
		case isAccepted:
			except(r, "refused only here", refused, explain(err))
		default:
			except(r, "accepted only here", accepted, "Triton says "+r.verdict)
		}
	}
	lists := []map[string]string{refused, accepted}
	if os.Getenv("TRITONC_CHECKOUTS_IR") != "" {
		lists = append(lists, unequal)
	}
	for _, list := range lists {
		for name := range list {
			if !met[name] && os.Getenv("TRITONC_ONLY") == "" && count["absent"] == 0 {
				t.Errorf("%s is as Triton has it, and listed as if it were not", name)
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%5d %s", count[what], what)
	}
}

// checkPlaces holds each error of a kernel to a line of a file and words.
func checkPlaces(t *testing.T, r row, err error) {
	t.Helper()
	all := diag.All(err)
	if len(all) == 0 {
		t.Errorf("%v: not a diagnostic: %v", r, err)
	}
	for _, d := range all {
		if d.Message == "" || d.Pos.Line == 0 || d.Line == "" {
			t.Errorf("%v: a diagnostic without words or place: %s", r, explain(d))
		}
	}
}

var (
	errAbsent = errors.New("the file is not in the checkout")
	errPanic  = errors.New("panic")
)

// compile takes one row to the end of the ttir stage.
func compile(sources checkouts, root string, r row, facts *frontend.Facts) (m *ir.Operation, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanic, p, debug.Stack())
		}
	}()
	repo := filepath.Join(root, filepath.FromSlash(r.repo))
	file := sources.file(repo, r.path)
	if file == nil {
		return nil, errAbsent
	}
	env := environment(facts)
	env.Open = func(module string) (*frontend.File, error) { return sources.module(repo, r.path, module), nil }
	m, err = ttirOf(file.In(env), r.kernel, r.signature, &frontend.Options{
		NumWarps: 4, NumStages: 3, NumCTAs: 1, SanitizeOverflow: true, MaxNumImpreciseAcc: impreciseAcc90,
	})
	if err != nil {
		return nil, err
	}
	_, err = (&pass.Runner{VerifyEach: true}).Run(m, rows90, nil)
	return m, err
}

// rows90 is the stage for a target with descriptors in hardware.
var rows90 = slices.DeleteFunc(slices.Clone(ttirRows), func(r pass.Row) bool { return r.Pass == ttir.RewriteTensorDescriptor })

// facts90 are those of a device of compute capability 9.0.
func facts90(t *testing.T) *frontend.Facts {
	f := facts(t)
	f.Arch = "90"
	f.FP8 = []string{"fp8e4b15", "fp8e4nv", "fp8e5"}
	f.DeprecatedFP8Dot = []string{"fp8e4b15"}
	return f
}

// impreciseAcc90 is max_num_imprecise_acc_default there.
const impreciseAcc90 = 1 << 30

// both gives the normal forms of a module and of Triton's, if that is at hand.
func both(t *testing.T, r row, m *ir.Operation) (ours, theirs string, known bool) {
	dir := os.Getenv("TRITONC_CHECKOUTS_IR")
	if dir == "" {
		return "", "", false
	}
	name := filepath.Join(dir, filepath.FromSlash(r.repo), filepath.FromSlash(r.path), r.kernel+".ttir")
	src, err := os.ReadFile(name)
	if err != nil {
		return "", "", false
	}
	want, err := text.Parse(dialect.NewContext(), name, src)
	if err != nil {
		t.Fatal(err)
	}
	return diff.Normal(m), diff.Normal(want), true
}

// checkouts are parsed files by their paths; nil for what is not there.
type checkouts map[string]*frontend.File

// file parses a file of a repository, once.
func (c checkouts) file(repo, path string) *frontend.File {
	full := filepath.Join(repo, filepath.FromSlash(path))
	f, ok := c[full]
	if ok {
		return f
	}
	src, err := os.ReadFile(full)
	if err == nil {
		module := strings.ReplaceAll(strings.TrimPrefix(strings.TrimSuffix(path, ".py"), "src/"), "/", ".")
		f, _ = frontend.ParseModule(full, path, strings.TrimSuffix(module, ".__init__"), src)
	}
	c[full] = f
	return f
}

// module finds what a file imports: beside the outermost package that holds the
// file, and where repositories keep their packages.
func (c checkouts) module(repo, path, module string) *frontend.File {
	top := filepath.Dir(filepath.FromSlash(path))
	for top != "." && exists(filepath.Join(repo, top, "__init__.py")) {
		top = filepath.Dir(top)
	}
	name := strings.ReplaceAll(module, ".", "/")
	for _, base := range []string{".", "src", filepath.ToSlash(top), filepath.ToSlash(filepath.Dir(path))} {
		for _, end := range []string{"/__init__.py", ".py"} {
			p := strings.TrimPrefix(base+"/"+name+end, "./")
			if f := c.file(repo, p); f != nil {
				return f
			}
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func explain(err error) string {
	var b strings.Builder
	for _, d := range diag.All(err) {
		diag.Fprint(&b, d)
	}
	if b.Len() == 0 {
		return err.Error()
	}
	return b.String()
}
