package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// What the section .nv.info.<kernel> says is a row of attributes: a byte for
// the form of the value, a byte for its meaning, and the value.
const (
	formNone  = 1 // two bytes of padding
	formByte  = 2 // one byte, one of padding
	formShort = 3 // two bytes
	formBytes = 4 // two bytes with the length of what follows

	attrParams = 0x0a // of all parameters: 32-bit index, 16-bit offset, 16-bit size
	attrBlock  = 0x10 // .reqntid: three 32-bit numbers
	attrRegs   = 0x2f // in .nv.info: 32-bit number of a symbol, 32-bit count of a thread's registers
	attrParam  = 0x17 // of a parameter: 32-bit index, 16-bit number, 16-bit offset, flags with the size above bit 18
)

// entryFlag in a symbol's st_other tells kernels from other functions.
const entryFlag = 0x10

// A cubin has CUDA's version where ELF files have their own, at this byte.
const versionAt = 20

func parseCubin(code []byte) (*File, error) {
	if len(code) < versionAt+4 {
		return nil, fmt.Errorf("the cubin is cut off")
	}
	code = bytes.Clone(code)
	binary.LittleEndian.PutUint32(code[versionAt:], uint32(elf.EV_CURRENT))
	e, err := elf.NewFile(bytes.NewReader(code))
	if err != nil {
		return nil, fmt.Errorf("the cubin cannot be read: %w", err)
	}
	symbols, err := e.Symbols()
	if err != nil {
		return nil, fmt.Errorf("the cubin's symbols cannot be read: %w", err)
	}
	counts, err := registers(e)
	if err != nil {
		return nil, err
	}
	f := &File{}
	for i, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Other&entryFlag == 0 {
			continue
		}
		k := Kernel{Name: s.Name, Registers: counts[i+1]} // the symbol before the first is left out
		info := e.Section(".nv.info." + s.Name)
		if info == nil {
			return nil, fmt.Errorf("the cubin says nothing about %s", s.Name)
		}
		data, err := info.Data()
		if err != nil {
			return nil, fmt.Errorf("what the cubin says about %s cannot be read: %w", s.Name, err)
		}
		if err := k.attributes(data); err != nil {
			return nil, fmt.Errorf("what the cubin says about %s: %w", s.Name, err)
		}
		f.Kernels = append(f.Kernels, k)
	}
	return f, nil
}

// registers are those of a thread of each function, by its symbol's number.
func registers(e *elf.File) (map[int]int, error) {
	info := e.Section(".nv.info")
	if info == nil {
		return nil, nil
	}
	data, err := info.Data()
	if err != nil {
		return nil, fmt.Errorf("what the cubin says about registers cannot be read: %w", err)
	}
	counts := map[int]int{}
	err = eachAttribute(data, func(attr byte, value []byte) {
		if attr == attrRegs && len(value) >= 8 {
			counts[int(binary.LittleEndian.Uint32(value))] = int(binary.LittleEndian.Uint32(value[4:]))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("what the cubin says about registers: %w", err)
	}
	return counts, nil
}

// eachAttribute visits the attributes whose values are bytes.
func eachAttribute(data []byte, visit func(attr byte, value []byte)) error {
	for len(data) > 0 {
		if len(data) < 4 {
			return fmt.Errorf("it is cut off")
		}
		form, attr, n := data[0], data[1], int(binary.LittleEndian.Uint16(data[2:]))
		data = data[4:]
		switch form {
		case formNone, formByte, formShort:
			continue
		case formBytes:
		default:
			return fmt.Errorf("an attribute of the unknown form %d", form)
		}
		if n > len(data) {
			return fmt.Errorf("it is cut off")
		}
		visit(attr, data[:n])
		data = data[n:]
	}
	return nil
}

func (k *Kernel) attributes(data []byte) error {
	le := binary.LittleEndian
	sizes := map[int]int{} // by a parameter's number
	all := 0
	err := eachAttribute(data, func(attr byte, value []byte) {
		n := len(value)
		switch {
		case attr == attrParams && n >= 8:
			all = int(le.Uint16(value[6:]))
		case attr == attrBlock && n >= 12:
			for i := range k.Block {
				k.Block[i] = int(le.Uint32(value[4*i:]))
			}
		case attr == attrParam && n >= 12:
			sizes[int(le.Uint16(value[4:]))] = int(le.Uint32(value[8:]) >> 18)
		}
	})
	if err != nil {
		return err
	}
	if len(sizes) == 0 && all > 0 {
		return nil // they are listed in a form that this package does not know
	}
	k.Params = make([]Param, len(sizes))
	for i := range k.Params {
		size, ok := sizes[i]
		if !ok {
			return fmt.Errorf("it has no parameter %d of %d", i, len(sizes))
		}
		k.Params[i].Size = size
	}
	return nil
}
