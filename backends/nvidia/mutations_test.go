package nvidia

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/internal/testseed"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// litEnv names the folder of .mlir files, such as Triton's tests, whose modules are
// mutated; mutationsEnv how many mutations are tried.
const (
	litEnv       = "TRITONC_LIT"
	mutationsEnv = "TRITONC_MUTATIONS"
)

// mutationTime is how long one module may take, parsed, run through passes and printed.
const mutationTime = 20 * time.Second

// TestMutations parses, verifies, prints and runs through passes, those of their file and
// one more, modules that were changed at random. Whatever becomes of a module, nothing
// crashes, nothing takes long, and what is printed reads back to the same text.
func TestMutations(t *testing.T) {
	dir := os.Getenv(litEnv)
	if dir == "" {
		t.Skip(litEnv + " names no folder of .mlir files")
	}
	n := 2000
	if s := os.Getenv(mutationsEnv); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatalf("%s: %v", mutationsEnv, err)
		}
	}
	seed := testseed.Seed()
	t.Logf("%s=%d", testseed.Env, seed)
	modules := litModules(t, dir)
	words := wordsOf(modules)
	b := New()
	var taken, refused, failures int
	shown := map[string]bool{}
	for i := range n {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		m := modules[r.IntN(len(modules))]
		text := mutate(r, m.text, words)
		pipeline := slices.Clone(m.passes)
		if r.IntN(2) == 0 {
			pipeline = append(pipeline, passes[r.IntN(len(passes))].Name)
		}
		ok, err := tryModule(t.Context(), b, text, pipeline)
		switch {
		case err != nil:
			failures++
			if why, _, _ := strings.Cut(err.Error(), "\n"); !shown[why] {
				shown[why] = true
				path := filepath.Join(os.TempDir(), fmt.Sprintf("mutation-%d-%d.mlir", seed, i))
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				t.Errorf("%s of %s, passes %s: %v", path, m.file, strings.Join(pipeline, ","), err)
			}
		case ok:
			taken++
		default:
			refused++
		}
	}
	t.Logf("%d modules of %d files' parts: %d taken, %d refused, %d failed", n, len(modules), taken, refused, failures)
}

// A litModule is a part of a file of tests, and the passes that its file runs.
type litModule struct {
	file, text string
	passes     []string
}

var (
	runLine  = regexp.MustCompile(`(?m)RUN: *triton-opt(.*)$`)
	passFlag = regexp.MustCompile(`\s-{1,2}([A-Za-z][\w-]*)(?:=("[^"]*"|'[^']*'|\S+))?`)
)

func litModules(t *testing.T, dir string) []litModule {
	var list []litModule
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".mlir" || strings.Contains(path, "/amd/") {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var pipeline []string
		if m := runLine.FindSubmatch(src); m != nil {
			for _, f := range passFlag.FindAllSubmatch(m[1], -1) {
				name, options := string(f[1]), strings.Trim(string(f[2]), `"'`)
				for _, p := range passes {
					if p.Name == name && len(p.Options) == 0 {
						pipeline = append(pipeline, name)
					} else if p.Name == name {
						pipeline = append(pipeline, name+"{"+options+"}")
					}
				}
			}
		}
		for _, part := range strings.Split(string(src), "// -----") {
			if strings.Contains(part, "func") {
				list = append(list, litModule{path, part, pipeline})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		t.Fatalf("%s=%s has no modules", litEnv, dir)
	}
	return list
}

var word = regexp.MustCompile(`[%#!@^]?[\w.$-]+|"[^"]*"|\S`)

// wordsOf are words of all modules, often ones more often.
func wordsOf(modules []litModule) []string {
	var list []string
	for _, m := range modules {
		list = append(list, word.FindAllString(m.text, -1)...)
	}
	return list
}

// mutate changes a place of a text, or a few.
func mutate(r *rand.Rand, text string, words []string) string {
	for again := true; again; again = r.IntN(3) == 0 {
		lines := strings.SplitAfter(text, "\n")
		i := r.IntN(len(lines))
		switch r.IntN(12) {
		case 0: // a line goes
			lines = slices.Delete(lines, i, i+1)
		case 1: // a line comes twice
			lines = slices.Insert(lines, r.IntN(len(lines)+1), lines[i])
		case 2: // two lines change places
			k := r.IntN(len(lines))
			lines[i], lines[k] = lines[k], lines[i]
		case 3: // bytes go
			if at := r.IntN(len(text) + 1); at < len(text) {
				text = text[:at] + text[min(len(text), at+1+r.IntN(8)):]
			}
			continue
		default: // a word becomes another
			lines[i] = mutateWord(r, lines[i], words)
		}
		text = strings.Join(lines, "")
	}
	return text
}

// numbers are those at which things go wrong.
var numbers = []string{"0", "1", "-1", "2", "3", "7", "8", "16", "31", "32", "33", "64", "127", "1000", "4096", "65536", "2147483647", "-2147483648", "9223372036854775807", "99999999999999999999"}

func mutateWord(r *rand.Rand, line string, words []string) string {
	at := word.FindAllStringIndex(line, -1)
	if len(at) == 0 {
		return line
	}
	w := at[r.IntN(len(at))]
	old, other := line[w[0]:w[1]], words[r.IntN(len(words))]
	switch {
	case old[0] >= '0' && old[0] <= '9' && r.IntN(4) > 0:
		other = numbers[r.IntN(len(numbers))]
	case old[0] == '%' || old[0] == '#' || old[0] == '@':
		for range 50 { // one of its kind, of the line or of any
			if other[0] == old[0] {
				break
			}
			other = words[r.IntN(len(words))]
		}
		if same := at[r.IntN(len(at))]; line[same[0]] == old[0] {
			other = line[same[0]:same[1]]
		}
	case r.IntN(8) == 0:
		other = ""
	}
	return line[:w[0]] + other + line[w[1]:]
}

// tryModule reports whether a module was taken. An error is a fault of ours.
func tryModule(ctx context.Context, b *backend.Backend, text string, pipeline []string) (taken bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, mutationTime)
	defer cancel()
	target := sdk.Target{Backend: backendName, Arch: "90", WarpSize: warpSize}
	run := func(input, pipeline string) (string, error) {
		resp, err := b.RunPasses(ctx, sdk.RunPassesRequest{Target: target, Input: input, InputName: "m.mlir", Pipeline: pipeline})
		var d *sdk.Diagnostic
		var all sdk.Diagnostics
		switch {
		case ctx.Err() != nil:
			return "", fmt.Errorf("it takes longer than %v", mutationTime)
		case errors.As(err, &d) && d.Kind == sdk.Bug:
			return "", fault{d}
		case errors.As(err, &all) && slices.ContainsFunc(all, func(d sdk.Diagnostic) bool { return d.Kind == sdk.Bug }):
			return "", fault{&all[0]}
		}
		if err != nil {
			return "", errRefused
		}
		return resp.Output, nil
	}
	out, err := run(text, "")
	if err == nil {
		var again string
		if again, err = run(out, ""); err == errRefused || err == nil && again != out {
			return false, errors.New("what is printed does not read back to the same text")
		}
	}
	if err == nil {
		_, err = run(text, strings.Join(pipeline, ","))
	}
	if err == errRefused {
		return false, nil
	}
	return err == nil, err
}

// errRefused says that a module is refused, with a diagnostic.
var errRefused = errors.New("refused")

// fault is a crash of a pass.
type fault struct{ d *sdk.Diagnostic }

func (f fault) Error() string {
	text := f.d.Message
	for i := range f.d.Notes {
		text += "\n" + f.d.Notes[i].Message
	}
	return text
}
