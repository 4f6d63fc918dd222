package counts

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

const (
	// checkoutsEnv is the folder with the repositories of the manifest, as owner/name.
	checkoutsEnv = "TRITONC_CHECKOUTS"
	// publicOutEnv is the file that TestDirectPublic adds rows to. Rows that it holds
	// already are not measured again.
	publicOutEnv = "TRITONC_PUBLIC_OUT"
	// publicOnlyEnv narrows the kernels to those whose row holds a text.
	publicOnlyEnv = "TRITONC_ONLY"
	// publicBudgetEnv is after how many seconds to begin no other kernel.
	publicBudgetEnv = "TRITONC_BUDGET"
)

// publicTarget is what public kernels are compiled for.
const publicTarget = "cuda:90"

// compileLimit bounds one compile, llc included, and ptxasLimit what ptxas takes for one text.
const (
	compileLimit = 2 * time.Minute
	ptxasLimit   = time.Minute
)

// A publicKernel is a row of the manifest.
type publicKernel struct{ repo, path, kernel, signature string }

func (p *publicKernel) String() string {
	return strings.Join([]string{p.repo + "/" + p.path, p.kernel, p.signature}, "\t")
}

// publicKernels reads the manifest, which test/triton documents.
func publicKernels(t testing.TB) (list []*publicKernel) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(kernelDir, "manifest.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	repo := ""
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if name, ok := strings.CutPrefix(f[0], "@"); ok {
			repo = name
			continue
		}
		list = append(list, &publicKernel{repo, f[0], f[1], f[2]})
	}
	return list
}

