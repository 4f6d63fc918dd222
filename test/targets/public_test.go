package targets

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// public is a row of testdata/npu-kernels.tsv: a kernel of a public repository with a launch.
type public struct {
	repo, path, kernel string
	grid               [3]int
	arguments          []string
	// config is the number of the configuration of an autotuned kernel, if not empty.
	config string
	// check is what the NPU's results are held against: a target, or mlir, which is the
	// stage ttadapter run by MLIR on the CPU.
	check     string
	tolerance float64
	// excluded says why the kernel does not run; "" for those that do.
	excluded string
}

func (p *public) String() string { return p.repo + "/" + p.path + " " + p.kernel }

// publicKernels reads the table. A line that begins with @ names the repository of those
// that follow, and its commit.
func publicKernels(t *testing.T) (list []*public) {
	t.Helper()
	text, err := os.ReadFile("testdata/npu-kernels.tsv")
	if err != nil {
		t.Fatal(err)
	}
	repo := ""
	for i, line := range strings.Split(strings.Trim(string(text), "\n"), "\n") {
		cells := strings.Split(line, "\t")
		switch {
		case strings.HasPrefix(line, "#"):
			continue
		case strings.HasPrefix(line, "@"):
			repo = cells[0][1:]
			continue
		case len(cells) != 7:
			t.Fatalf("testdata/npu-kernels.tsv:%d: %d cells, not 7", i+1, len(cells))
		}
		p := &public{repo: repo, path: cells[0], kernel: cells[1], arguments: strings.Split(cells[3], "; "), check: cells[4], excluded: cells[6]}
		if last := p.arguments[len(p.arguments)-1]; strings.HasPrefix(last, "config=") {
			p.config, p.arguments = last[len("config="):], p.arguments[:len(p.arguments)-1]
		}
		p.grid = [3]int{1, 1, 1}
		for d, n := range strings.Split(cells[2], "x") {
			if p.grid[d], err = strconv.Atoi(n); err != nil {
				t.Fatalf("testdata/npu-kernels.tsv:%d: %v", i+1, err)
			}
		}
		if p.tolerance, err = strconv.ParseFloat(cells[5], 64); err != nil {
			t.Fatalf("testdata/npu-kernels.tsv:%d: %v", i+1, err)
		}
		list = append(list, p)
	}
	return list
}

// memory is an argument that is an array: *fp32[100], which is normal numbers, or
// *i32[100]:0..7 for integers below 7, :0 for one number, :arange from 0 and :count from 1 on, :empty for what the
// kernel writes, :u for numbers from 0.1 to 1.1, and :0,3,7 for a list.
var memory = regexp.MustCompile(`^\*(\w+)\[(\d+)\](?::(.*))?$`)

// argument makes an argument of a row.
func (p *public) argument(r *rand.Rand, text string) (any, error) {
	m := memory.FindStringSubmatch(text)
	if m == nil {
		if f, err := strconv.ParseFloat(text, 64); err == nil && strings.ContainsAny(text, ".e") {
			return f, nil
		}
		return constant(text), nil
	}
	n, err := strconv.Atoi(m[2])
	if err != nil || array.Named(m[1]) == nil {
		return nil, fmt.Errorf("%s is not an array", text)
	}
	lo, hi, bounds := strings.Cut(m[3], "..")
	switch {
	case m[3] == "" && array.Named(m[1]).Float():
		return kerneltest.Randn(r, m[1], n), nil
	case m[3] == "":
		return kerneltest.Randint(r, 0, 50, m[1], n), nil
	case m[3] == "empty":
		return kerneltest.Empty(m[1], n), nil
	case m[3] == "u":
		a := kerneltest.Uniform(r, m[1], n)
		for i := range n {
			a.Set(i, a.At(i)+0.1)
		}
		return a, nil
	case m[3] == "arange", m[3] == "count":
		a := kerneltest.Zeros(m[1], n)
		for i := range n {
			a.Set(i, float64(i)+map[string]float64{"count": 1}[m[3]])
		}
		return a, nil
	case bounds:
		low, err := strconv.ParseInt(lo, 10, 64)
		high, err2 := strconv.ParseInt(hi, 10, 64)
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		return kerneltest.Randint(r, low, high, m[1], n), nil
	}
	words := strings.Split(m[3], ",")
	a := kerneltest.Zeros(m[1], n)
	for i := range n {
		v, err := strconv.ParseFloat(words[min(i, len(words)-1)], 64)
		if err != nil {
			return nil, err
		}
		a.Set(i, v)
	}
	return a, nil
}

// standIns are modules that are not in the checkouts, or that ask the machine what it is.
var standIns = map[string]string{
	"vllm.triton_utils":                  "import triton\nimport triton.language as tl\nHAS_TRITON = True\n",
	"flag_gems.utils.triton_lang_helper": "import triton.language.extra.cann.libdevice as tl_extra_shim\n",
}

