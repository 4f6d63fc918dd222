package layout

import (
	"fmt"
)

// checkShape reports why a tensor of this shape cannot have a layout of the
// given rank, or nil.
func checkShape(e Encoding, shape []int64) error {
	if r := e.Rank(); r != 0 && r != len(shape) {
		return fmt.Errorf("encoding %s of rank %d on a tensor of rank %d", e.Mnemonic(), r, len(shape))
	}
	total := 0
	for _, n := range shape {
		if n <= 0 || n&(n-1) != 0 {
			return fmt.Errorf("encoding %s: size %d of the shape %v is not a power of two", e.Mnemonic(), n, shape)
		}
		total += log2(int(n))
	}
	if total > 32 {
		return fmt.Errorf("encoding %s: the shape %v has more than 2^32 elements", e.Mnemonic(), shape)
	}
	return nil
}

// checkPow2 reports the first list of which an entry is not a power of two, or
// whose length is not rank.
func checkPow2(e Encoding, rank int, lists ...[]int) error {
	for _, l := range lists {
		if len(l) != rank {
			return fmt.Errorf("encoding %s of rank %d: %v has length %d", e.Mnemonic(), rank, l, len(l))
		}
		for _, n := range l {
			if n <= 0 || n&(n-1) != 0 {
				return fmt.Errorf("encoding %s: %d in %v is not a power of two", e.Mnemonic(), n, l)
			}
		}
	}
	return nil
}

func checkOrder(e Encoding, order []int) error {
	seen := make([]bool, len(order))
	for _, d := range order {
		if d < 0 || d >= len(order) || seen[d] {
			return fmt.Errorf("encoding %s: order %v is not a permutation", e.Mnemonic(), order)
		}
		seen[d] = true
	}
	return nil
}

func checkBases(e Encoding, rank int, lists ...Bases) error {
	for _, l := range lists {
		for _, v := range l {
			if len(v) != rank {
				return fmt.Errorf("encoding %s of rank %d: basis %v has length %d", e.Mnemonic(), rank, v, len(v))
			}
			for _, x := range v {
				if x < 0 {
					return fmt.Errorf("encoding %s: negative coordinate in basis %v", e.Mnemonic(), v)
				}
			}
		}
	}
	return nil
}

// fromBases makes a layout over rank dimensions, each just large enough for
// the vectors given.
func fromBases(rank int, ins ...Input) Layout {
	outs := make([]Axis, rank)
	for i := range outs {
		outs[i].Dim = TensorDim(i)
		for _, in := range ins {
			for _, v := range in.Bases {
				for v[i]>>outs[i].Bits != 0 {
					outs[i].Bits++
				}
			}
		}
	}
	return New(outs, ins...)
}

// grow repeats l along its first input (registers, or offsets) until every
// output has at least the size of shape, in the order of l's outputs.
func grow(l Layout, shape []int64) Layout {
	first := l.ins[0].Dim
	for _, o := range l.outs {
		if want := int(shape[o.Dim-dim0]); want > o.Size() {
			l = Product(l, Identity(first, o.Dim, want>>o.Bits))
		}
	}
	return l
}

// clip cuts every output to at most the size of shape: what lay outside wraps
// around to what is inside, so a basis vector outside becomes zero, a replica.
func clip(l Layout, shape []int64) Layout {
	outs := make([]Axis, len(l.outs))
	for i, o := range l.outs {
		outs[i] = Axis{o.Dim, min(o.Bits, log2(int(shape[o.Dim-dim0])))}
	}
	c := Layout{ins: l.ins, outs: outs, cols: make([]uint64, len(l.cols))}
	for i, v := range l.cols {
		shift := 0
		for j, o := range l.outs {
			c.cols[i] |= (v & mask(outs[j].Bits)) << shift
			v >>= o.Bits
			shift += outs[j].Bits
		}
	}
	return c
}

// cgaLayout is the map from the CTA's index in its cluster to the tensor's
// coordinates, in units of one CTA's part.
func cgaLayout(cga Bases, rank int) Layout {
	return fromBases(rank, Input{Block, cga})
}

// combine fits the layout of one CTA's tile and the arrangement of CTAs to a
// tensor: the tile is repeated over, or clipped to, the part of one CTA.
func combine(cta Layout, cga Bases, shape []int64) Layout {
	g := clip(cgaLayout(cga, len(shape)), shape)
	part := make([]int64, len(shape))
	for i, n := range shape {
		part[i] = n >> g.OutBits(TensorDim(i))
	}
	l := Product(clip(grow(cta, part), part), g)
	return l.TransposeOuts(tensorDims(len(shape))...)
}

// tensorDims lists dim0 … dim<rank−1>.
func tensorDims(rank int) []Dim {
	d := make([]Dim, rank)
	for i := range d {
		d[i] = TensorDim(i)
	}
	return d
}

// rowMajor is the order of dimensions with the last one fastest.
func rowMajor(rank int) []int {
	o := make([]int, rank)
	for i := range o {
		o[i] = rank - 1 - i
	}
	return o
}
