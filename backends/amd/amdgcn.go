package amd

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/backends/amd/gpu"
	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/backend/llvm"
	"github.com/tritonc/tritonc/core/diag"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// wholeTuples has llc spill tuples of registers whole.
const wholeTuples = "-enable-subreg-liveness=0"

// manyBranches is from how many branches on a kernel is one whose threads have hundreds of
// elements of tensors, each accessed under a condition of its own. Passes of llc take time
// in the square of their number or more: the optimizers of scalar IR, which also have later
// branches take their conditions from earlier ones again.
const manyBranches = 1024

// withoutScalarPasses leaves these optimizers out.
const withoutScalarPasses = "-amdgpu-scalar-ir-passes=0"

// makeAMDGCN has llc translate the LLVM IR.
func (j *job) makeAMDGCN(c *backend.Compilation) error {
	if err := llvm.CheckTriple(c, j.target(), c.Artifact); err != nil {
		return err
	}
	if err := j.checkChip(c); err != nil {
		return err
	}
	args := j.llcArguments()
	if bytes.Count(c.Artifact, []byte("\n  br i1 ")) >= manyBranches {
		args = append(args, withoutScalarPasses)
	}
	code, err := llvm.GenerateCode(c, j.target(), args, c.Artifact)
	if err == nil && belowStack(code) {
		if code, err = llvm.GenerateCode(c, j.target(), append(args, wholeTuples), c.Artifact); err == nil && belowStack(code) {
			return sdk.Errorf("llc's code for kernel %s accesses memory below its stack", c.Meta.Name).
				WithHelp("smaller blocks or more warps (num_warps) need fewer registers per thread, and no stack")
		}
	}
	if err == nil {
		code = gpu.WithoutMarks(code)
		err = j.checkInlineAssembly(c, code)
	}
	c.Artifact = code
	return err
}

// checkChip refuses LLVM IR whose functions are for another chip: its lanes and instructions
// may be others.
func (j *job) checkChip(c *backend.Compilation) error {
	const key = `"target-cpu"="`
	line := 0
	for text := range bytes.Lines(c.Artifact) {
		line++
		at := bytes.Index(text, []byte(key))
		if at < 0 || !bytes.HasPrefix(text, []byte("define")) && !bytes.HasPrefix(text, []byte("attributes")) {
			continue
		}
		cpu, _, _ := strings.Cut(string(text[at+len(key):]), `"`)
		if cpu != j.arch.chip.Name {
			return &sdk.Diagnostic{
				File: c.File, Line: line, Column: at + 1, SourceLine: strings.TrimRight(string(text), "\r\n"),
				Message: fmt.Sprintf("the LLVM IR is for %s, and this compile for %s", cpu, j.arch.chip.Name),
				Help:    "compile it with --target " + backendName + ":" + cpu + ", or the kernel's source for " + j.arch.chip.Target(),
			}
		}
	}
	return nil
}

// belowStack reports whether code has a fault of llc 22: where a thread's frame has more
// than 4 KiB, it takes the last part of a spilled tuple for one whose offset is encoded,
// which then is that offset less 8 KiB.
//
//	scratch_store_b128 off, v[82:85], off offset:4080
//	scratch_store_b64 off, v[86:87], off offset:-4096
func belowStack(code []byte) bool {
	for line := range bytes.Lines(code) {
		if bytes.Contains(line, []byte("\tscratch_")) && bytes.Contains(line, []byte(" off offset:-")) {
			return true
		}
	}
	return false
}

// llcArguments are those of llc.
func (j *job) llcArguments() []string {
	args := []string{"-mtriple=" + j.target().Triple(), "-mcpu=" + j.arch.chip.Name, "-O3"}
	if strings.HasPrefix(j.arch.chip.Name, "gfx11") {
		args = append(args, "-mattr=-real-true16") // as Triton: halves of registers are not allocated singly
	}
	if j.opts.EnableFPFusion {
		args = append(args, "-fp-contract=fast")
	}
	return args
}

