package nvidia

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/backend/llvm"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// makePTX has llc translate the LLVM IR.
func (j *job) makePTX(c *backend.Compilation) error {
	version, err := j.ptxVersion(c)
	if err != nil {
		return err
	}
	llir := string(c.Artifact)
	ptx, err := llvm.GenerateCode(c, j.early.target(), j.llcArguments(version, llir), []byte(forLLC(llir)))
	if err != nil {
		return err
	}
	c.Artifact = []byte(withoutDebugTarget(string(ptx)))
	return nil
}

// llcArguments are those of llc for LLVM IR and the PTX ISA version to write.
func (j *job) llcArguments(version int, llir string) []string {
	args := []string{
		"-march=nvptx64", "-mcpu=" + j.arch.smName(), "-mattr=+ptx" + strconv.Itoa(version),
		"--nvptx-short-ptr", "-nvptx-mad-wide-opt", "-O3",
	}
	if j.opts.EnableFPFusion {
		// Without it every mul and add is written with its rounding (.rn), and
		// those ptxas does not fuse either.
		args = append(args, "-fp-contract=fast")
	}
	if strideReductionPairs(llir) > maxStrideReductionPairs {
		args = append(args, "-opt-disable=slsr")
	}
	return args
}

// ptxVersion is the PTX ISA version to write: the option's, or the newest that
// the assembler reads.
func (j *job) ptxVersion(c *backend.Compilation) (int, error) {
	ptxas, err := c.Find(ptxasKind)
	var missing *backend.ToolNotFound
	switch {
	case errors.As(err, &missing):
		if j.opts.PTXVersion != nil {
			return *j.opts.PTXVersion, nil
		}
		return ptxVersionAlone, nil
	case err != nil:
		return 0, err
	case j.opts.PTXVersion == nil:
		return ptxVersionFor(ptxas), nil
	case *j.opts.PTXVersion > ptxVersion(ptxas):
		return 0, sdk.Errorf("option ptx_version: %d is newer than the %d that %s (%s) reads",
			*j.opts.PTXVersion, ptxVersion(ptxas), ptxas.Path, ptxas.Version)
	}
	return *j.opts.PTXVersion, nil
}

// forLLC has line tables written as .loc directives alone. With the debug
// sections of LineTablesOnly, which Triton's LLVM IR asks for, llc marks the
// target "debug", and then ptxas optimizes far less.
func forLLC(llir string) string {
	return strings.ReplaceAll(llir, "emissionKind: LineTablesOnly", "emissionKind: DebugDirectivesOnly")
}

// withoutDebugTarget drops what still says "debug" in the .target line, for an
// input that asks for full debug information.
func withoutDebugTarget(ptx string) string {
	i := strings.Index(ptx, "\n.target ")
	if i < 0 {
		return ptx
	}
	i++
	end := i + strings.IndexByte(ptx[i:]+"\n", '\n')
	return ptx[:i] + strings.ReplaceAll(ptx[i:end], ", debug", "") + ptx[end:]
}

// describePTX fills in the metadata of a kernel that entered as LLVM IR or PTX.
func describePTX(c *backend.Compilation) error {
	k, err := readPTX(string(c.Artifact))
	if err != nil {
		return err
	}
	return c.Meta.EnterBelow(&c.Plan.Device, c.Request.InputName, k.name, k.threads, ".reqntid", k.dynamicShared)
}

// kernelFacts are what a PTX module says of its kernel.
type kernelFacts struct {
	name string
	// threads of a block, from .reqntid; 0 when it does not say.
	threads int
	// dynamicShared: it uses shared memory whose size is given at the launch.
	dynamicShared bool
}

// readPTX finds the module's only kernel.
func readPTX(ptx string) (kernelFacts, error) {
	var k kernelFacts
	for line := range strings.Lines(ptx) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, ".extern .shared"):
			k.dynamicShared = true
		case strings.HasPrefix(line, ".visible .entry ") || strings.HasPrefix(line, ".entry "):
			_, rest, _ := strings.Cut(line, ".entry ")
			name := strings.TrimSpace(rest)
			if i := strings.IndexAny(name, "( \t"); i >= 0 {
				name = name[:i]
			}
			if k.name != "" {
				return k, sdk.Errorf("there are two kernels here, %s and %s; Triton's format has one per file", k.name, name)
			}
			k.name = name
		case strings.HasPrefix(line, ".reqntid"):
			n, err := product(strings.TrimPrefix(line, ".reqntid"))
			if err != nil {
				return k, sdk.Errorf("%q: %v", line, err)
			}
			k.threads = n
		}
	}
	if k.name == "" {
		return k, sdk.Errorf("there is no kernel here: no .entry (of LLVM IR, a function with the calling convention ptx_kernel)")
	}
	return k, nil
}

// product multiplies "128, 1, 1".
func product(list string) (int, error) {
	n := 1
	for word := range strings.SplitSeq(list, ",") {
		m, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || m < 1 || m > 1024 {
			return 0, fmt.Errorf("%q is not a number of threads", strings.TrimSpace(word))
		}
		n *= m
	}
	return n, nil
}
