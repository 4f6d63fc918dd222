package driver

import (
	"strings"
	"testing"
)

type memory struct{ Buffer }

func (memory) Addr() uint64 { return 0x1000 }

// TestTensorMapCheck changes one thing at a time of a map that can be made.
func TestTensorMapCheck(t *testing.T) {
	good := func() *TensorMap {
		return &TensorMap{
			Buffer: memory{}, Shape: []int64{5, 6, 24}, Strides: []int64{4096, 64, 2},
			DescriptorMeta: DescriptorMeta{Swizzle: 3, ElemSize: 2, ElemType: 6, Box: []int64{1, 256, 64}},
		}
	}
	if err := good().Check(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*TensorMap){
		"1 to 5 dimensions, not 0":                        func(m *TensorMap) { m.Shape = nil },
		"1 to 5 dimensions, not 6":                        func(m *TensorMap) { m.Shape = make([]int64, 6) },
		"has 2 strides and a box of 3":                    func(m *TensorMap) { m.Strides = m.Strides[1:] },
		"padded 4-bit elements":                           func(m *TensorMap) { m.FP4Padded = true },
		"elements of type 13":                             func(m *TensorMap) { m.ElemType = 13 },
		"swizzle 4":                                       func(m *TensorMap) { m.Swizzle = 4 },
		"integers cannot be padded with NaN":              func(m *TensorMap) { m.NaN, m.ElemType = true, 1 },
		"needs memory":                                    func(m *TensorMap) { m.Buffer = nil },
		"begins at a multiple of 16 bytes, not at 0x1008": func(m *TensorMap) { m.Offset = 8 },
		"the last dimension of a descriptor is contiguous; here it advances by 4 bytes": func(m *TensorMap) { m.Strides[2] = 4 },
		"dimension 1 of a descriptor has 0 elements":                                    func(m *TensorMap) { m.Shape[1] = 0 },
		"dimension 0 of a descriptor has 4294967297 elements":                           func(m *TensorMap) { m.Shape[0] = 1<<32 + 1 },
		"a box has 512 elements in dimension 1; it can have 1 to 256":                   func(m *TensorMap) { m.Box[1] = 512 },
		"dimension 1 of a descriptor advances by 24 bytes; it must be a multiple of 16": func(m *TensorMap) { m.Strides[1] = 24 },
		"dimension 0 of a descriptor advances by 1099511627776 bytes":                   func(m *TensorMap) { m.Strides[0] = 1 << 40 },
		"rows of a box have 8 bytes; they must be a multiple of 16":                     func(m *TensorMap) { m.Box[2] = 4 },
		"rows of a box have 256 bytes":                                                  func(m *TensorMap) { m.Box[2] = 128 },
	} {
		m := good()
		change(m)
		if err := m.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
