package gpu

import (
	"fmt"
	"strconv"

	"github.com/tritonc/tritonc/core/llir"
	"github.com/tritonc/tritonc/core/lower"
)

// CopyAsync is cp.async, of 4, 8 or 16 bytes. Where the mask is false it reads
// nothing and writes zeros; other values are stored by an ordinary store.
//
// An eviction policy is left out, on every target: for compute capability 9.0,
// ptxas 12.4 to 13.0 and the driver (from -O1 on) assemble cp.async with
// L2::cache_hint to an illegal instruction, and PTX of older targets runs there,
// too. Triton leaves it out as well.
func (t *Target) CopyAsync(b *llir.Builder, c *lower.Copy) error {
	a := &c.From
	bytes := bitsOf(a.Elem) / 8 * a.Count
	if bytes < 4 {
		return fmt.Errorf("an asynchronous copy moves at least 4 bytes per thread, not %d", bytes)
	}
	cache := "ca"
	if bytes == 16 {
		cache = "cg"
	}
	others := !allZero(a.Other)
	var s assembly
	pred := c.Owner
	if others {
		pred = and(b, pred, a.Mask)
	}
	s.predicate(pred)
	s.str("cp.async." + cache + ".shared.global")
	s.str(" ")
	s.address("r", c.To, c.ToOffset)
	s.str(", ")
	s.address("l", a.Ptr, a.Offset)
	s.str(", 0x" + strconv.FormatInt(int64(bytes), 16))
	if a.Mask != nil && !others {
		// The size, 0 where there is nothing to read. The operand ignore-src takes
		// fewer instructions, yet with it large dots of 16-bit floats were 1 to
		// 3 % slower on an H200.
		n := s.in("r", copied(b, c, bytes))
		s.str(", ")
		s.ref(n)
	}
	s.str(";")
	s.emit(b, nil)
	if others {
		t.StoreShared(b, &lower.Access{
			Ptr: c.To, Offset: c.ToOffset, Elem: a.Elem, Count: a.Count,
			Mask: and(b, c.Owner, b.Not(a.Mask)),
		}, a.Other)
	}
	return nil
}

// copied is how many of so many bytes a copy reads. LLVM selects once for each part of a
// conjunction, and ptxas keeps what was selected in registers; so the conjunction is one
// predicate. But crowded threads, that they may have all of their registers: those of
// chunk_fwd_kernel_h of flash-linear-attention, with a gate for each key, are otherwise
// given 168, and wait for each load (72 us on an H200 instead of 55).
func copied(b *llir.Builder, c *lower.Copy, bytes int) llir.Value {
	mask := c.From.Mask
	if c.Crowded || !llir.IsAnd(mask) {
		return b.Select(mask, b.M.I32(bytes), b.M.I32(0))
	}
	return b.Asm("selp.b32 $0, "+strconv.Itoa(bytes)+", 0, $1;", "=r,b", false, llir.I32, mask)
}

// and joins predicates, nil standing for true.
func and(b *llir.Builder, x, y llir.Value) llir.Value {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	}
	return b.And(x, y)
}

// allZero reports whether all values are the constant whose bits are zero.
func allZero(vals []llir.Value) bool {
	for _, v := range vals {
		switch c := v.(type) {
		case *llir.Int:
			if c.Bits != 0 {
				return false
			}
		case *llir.Float:
			if c.Bits != 0 {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// CommitCopies is cp.async.commit_group.
func (*Target) CommitCopies(b *llir.Builder) {
	b.Call(b.M.Declare("llvm.nvvm.cp.async.commit.group", llir.HasEffects, llir.Void))
}

// WaitCopies is cp.async.wait_group.
func (*Target) WaitCopies(b *llir.Builder, n int) {
	b.Call(b.M.Declare("llvm.nvvm.cp.async.wait.group", llir.HasEffects, llir.Void, llir.I32), b.M.I32(n))
}
