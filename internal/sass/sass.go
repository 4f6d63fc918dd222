package sass

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/tritonc/tritonc/internal/warpwide"
)

// Nvdisasm finds nvdisasm: in PATH, or where scripts/toolchain.sh puts it.
func Nvdisasm() (string, error) {
	if path, err := exec.LookPath("nvdisasm"); err == nil {
		return path, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(cache, "tritonc", "toolchain", "bin", "nvdisasm")
	if _, err := os.Stat(path); err != nil {
		return "", errors.New("nvdisasm is missing; scripts/toolchain.sh provides it")
	}
	return path, nil
}

// Arch is nvdisasm's name of an architecture: SM90a of 90, for which there is machine
// code of both.
func Arch(arch string) string {
	if arch == "90" {
		return "SM90a"
	}
	return "SM" + arch
}

// Cubin is machine code to check, under a name for messages.
type Cubin struct {
	Name string
	Code []byte
}

// Check lists the faults of machine code for one architecture, as nvdisasm calls it
// (SM80, SM90a), each with the cubin's name, the function, and the instruction.
func Check(ctx context.Context, nvdisasm, arch string, cubins []Cubin) ([]string, error) {
	return each(ctx, nvdisasm, arch, cubins, check)
}

// Apart lists the instructions for a whole warp, by the opcodes of package warpwide,
// that a predicate may take from some of its lanes. A predicate that is the same in
// all lanes is none: assemblers leave out the last iterations of an unrolled loop by
// one.
func Apart(ctx context.Context, nvdisasm, arch string, cubins []Cubin) ([]string, error) {
	return each(ctx, nvdisasm, arch, cubins, func(code []inst, entry bool) []string { return together(code, entry, wholeWarp) })
}

// wholeWarp are those opcodes.
var wholeWarp = map[string]bool{
	"REDUX": true, "MATCH": true, "VOTE": true, "LDSM": true, "MOVM": true, "HMMA": true, "IMMA": true, "SHFL": true,
}

// each is what check finds in each function.
func each(ctx context.Context, nvdisasm, arch string, cubins []Cubin, check func(code []inst, entry bool) []string) ([]string, error) {
	type function struct {
		name       string
		entry      bool
		start, end int // addresses
	}
	var functions []function
	var code bytes.Buffer
	for _, c := range cubins {
		sections, err := warpwide.Sections(c.Code)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		for _, s := range sections {
			start := code.Len()
			code.Write(s.Code)
			functions = append(functions, function{c.Name + ": " + s.Function, s.Entry, start, code.Len()})
		}
	}
	if len(functions) == 0 {
		return nil, nil
	}
	text, err := disassemble(ctx, nvdisasm, arch, code.Bytes())
	if err != nil {
		return nil, err
	}
	insts, err := parse(text)
	if err != nil {
		return nil, err
	}
	if got, want := len(insts)*16, code.Len(); got != want {
		return nil, fmt.Errorf("nvdisasm printed %d of %d instructions", len(insts), want/16)
	}
	var faults []string
	for _, f := range functions {
		for _, fault := range check(insts[f.start/16:f.end/16], f.entry) {
			faults = append(faults, f.name+": "+fault)
		}
	}
	return faults, nil
}

// disassemble is the text of machine code without a file around it.
func disassemble(ctx context.Context, nvdisasm, arch string, code []byte) (string, error) {
	f, err := os.CreateTemp("", "tritonc-sass-")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(code)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, nvdisasm, "-b", arch, "-ndf", f.Name())
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", nvdisasm, err, bytes.TrimSpace(said.Bytes()))
	}
	return string(text), nil
}