// usage is what the metadata of the assembly tells of a kernel. Counts are of registers
// of 32 bits: those of a lane, and those of a warp.
type usage struct {
	Registers       int `json:"registers"` // vector registers, accumulation registers included
	ScalarRegisters int `json:"scalar_registers"`
	VectorSpills    int `json:"vector_spills"` // registers
	ScalarSpills    int `json:"scalar_spills"`
	Stack           int `json:"stack"` // bytes of a thread's frame
	StaticShared    int `json:"static_shared"`
}

// kernelFacts are what assembly says of its kernel.
type kernelFacts struct {
	name string
	// threads of a work-group at most; 0 where it does not say.
	threads int
	usage   usage
}

// madeAgain is what to do about a file without a kernel.
const madeAgain = "the file may be cut short: --emit amdgcn and --emit llir write such files of a kernel"

// readAMDGCN finds the only kernel in assembly, by its metadata:
//
//	amdhsa.kernels:
//	  - .agpr_count:     0
//	    .max_flat_workgroup_size: 256
//	    .name:           vector_add
func readAMDGCN(text string) (kernelFacts, error) {
	var k kernelFacts
	text = strings.ReplaceAll(text, "\r\n", "\n")
	_, meta, ok := strings.Cut(text, "\n\t.amdgpu_metadata\n")
	if !ok {
		return k, sdk.Errorf("there is no kernel here: no .amdgpu_metadata (of LLVM IR, no function with the calling convention amdgpu_kernel)").WithHelp(madeAgain)
	}
	meta, _, _ = strings.Cut(meta, "\n\t.end_amdgpu_metadata")
	numbers := map[string]*int{
		".vgpr_count": &k.usage.Registers, ".sgpr_count": &k.usage.ScalarRegisters,
		".vgpr_spill_count": &k.usage.VectorSpills, ".sgpr_spill_count": &k.usage.ScalarSpills,
		".private_segment_fixed_size": &k.usage.Stack, ".group_segment_fixed_size": &k.usage.StaticShared,
		".max_flat_workgroup_size": &k.threads,
	}
	for line := range strings.Lines(meta) {
		line = strings.TrimRight(line, "\n")
		// The fields of a kernel; those of its arguments are further to the right.
		if !strings.HasPrefix(line, "  - .") && !strings.HasPrefix(line, "    .") {
			continue
		}
		key, value, _ := strings.Cut(line[4:], ":")
		value = strings.TrimSpace(value)
		if key == ".name" {
			if k.name != "" {
				return k, sdk.Errorf("there are two kernels here, %s and %s; Triton's format has one per file", k.name, value)
			}
			k.name = strings.Trim(value, "'")
		}
		if p := numbers[key]; p != nil {
			n, err := strconv.Atoi(value)
			if err != nil {
				return k, sdk.Errorf("%s of the metadata is %q, not a number", key, value)
			}
			*p = n
		}
	}
	if k.name == "" {
		return k, sdk.Errorf("there is no kernel here: the .amdgpu_metadata name none").WithHelp(madeAgain)
	}
	return k, nil
}

// describeAMDGCN fills in the metadata of a kernel that entered as LLVM IR or assembly.
func describeAMDGCN(c *backend.Compilation) error {
	text := string(c.Artifact)
	k, err := readAMDGCN(text)
	if err != nil {
		return err
	}
	return c.Meta.EnterBelow(&c.Plan.Device, c.Request.InputName, k.name, k.threads, ".max_flat_workgroup_size", strings.Contains(text, sharedSymbol))
}

// warnOfUsage tells of registers that went to memory, at the kernel's line.
func (j *job) warnOfUsage(c *backend.Compilation, u *usage) {
	if u.VectorSpills == 0 {
		return
	}
	d := sdk.Diagnostic{
		Severity: sdk.Warning,
		Message: fmt.Sprintf("kernel %s spills registers: each thread has %s in memory, beside the %d that it has",
			c.Meta.Name, diag.Count(u.VectorSpills, "register"), u.Registers),
		Help: "smaller blocks or more warps (num_warps) need fewer registers per thread",
	}
	if n := j.opts.WavesPerEU; n > 0 {
		d.Help += fmt.Sprintf("; waves_per_eu is %d", n)
	}
	d.File, d.Line, d.Column = c.KernelPlace()
	c.Warn(d)
}
