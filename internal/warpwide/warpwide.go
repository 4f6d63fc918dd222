package warpwide

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// names are the instructions by the low 12 bits of their 128, which is how long
// they are from compute capability 7.0 on.
var names = map[uint64]string{
	0x3c4: "REDUX", 0x3a1: "MATCH", 0x806: "VOTE",
	0x83b: "LDSM", 0x23a: "MOVM",
	0x23c: "HMMA", 0x237: "IMMA",
	0x389: "SHFL", 0x589: "SHFL", 0x989: "SHFL", 0xf89: "SHFL",
}

// always is the predicate, in the four bits above, of what every lane does.
const always = 7

// Counts are numbers of instructions by name.
type Counts map[string]int

// String lists them by name: "REDUX 3, SHFL 10".
func (c Counts) String() string {
	var list []string
	for name, n := range c {
		list = append(list, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// Read counts a cubin's instructions for a whole warp: those that all lanes do,
// and those that a predicate takes from some.
func Read(cubin []byte) (whole, partial Counts, err error) {
	sections, err := Sections(cubin)
	if err != nil {
		return nil, nil, err
	}
	whole, partial = Counts{}, Counts{}
	for _, s := range sections {
		for code := s.Code; len(code) >= 16; code = code[16:] {
			w := binary.LittleEndian.Uint64(code)
			name, ok := names[w&0xfff]
			switch {
			case !ok:
			case w>>12&15 == always:
				whole[name]++
			default:
				partial[name]++
			}
		}
	}
	return whole, partial, nil
}

var errNoCubin = errors.New("this is not a cubin")

// Section is the machine code of one function.
type Section struct {
	Function string
	// Entry says that a launch starts here: it has parameters in a bank of constants.
	Entry bool
	Code  []byte
}

// Sections are a cubin's sections with machine code. Package debug/elf has their
// types, but refuses a cubin's version of the format.
func Sections(cubin []byte) ([]Section, error) {
	var h elf.Header64
	if !bytes.HasPrefix(cubin, []byte(elf.ELFMAG)) || decode(cubin, 0, &h) != nil {
		return nil, errNoCubin
	}
	sections := make([]elf.Section64, h.Shnum)
	if decode(cubin, h.Shoff, sections) != nil || int(h.Shstrndx) >= len(sections) {
		return nil, errNoCubin
	}
	names, err := part(cubin, sections[h.Shstrndx])
	if err != nil {
		return nil, err
	}
	var code []Section
	entries := map[string]bool{}
	for _, s := range sections {
		if uint64(s.Name) > uint64(len(names)) {
			return nil, errNoCubin
		}
		name, _, _ := bytes.Cut(names[s.Name:], []byte{0})
		if f, ok := bytes.CutPrefix(name, []byte(".nv.constant0.")); ok {
			entries[string(f)] = true
		}
		f, ok := bytes.CutPrefix(name, []byte(".text."))
		if !ok {
			continue
		}
		c, err := part(cubin, s)
		if err != nil {
			return nil, err
		}
		code = append(code, Section{Function: string(f), Code: c})
	}
	for i := range code {
		code[i].Entry = entries[code[i].Function]
	}
	return code, nil
}

// part is what is in a section.
func part(cubin []byte, s elf.Section64) ([]byte, error) {
	size := uint64(len(cubin))
	if s.Off > size || s.Size > size-s.Off {
		return nil, errNoCubin
	}
	return cubin[s.Off : s.Off+s.Size], nil
}

func decode(cubin []byte, at uint64, v any) error {
	if at > uint64(len(cubin)) {
		return errNoCubin
	}
	_, err := binary.Decode(cubin[at:], binary.LittleEndian, v)
	return err
}
