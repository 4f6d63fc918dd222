package slab

// Of is a slab of Ts. The zero value is ready.
type Of[T any] struct {
	free []T
	size int
}

// Chunks grow from the needs of a small kernel to those of a large one, in values.
const (
	firstChunk = 16
	lastChunk  = 512
)

func (s *Of[T]) grow(n int) {
	s.size = min(max(2*s.size, firstChunk), lastChunk)
	s.free = make([]T, max(s.size, n))
}

// One returns a new zero T.
func (s *Of[T]) One() *T {
	if len(s.free) == 0 {
		s.grow(1)
	}
	x := &s.free[0]
	s.free = s.free[1:]
	return x
}

// Make returns n zero Ts without room for more, so that what is appended to them goes
// elsewhere; nil where n is 0.
func (s *Of[T]) Make(n int) []T {
	if n == 0 {
		return nil
	}
	if len(s.free) < n {
		s.grow(n)
	}
	x := s.free[:n:n]
	s.free = s.free[n:]
	return x
}

// List returns a copy of from, as Make would make it.
func (s *Of[T]) List(from []T) []T {
	x := s.Make(len(from))
	copy(x, from)
	return x
}