// source is a kernel's file with what it imports from its repository.
func (p *public) source(root string) (*core.Source, error) {
	repo := filepath.Join(root, filepath.FromSlash(p.repo))
	path := filepath.Join(repo, filepath.FromSlash(p.path))
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	dirs := []string{filepath.Dir(path), repo, filepath.Join(repo, "src"), filepath.Join(repo, "python", "sgl_kernel_npu")}
	return &core.Source{
		Path: path, Text: text, Module: strings.ReplaceAll(strings.TrimPrefix(strings.TrimSuffix(p.path, ".py"), "src/"), "/", "."),
		Import: func(module string) (*core.Source, error) {
			if text := standIns[module]; text != "" {
				return &core.Source{Path: module + ".py", Text: []byte(text), Installed: true}, nil
			}
			for _, dir := range dirs {
				for _, ending := range []string{".py", "/__init__.py"} {
					file := filepath.Join(dir, filepath.FromSlash(strings.ReplaceAll(module, ".", "/"))) + ending
					if text, err := os.ReadFile(file); err == nil {
						return &core.Source{Path: file, Text: text, Installed: true}, nil
					}
				}
			}
			return nil, nil
		},
	}, nil
}

// run runs the kernel on a target, and returns its arguments.
func (p *public) run(t *testing.T, root, target string, args []any) (given []any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	src, err := p.source(root)
	if err != nil {
		return nil, err
	}
	given = slices.Clone(args)
	for i, a := range given {
		if a, ok := a.(*array.Array); ok {
			given[i] = a.Clone()
		}
	}
	src.Config = p.config
	k := kerneltest.Kernel{Given: src, Name: p.kernel}.On(target)
	_, err = k.TryRun(t, p.grid, given...)
	return given, err
}

// TestPublicNPU runs kernels of public repositories that are written for NPUs, or run on
// them, on the simulated NPU, and holds their results against another target's. The sources
// are not here: TRITONC_CHECKOUTS names a folder that has each repository at its commit, as
// owner/name. TRITONC_ONLY narrows the rows to those whose text holds it.
func TestPublicNPU(t *testing.T) {
	all := publicKernels(t)
	excluded := 0
	for _, p := range all {
		if p.excluded != "" {
			excluded++
		}
	}
	if len(all) < 100 || 20*excluded > len(all) {
		t.Errorf("%d kernels, %d of which do not run", len(all), excluded)
	}
	root := os.Getenv("TRITONC_CHECKOUTS")
	if root == "" {
		t.Skip("set TRITONC_CHECKOUTS to the folder with the checkouts that testdata/npu-kernels.tsv lists, to run their kernels")
	}
	for _, p := range all {
		if !strings.Contains(p.String(), os.Getenv("TRITONC_ONLY")) {
			continue
		}
		t.Run(p.String(), func(t *testing.T) {
			r := kerneltest.Rand(t)
			names, args := make([]string, len(p.arguments)), make([]any, len(p.arguments))
			for i, a := range p.arguments {
				name, text, ok := strings.Cut(a, "=")
				v, err := p.argument(r, text)
				if !ok || err != nil {
					t.Fatalf("argument %q: %v", a, err)
				}
				names[i], args[i] = name, v
			}
			got, err := p.run(t, root, "npu:ascend910b3", args)
			switch {
			case p.excluded != "" && err == nil:
				t.Fatalf("it runs, and is said not to: %s", p.excluded)
			case p.excluded != "" && !strings.Contains(kerneltest.Text(err), p.excluded):
				t.Fatalf("%s\nwant: %s", kerneltest.Text(err), p.excluded)
			case p.excluded != "":
				return
			case err != nil:
				t.Fatal(kerneltest.Text(err))
			}
			if p.check == "mlir" {
				needMLIR(t)
				onMLIR = true
				defer func() { onMLIR = false }()
			}
			against := map[string]string{"mlir": "npu:ascend910b3"}[p.check]
			if against == "" {
				against = p.check
			}
			want, err := p.run(t, root, against, args)
			if err != nil {
				t.Fatalf("%s: %s", p.check, kerneltest.Text(err))
			}
			written := false
			for i, a := range want {
				a, ok := a.(*array.Array)
				if !ok {
					continue
				}
				wrote := !slices.EqualFunc(a.Floats(), args[i].(*array.Array).Floats(), func(x, y float64) bool { return x == y || x != x && y != y })
				written = written || wrote
				near(t, names[i], got[i].(*array.Array).Floats(), a.Floats(), &launch{rtol: p.tolerance, atol: p.tolerance})
			}
			if !written {
				t.Error("the launch changes no argument")
			}
		})
	}
}
