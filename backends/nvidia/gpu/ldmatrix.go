package gpu

import (
	"strconv"

	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// ldmatrix and stmatrix move matrices of eight rows of 16 bytes. A lane holds four bytes
// of each: lane l those from 4·(l mod 4) on of row l/4. The transposed form takes
// the matrix for one of 2-byte elements, and a lane holds two of column l/4,
// those of the rows from 2·(l mod 4) on.
const (
	matrixRows     = 8
	matrixRowBytes = 16
	maxMatrices    = 4
)

// TileLoads are the forms of ldmatrix.
func (t *Target) TileLoads(elemBytes int) []lower.TileLoad {
	switch elemBytes {
	case 1, 4:
		return []lower.TileLoad{ldmatrix(elemBytes, false)}
	case 2:
		return []lower.TileLoad{ldmatrix(elemBytes, false), ldmatrix(elemBytes, true)}
	}
	return nil
}

func ldmatrix(elemBytes int, trans bool) lower.TileLoad {
	return lower.TileLoad{
		Tiles: lower.Tiles{Tile: matrixTile(elemBytes, trans), Most: maxMatrices},
		Load: func(b *llir.Builder, ptr llir.Value, off int64, n int, elem llir.Type) []llir.Value {
			name := "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x" + strconv.Itoa(n)
			if trans {
				name += ".trans"
			}
			var ret llir.Type = llir.I32
			if n > 1 {
				fields := make([]llir.Type, n)
				for i := range fields {
					fields[i] = llir.I32
				}
				ret = b.M.Struct(fields...)
			}
			f := b.M.Declare(name+".b16.p3", llir.HasEffects, ret, ptr.Type())
			v := b.Call(f, b.PtrAdd(ptr, off))
			words := []llir.Value{v}
			if n > 1 {
				words = make([]llir.Value, n)
				for i := range words {
					words[i] = b.ExtractValue(v, i)
				}
			}
			return elements(b, words, elem, n*4/elemBytes)
		},
	}
}

// TileStores are the forms of stmatrix, which compute capability 9.0 brought.
func (t *Target) TileStores(elemBytes int) []lower.TileStore {
	switch {
	case t.CC < 90:
		return nil
	case elemBytes == 2:
		return []lower.TileStore{stmatrix(elemBytes, false), stmatrix(elemBytes, true)}
	case elemBytes < 8:
		return []lower.TileStore{stmatrix(elemBytes, false)}
	}
	return nil
}

func stmatrix(elemBytes int, trans bool) lower.TileStore {
	return lower.TileStore{
		Tiles: lower.Tiles{Tile: matrixTile(elemBytes, trans), Most: maxMatrices},
		Store: func(b *llir.Builder, ptr llir.Value, off int64, n int, vals []llir.Value) {
			var s assembly
			s.str("stmatrix.sync.aligned.m8n8.x" + strconv.Itoa(n))
			if trans {
				s.str(".trans")
			}
			s.str(".shared.b16 ")
			s.address("r", ptr, off)
			s.str(", ")
			first := s.next
			for _, v := range packed(b, nil, vals) {
				s.in("r", v)
			}
			s.list(first, n, true)
			s.str(";")
			s.emit(b, nil)
		},
	}
}

// matrixTile maps (register, lane) to row and column of a matrix, for elements
// of 1, 2 or 4 bytes.
func matrixTile(elemBytes int, trans bool) layout.Layout {
	rows, cols := layout.TensorDim(0), layout.TensorDim(1)
	perRow, perWord := matrixRowBytes/elemBytes, 4/elemBytes
	var l layout.Layout
	if trans {
		l = layout.Product(layout.Identity(layout.Register, rows, perWord), layout.Identity(layout.Lane, rows, matrixRows/perWord))
		l = layout.Product(l, layout.Identity(layout.Lane, cols, perRow))
	} else {
		l = layout.Product(layout.Identity(layout.Register, cols, perWord), layout.Identity(layout.Lane, cols, perRow/perWord))
		l = layout.Product(l, layout.Identity(layout.Lane, rows, matrixRows))
	}
	return l.TransposeOuts(rows, cols)
}
