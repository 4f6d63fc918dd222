package warpwide

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"
)

// cubin is an ELF file with a section of code: instructions by their low words.
func cubin(t *testing.T, code ...uint64) []byte {
	t.Helper()
	const names = "\x00.text.k\x00.nv.info\x00"
	var text []byte
	for _, w := range code {
		text = binary.LittleEndian.AppendUint64(text, w)
		text = binary.LittleEndian.AppendUint64(text, 0x0000000000067_3c4) // not the low word
	}
	head := uint64(binary.Size(elf.Header64{}))
	sections := []elf.Section64{
		{},
		{Name: 1, Off: head, Size: uint64(len(text))},
		{Name: 9, Off: head, Size: uint64(len(text))},
		{Off: head + uint64(len(text)), Size: uint64(len(names))},
	}
	h := elf.Header64{Shoff: head + uint64(len(text)+len(names)), Shnum: uint16(len(sections)), Shstrndx: 3}
	copy(h.Ident[:], elf.ELFMAG)
	var b bytes.Buffer
	for _, v := range []any{h, text, []byte(names), sections} {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		code           []uint64
		whole, partial string
	}{
		{nil, "", ""},
		{[]uint64{0x673c4, 0x7f89, 0x7589}, "REDUX 1, SHFL 2", ""},                                   // PT
		{[]uint64{0x673c4, 0x00000000040703c4, 0x783b, 0xf89}, "LDSM 1, REDUX 1", "REDUX 1, SHFL 1"}, // @P0
		{[]uint64{0xf3c4, 0x823c}, "", "HMMA 1, REDUX 1"},                                            // @!PT, @!P0
		{[]uint64{0x210, 0x7210}, "", ""},                                                            // IADD3
	} {
		whole, partial, err := Read(cubin(t, tt.code...))
		if err != nil || whole.String() != tt.whole || partial.String() != tt.partial {
			t.Errorf("%#x: %q and %q, want %q and %q (%v)", tt.code, whole, partial, tt.whole, tt.partial, err)
		}
	}
}

// TestReadBroken: a file that ends early, anywhere, is not a cubin, and nothing is
// read beyond it.
func TestReadBroken(t *testing.T) {
	whole := cubin(t, 0x673c4)
	for n := range whole {
		if _, _, err := Read(whole[:n:n]); err == nil {
			t.Errorf("%d bytes of %d are read", n, len(whole))
		}
	}
}
