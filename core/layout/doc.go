// Package layout is the mathematics of where the elements of a tensor live.
//
// # The idea
//
// All sizes are powers of two, so an index is a list of bits, and nearly every
// arrangement that hardware wants (tiles in registers, lanes and warps, tensor
// core fragments, swizzled shared memory) moves those bits around or XORs
// them. So a Layout is a linear map over F₂, the field of two elements whose
// addition is XOR. It is given by the images of its input bits, the basis
// vectors. Once an Encoding (a name of Triton's grammar with its parameters) has
// become a Layout, nothing asks any more what it was called: conversions,
// vector widths, bank conflicts and replicas are computed from the map.
//
// A distributed layout maps (register, lane, warp, block) to the coordinates
// of the element that this register of this thread holds. A shared layout maps
// (offset, block) to the coordinates of the element at this offset of shared
// memory. Direction matters: a place always holds one element, but an element
// may be in several places (replicas), and then the map is not injective.
//
// # A worked table
//
// A 16×16 tensor under
//
//	#ttg.blocked<{sizePerThread = [2, 2], threadsPerWarp = [8, 4], warpsPerCTA = [1, 2], order = [1, 0]}>
//
// has these basis vectors, (row, column):
//
//	bit    0      1      2      3      4
//	reg    (0,1)  (1,0)
//	lane   (0,2)  (0,4)  (2,0)  (4,0)  (8,0)
//	warp   (0,8)
//
// The thread's 2×2 tile takes the lowest bit of the column, then of the row
// (order [1, 0]: the column is fastest); the lanes take the next two bits of
// the column and the last three of the row; the warps take the last bit of the
// column. Register 3 of lane 9 of warp 1 holds
//
//	reg 3 = bits 0, 1:  (0,1) ⊕ (1,0)
//	lane 9 = bits 0, 3: (0,2) ⊕ (4,0)
//	warp 1 = bit 0:     (0,8)
//
// together (5, 11). Were the tensor 8×16, (8,0) would lie outside: it becomes
// (0,0), and lanes 16–31 hold replicas. Were it 16×32, a third register bit
// (0,16) would be appended: the pattern repeats.
//
// # Operations
//
// Product puts one layout around another (a tile and its repetition), Divide
// undoes that. Compose chains maps, Invert and PseudoInvert invert them,
// InvertAndCompose answers "where in this layout is what that layout has
// here". FreeMask finds replicas. Convert plans how a tensor changes from one
// distributed layout to another with the nearest means (renaming registers,
// shuffles, shared memory), and Stage finds an arrangement of shared memory
// for it without bank conflicts. Trans, Reshape, Join, Split and ExpandDims
// tell the encoding that leaves every value in place.
//
// The idea and much of the algebra are from "Linear Layouts: Robust Code
// Generation of Efficient Tensor Computation Using F₂" (Zhou et al., 2025,
// arXiv:2505.23819).
//
// # Invariants
//
// Layouts and encodings never change once made. Bits of packed indices are
// counted from the first axis. Shapes are in elements. Errors are for what a
// user or an IR file can get wrong (an encoding that does not fit its tensor);
// misuse of the algebra is a panic that says BUG.
//
// The package is a leaf: standard library only, no IR, no vendor, and no
// assumption on how many lanes a warp has; encodings say so.
package layout
