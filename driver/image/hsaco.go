package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// AMD's code objects are ELF files for this machine, whose note of this type says in
// MessagePack what a launch must agree with (AMDGPU's ABI of code object version 3 and
// later).
const (
	machineAt    = 18
	machineAMD   = 224
	noteMetadata = 32
	noteOwner    = "AMDGPU"
)

// isCodeObject tells AMD's ELF files from NVIDIA's.
func isCodeObject(code []byte) bool {
	return len(code) >= machineAt+2 && binary.LittleEndian.Uint16(code[machineAt:]) == machineAMD
}

func parseCodeObject(code []byte) (*File, error) {
	e, err := elf.NewFile(bytes.NewReader(code))
	if err != nil {
		return nil, fmt.Errorf("the code object cannot be read: %w", err)
	}
	note, err := metadataNote(e)
	if err != nil {
		return nil, fmt.Errorf("the code object's metadata cannot be read: %w", err)
	}
	f, err := describeCodeObject(note)
	if err != nil {
		return nil, fmt.Errorf("the code object's metadata: %w", err)
	}
	return f, nil
}

// metadataNote finds the contents of the note with the metadata.
func metadataNote(e *elf.File) ([]byte, error) {
	for _, p := range e.Progs {
		if p.Type != elf.PT_NOTE {
			continue
		}
		data, err := io.ReadAll(p.Open())
		if err != nil {
			return nil, err
		}
		for len(data) >= 12 {
			nameSize, size := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:])
			kind := binary.LittleEndian.Uint32(data[8:])
			begin := 12 + (uint64(nameSize)+3)/4*4
			end := begin + uint64(size)
			if end > uint64(len(data)) {
				return nil, errors.New("a note is cut off")
			}
			name := strings.TrimRight(string(data[12:12+nameSize]), "\x00")
			if kind == noteMetadata && name == noteOwner {
				return data[begin:end], nil
			}
			data = data[min((end+3)/4*4, uint64(len(data))):]
		}
	}
	return nil, errors.New("there is none")
}

// describeCodeObject reads the kernels and the target from the metadata.
func describeCodeObject(note []byte) (*File, error) {
	v, err := unpack(note)
	if err != nil {
		return nil, err
	}
	top, _ := v.(map[string]any)
	name, _ := top["amdhsa.target"].(string)
	_, name, _ = strings.Cut(name, "--") // amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-
	f := &File{}
	f.Arch, _, _ = strings.Cut(name, ":")
	kernels, _ := top["amdhsa.kernels"].([]any)
	for _, v := range kernels {
		k, err := codeObjectKernel(v)
		if err != nil {
			return nil, err
		}
		f.Kernels = append(f.Kernels, k)
	}
	return f, nil
}

// codeObjectKernel reads the metadata of a kernel. Its hidden arguments, which the
// runtime fills in, are left out.
func codeObjectKernel(v any) (Kernel, error) {
	fields, _ := v.(map[string]any)
	k := Kernel{Params: []Param{}}
	k.Name, _ = fields[".name"].(string)
	if k.Name == "" {
		return k, errors.New("a kernel has no name")
	}
	number := func(fields map[string]any, key string) int {
		n, _ := fields[key].(int64)
		return int(n)
	}
	k.Registers = number(fields, ".vgpr_count")
	k.MaxThreads, k.Shared = number(fields, ".max_flat_workgroup_size"), number(fields, ".group_segment_fixed_size")
	args, _ := fields[".args"].([]any)
	for i, a := range args {
		arg, _ := a.(map[string]any)
		if kind, _ := arg[".value_kind"].(string); strings.HasPrefix(kind, "hidden_") {
			continue
		}
		size := number(arg, ".size")
		if size <= 0 {
			return k, fmt.Errorf("argument %d of kernel %s has no size", i, k.Name)
		}
		k.Params = append(k.Params, Param{size})
	}
	return k, nil
}
