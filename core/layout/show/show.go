package show

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/layout"
)

// Tensor is the view by elements of a layout of a tensor.
func Tensor(l layout.Layout) string {
	if !l.IsShared() {
		return grid(l.Shape(), holders(l), ", ")
	}
	stored, all, n := elements(l, ":"), l.InSize(layout.Offset), shown(l)
	var cells []string
	for block := range l.InSize(layout.Block) {
		cells = append(cells, stored[block*all:][:n]...)
	}
	return grid(l.Shape(), cells, ",")
}

// shown is the number of offsets of a CTA that are shown: as if each element lay
// at one offset of one CTA. triton-tensor-layout leaves out the rest, too, where
// there are replicas or padding in the map.
func shown(l layout.Layout) int {
	return min(product(l.Shape())/l.InSize(layout.Block), l.InSize(layout.Offset))
}

// Hardware is the view by threads and registers, or by offsets. Where a shared
// layout has padding, address maps an offset of its linear part to that of the
// element; nil: they are the same.
func Hardware(l layout.Layout, address func(offset int) int) string {
	var b strings.Builder
	cells := elements(l, ",")
	if l.IsShared() {
		for block := range l.InSize(layout.Block) {
			fmt.Fprintf(&b, "Block: %d:\n", block)
			for offset, cell := range cells[block*l.InSize(layout.Offset):][:shown(l)] {
				if address != nil {
					offset = address(offset)
				}
				fmt.Fprintf(&b, "Offset: %d -> %s\n", offset, cell)
			}
		}
		return b.String()
	}
	lanes, registers := l.InSize(layout.Lane), l.InSize(layout.Register)
	for block := range l.InSize(layout.Block) {
		if l.InSize(layout.Block) > 1 {
			fmt.Fprintf(&b, "Block%d:\n", block)
		}
		for warp := range l.InSize(layout.Warp) {
			fmt.Fprintf(&b, "Warp%d:\n", warp)
			first := (block*l.InSize(layout.Warp) + warp) * lanes * registers
			for register := range registers {
				for lane := range lanes {
					if lane > 0 {
						b.WriteString(", ")
					}
					b.WriteString(cells[first+lane*registers+register])
				}
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

// holders lists, for each element in row-major order, the places that hold it.
func holders(l layout.Layout) []string {
	blocks, warps := l.InSize(layout.Block), l.InSize(layout.Warp)
	lanes, registers := l.InSize(layout.Lane), l.InSize(layout.Register)
	cells := make([]string, product(l.Shape()))
	i := 0
	for at := range places(l) {
		register, thread, block := i%registers, i/registers%(lanes*warps), i/(registers*lanes*warps)
		i++
		var b strings.Builder
		e := rowMajor(l.Shape(), at)
		if cells[e] != "" {
			b.WriteString(cells[e] + "|")
		}
		pad(&b, width(blocks)-width(block+1)+width(lanes*warps)-width(thread+1)+width(registers)-width(register+1))
		if blocks > 1 {
			fmt.Fprintf(&b, "B%d:", block)
		}
		fmt.Fprintf(&b, "T%d:%d", thread, register)
		cells[e] = b.String()
	}
	return cells
}

// elements lists the coordinates of what is at each place, in the order of
// places: (i,j), or with another separator.
func elements(l layout.Layout, separator string) []string {
	var cells []string
	shape := l.Shape()
	for at := range places(l) {
		var b strings.Builder
		for d, x := range at {
			b.WriteString([]string{"(", separator}[min(d, 1)])
			pad(&b, width(int(shape[d]))-width(x+1))
			b.WriteString(strconv.Itoa(x))
		}
		b.WriteByte(')')
		cells = append(cells, b.String())
	}
	return cells
}

// places yields the coordinates of the element at each place: the registers of a
// lane, the lanes of a warp, the warps of a CTA and the CTAs one after the
// other, or the offsets of a CTA.
func places(l layout.Layout) func(yield func(at []int) bool) {
	sizes := []layout.Dim{layout.Register, layout.Lane, layout.Warp, layout.Offset, layout.Block}
	return func(yield func([]int) bool) {
		total := 1
		for _, d := range sizes {
			total *= l.InSize(d)
		}
		in := make([]int, len(l.Ins()))
		for i := range total {
			rest := i
			for _, d := range sizes {
				for k, axis := range l.Ins() {
					if axis.Dim == d {
						in[k] = rest % axis.Size()
					}
				}
				rest /= l.InSize(d)
			}
			if !yield(l.Apply(in...)) {
				return
			}
		}
	}
}

// grid writes cells, in row-major order, as rows in brackets: every dimension
// opens one where it begins and closes it where it ends.
func grid(shape []int64, cells []string, separator string) string {
	var b strings.Builder
	columns := int(shape[len(shape)-1])
	for i, cell := range cells {
		if i%columns == 0 {
			n := opening(shape, i)
			b.WriteString(strings.Repeat("[", n))
			pad(&b, len(shape)-n)
		}
		b.WriteString(cell)
		if (i+1)%columns == 0 {
			b.WriteString(strings.Repeat("]", opening(shape, i+1)) + "\n")
		} else {
			b.WriteString(separator)
		}
	}
	return b.String()
}

// opening is the number of dimensions, from the last, that begin at element i.
func opening(shape []int64, i int) int {
	n, size := 0, 1
	for d := len(shape) - 1; d >= 0; d-- {
		if size *= int(shape[d]); i%size != 0 {
			break
		}
		n++
	}
	return n
}

func rowMajor(shape []int64, at []int) int {
	e := 0
	for d, x := range at {
		e = e*int(shape[d]) + x
	}
	return e
}

func product(shape []int64) int {
	n := 1
	for _, s := range shape {
		n *= int(s)
	}
	return n
}

// width is the number of digits of the last of n indices.
func width(n int) int { return len(strconv.Itoa(n - 1)) }

func pad(b *strings.Builder, n int) {
	for range n {
		b.WriteByte(' ')
	}
}