// source finds the kernel's file, and what it imports as tritonc's flags -I REPO -I REPO/src do.
func (p *publicKernel) source(root string) (*core.Source, error) {
	repo := filepath.Join(root, filepath.FromSlash(p.repo))
	path := filepath.Join(repo, filepath.FromSlash(p.path))
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	src := &core.Source{Path: path, Name: p.path, Text: text}
	top := filepath.Dir(path) // of the package that the file is in
	module := ""
	for exists(filepath.Join(top, "__init__.py")) {
		module, top = filepath.Base(top)+"."+module, filepath.Dir(top)
	}
	if module != "" {
		src.Module = module + strings.TrimSuffix(filepath.Base(path), ".py")
	}
	dirs := []string{top, filepath.Dir(path), repo, filepath.Join(repo, "src")}
	src.Import = func(module string) (*core.Source, error) {
		name := filepath.FromSlash(strings.ReplaceAll(module, ".", "/"))
		for _, dir := range dirs {
			for _, end := range []string{"/__init__.py", ".py"} {
				file := filepath.Join(dir, name) + filepath.FromSlash(end)
				if text, err := os.ReadFile(file); err == nil {
					short, err := filepath.Rel(repo, file)
					if err != nil {
						return nil, err
					}
					return &core.Source{Path: file, Name: filepath.ToSlash(short), Text: text}, nil
				}
			}
		}
		return nil, nil
	}
	return src, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// compile takes the kernel to LLVM IR and PTX.
func (p *publicKernel) compile(ctx context.Context, root string, options map[string]any) (c *compiled, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	ctx, stop := context.WithTimeout(ctx, compileLimit)
	defer stop()
	src, err := p.source(root)
	if err != nil {
		return nil, err
	}
	to, err := core.ParseTarget(publicTarget)
	if err != nil {
		return nil, err
	}
	opts := &core.Options{Select: kerneltest.Select, Values: options, Stages: []string{"llir", "ptx"}, AllowUnlaunchable: true}
	variants, err := core.Variants(ctx, src, to, opts, core.Want{Kernel: p.kernel, Signature: p.signature})
	if err != nil {
		return nil, err
	}
	k, err := core.Compile(ctx, variants[0], to, opts)
	if err != nil {
		return nil, err
	}
	return newCompiled(k)
}

// both compiles the kernel by llc and without it.
func (p *publicKernel) both(ctx context.Context, root string, options map[string]any) (byLLC, direct *compiled, err error) {
	options = maps.Clone(options)
	if options == nil {
		options = map[string]any{}
	}
	options["ptx"] = "llvm"
	if byLLC, err = p.compile(ctx, root, options); err != nil {
		return nil, nil, err
	}
	options["ptx"] = "direct"
	if direct, err = p.compile(ctx, root, options); err != nil {
		err = errors.New("by direct: " + err.Error())
	}
	return byLLC, direct, err
}

// TestDirectPublic compiles public kernels by llc and without it, assembles both and runs both
// on the simulated device with the same guessed arguments. What llc takes, direct takes; without
// fusion of products and sums both leave the same bytes. TRITONC_PUBLIC_OUT keeps a row for each,
// of which TestDirectPage makes the page docs/results/direct.md.
func TestDirectPublic(t *testing.T) {
	root, out := os.Getenv(checkoutsEnv), os.Getenv(publicOutEnv)
	if root == "" || out == "" {
		t.Skipf("set %s to a folder with the checkouts that manifest.tsv lists, and %s to a file for the rows", checkoutsEnv, publicOutEnv)
	}
	known, err := readPublicRows(out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	done := map[string]bool{}
	for _, r := range known {
		done[r.key] = true
	}
	file, err := os.OpenFile(out, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	end := publicDeadline(t)
	for _, p := range publicKernels(t) {
		if done[p.String()] || !strings.Contains(p.String(), os.Getenv(publicOnlyEnv)) {
			continue
		}
		if time.Now().After(end) {
			t.Log("the budget is spent; another run goes on from here")
			return
		}
		r := p.measure(t, root)
		if r.wrong() {
			t.Errorf("%s: %s", p, r.outcome)
		}
		if _, err := fmt.Fprintln(file, r.String()); err != nil {
			t.Fatal(err)
		}
	}
}

// publicDeadline is when to begin no other kernel.
func publicDeadline(t testing.TB) time.Time {
	budget := 1000 * time.Hour
	if s := os.Getenv(publicBudgetEnv); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		budget = time.Duration(n) * time.Second
	}
	return time.Now().Add(budget)
}

// measure makes the kernel's row.
func (p *publicKernel) measure(t testing.TB, root string) *publicRow {
	r := newPublicRow(p.String())
	k, d, err := p.both(t.Context(), root, nil)
	if err != nil {
		r.outcome = firstLine(kerneltest.Text(err))
		if k == nil {
			r.outcome = "refused: " + r.outcome
		}
		return r
	}
	for i, c := range []*compiled{k, d} {
		row := newRow(publicTarget, p.kernel)
		row.ptx = ptxInstructions(c.ptx)
		ctx, stop := context.WithTimeout(t.Context(), ptxasLimit)
		cubin, _, err := row.toCubin(ctx, t, c.ptx)
		stop()
		if err == nil {
			row.sass, err = codeInstructions(cubin)
		}
		if err != nil {
			r.outcome = []string{"ptxas of llc's: ", "ptxas of direct's: "}[i] + firstLine(err.Error())
			return r
		}
		r.ptx[i], r.sass[i], r.regs[i], r.spills[i] = row.ptx, row.sass, row.regs, row.spills
	}
	r.outcome = "compiled"
	p.execute(t, root, r, k, d)
	return r
}

const (
	codeBytes = 16    // of an instruction from Volta on
	opcodeNOP = 0x918 // its lowest 12 bits, by which ptxas fills up
)

// codeInstructions counts the instructions of a cubin's functions, without NOPs, as
// machineInstructions does of what cuobjdump takes ten times as long for.
func codeInstructions(cubin string) (n int, err error) {
	file, err := os.ReadFile(cubin)
	if err != nil {
		return 0, err
	}
	if len(file) > 24 {
		binary.LittleEndian.PutUint32(file[20:], uint32(elf.EV_CURRENT)) // where ptxas has CUDA's version
	}
	f, err := elf.NewFile(bytes.NewReader(file))
	if err != nil {
		return 0, err
	}
	for _, s := range f.Sections {
		if !strings.HasPrefix(s.Name, ".text") {
			continue
		}
		code, err := s.Data()
		if err != nil {
			return 0, err
		}
		for at := 0; at+codeBytes <= len(code); at += codeBytes {
			if binary.LittleEndian.Uint16(code[at:])&0xFFF != opcodeNOP {
				n++
			}
		}
	}
	return n, nil
}

// firstLine is a message as a cell of a row.
func firstLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for _, line := range lines {
		if strings.Contains(line, "error") || strings.Contains(line, "BUG") || strings.Contains(line, "fatal") {
			lines[0] = line
			break
		}
	}
	s = strings.ReplaceAll(strings.TrimSpace(lines[0]), "\t", " ")
	return s[:min(len(s), 200)]
}
