package syntax

// slab hands out zeroed values of one type from chunks, so that a tree costs
// few allocations. A chunk lives as long as any node in it, which is as long as
// the tree.
type slab[T any] struct {
	free []T
	size int
}

// Chunks grow from the needs of a kernel file to those of a library module.
const (
	firstChunk = 16
	lastChunk  = 512
)

func (s *slab[T]) grow(n int) {
	s.size = min(max(2*s.size, firstChunk), lastChunk)
	s.free = make([]T, max(s.size, n))
}

// one returns a new zero T.
func (s *slab[T]) one() *T {
	if len(s.free) == 0 {
		s.grow(1)
	}
	x := &s.free[0]
	s.free = s.free[1:]
	return x
}

// list returns a copy of from; nil when it is empty.
func (s *slab[T]) list(from []T) []T {
	n := len(from)
	if n == 0 {
		return nil
	}
	if len(s.free) < n {
		s.grow(n)
	}
	x := s.free[:n:n]
	s.free = s.free[n:]
	copy(x, from)
	return x
}
