package kernels

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/launch"
	"github.com/tritonc/tritonc/internal/kerneltest"
)

// irJob is a kernel as Triton compiled it to a ttgir of testdata.
type irJob struct {
	file   string
	kernel string // file.kernel
	// params are, by name, a type with an optional ":16" for what is passed, and
	// "=value" for what is compiled in.
	params map[string]string
	warps  int
	used   bool
}

func irJobs(t *testing.T) []*irJob {
	t.Helper()
	text, err := os.ReadFile("../../core/frontend/testdata/jobs.txt")
	if err != nil {
		t.Fatal(err)
	}
	var jobs []*irJob
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		path := filepath.Join("testdata", f[0]+".ttgir")
		if _, err := os.Stat(path); err != nil {
			continue
		}
		j := &irJob{file: path, kernel: strings.TrimSuffix(f[1], ".py") + "." + f[2], params: map[string]string{}, warps: 4}
		for p := range strings.SplitSeq(f[3], ", ") {
			if name, value, ok := strings.Cut(p, "="); ok {
				j.params[name] = "=" + value
			} else {
				name, typ, _ := strings.Cut(p, ":")
				j.params[name] = typ
			}
		}
		if len(f) > 4 {
			fmt.Sscanf(f[4], "num_warps=%d", &j.warps)
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// takes reports whether the job was compiled for such arguments, and which of
// them are passed.
func (j *irJob) takes(k kerneltest.Kernel, args []launch.Arg) (passed []launch.Arg, ok bool) {
	if n, given := k.Options["num_warps"].(int); given && n != j.warps || !given && j.warps != 4 {
		return nil, false
	}
	if strings.TrimSuffix(filepath.Base(k.File), ".py")+"."+k.Name != j.kernel {
		return nil, false
	}
	for _, a := range args {
		spec := j.params[a.Name]
		if value, constant := strings.CutPrefix(spec, "="); constant {
			text := fmt.Sprint(a.Value)
			if b, isBool := a.Value.(bool); isBool {
				text = strings.ToUpper(text[:1]) + fmt.Sprint(b)[1:]
			}
			if text != value {
				return nil, false
			}
			continue
		}
		typ, aligned := strings.CutSuffix(spec, ":16")
		switch v := a.Value.(type) {
		case *array.Array:
			if typ != "*"+v.Type.Name {
				return nil, false
			}
		case int64:
			if typ != "i32" || v != int64(int32(v)) || aligned && v%16 != 0 {
				return nil, false
			}
		default:
			return nil, false
		}
		passed = append(passed, a)
	}
	return passed, true
}

// TestTritonIR: what Triton itself made of these kernels, for cuda:80 (of casts_fp8
// for cuda:90), goes through the backend to right kernels. The tests are those of
// our own kernels; package gpu has more such files and tests.
func TestTritonIR(t *testing.T) {
	forNVIDIA(t, "what Triton made is for cuda:80 and cuda:90; backends/amd has its files for AMD's")
	if kerneltest.OnDevice() {
		t.Skip("the simulated device alone has the files")
	}
	defer func(warps, sizes []int) { target, warpCounts, blocks, kerneltest.Replace = "", warps, sizes, nil }(warpCounts, blocks)
	warpCounts, blocks = []int{4}, []int{128, 256}
	for _, target = range []string{"cuda:80", "cuda:90"} {
		jobs := irJobs(t)
		kerneltest.Replace = func(k kerneltest.Kernel, on core.Target, args []launch.Arg) (*core.Source, []launch.Arg) {
			for _, j := range jobs {
				passed, ok := j.takes(k, args)
				if !ok || on.Arch == "80" && j.kernel == "features.casts_fp8" {
					continue
				}
				text, err := os.ReadFile(j.file)
				if err != nil {
					t.Fatal(err)
				}
				j.used = true
				ir := strings.Replace(string(text), `"cuda:80"`, `"cuda:`+on.Arch+`"`, 1)
				return &core.Source{Path: j.file, Text: []byte(ir)}, passed
			}
			return nil, nil
		}
		t.Run(target, func(t *testing.T) {
			t.Run("block pointers", TestBlockPointers)
			t.Run("debugging", TestDebugging)
			t.Run("descriptors", TestDescriptors)
			t.Run("assembly", TestInlineAssembly)
			t.Run("libdevice", TestLibdevice)
			t.Run("maths", TestMaths)
			t.Run("matmul of descriptors", TestMatmulDescriptors)
			t.Run("randoms", TestRandoms)
			t.Run("scans", TestScans)
			t.Run("shapes", TestShapes)
			t.Run("sorts", TestSorts)
			t.Run("fp8", TestCastsFP8)
		})
		jobs = slices.DeleteFunc(jobs, func(j *irJob) bool { return j.used || target == "cuda:80" && j.kernel == "features.casts_fp8" })
		for _, j := range jobs {
			t.Errorf("%s: no test has run %s", target, j.file)
		}
	}
}
