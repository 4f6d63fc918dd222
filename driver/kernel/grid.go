package kernel

import "github.com/tritonc/tritonc/driver"

// Grid says how many programs a launch runs in each dimension, and on which stream.
type Grid struct {
	dims   [3]int
	n      int // dimensions given
	f      func(Constants) Grid
	stream driver.Stream
	err    error
}

// Dims is a grid of one to three dimensions.
func Dims(n ...int) Grid {
	g := Grid{dims: [3]int{1, 1, 1}, n: len(n)}
	copy(g.dims[:], n)
	return g
}

// GridFunc is a grid that depends on constants of the kernel, which its
// configuration or a heuristic may give. Numbers among the arguments are known, too.
func GridFunc(f func(Constants) Grid) Grid { return Grid{f: f} }

// BadGrid is what a function of GridFunc returns that has no grid to give: the launch
// fails with err.
func BadGrid(err error) Grid { return Grid{err: err} }

// On is the grid for a launch on a stream, of a device that has streams. Such a launch
// returns at once, with a result that says nothing; Stream.Sync tells of its end. Until
// then the buffers must not be freed.
func (g Grid) On(s driver.Stream) Grid {
	g.stream = s
	return g
}

// Constants are the numbers of a launch by name: constants of the kernel, and
// arguments.
type Constants struct {
	lookup func(name string) (any, bool)
}

// Int is an integer, or a bool as 0 or 1. The launch fails where there is none.
func (c Constants) Int(name string) int {
	v, ok := c.lookup(name)
	if ok {
		if b, ok := v.(bool); ok {
			if b {
				return 1
			}
			return 0
		}
		if n, _, ok := Integer(v); ok {
			return int(n)
		}
	}
	panic(&noInteger{name, v, ok})
}

// noInteger is what Int panics with.
type noInteger struct {
	name  string
	value any
	given bool
}

func (e *noInteger) err() error {
	switch v := e.value.(type) {
	case Memory:
		return wrongArg(e.name, "the grid needs an integer, and it is a buffer of %s", v.Type())
	case *Descriptor:
		return wrongArg(e.name, "the grid needs an integer, and it is a tensor descriptor")
	}
	if e.given {
		return wrongArg(e.name, "the grid needs an integer, and it is %#v (%T)", e.value, e.value)
	}
	return wrongArg("", "the grid asks for %s, which the kernel has no number for", e.name)
}

// Stream is that of On, or nil.
func (g Grid) Stream() driver.Stream { return g.stream }

// IsFunc reports whether the grid is a GridFunc.
func (g Grid) IsFunc() bool { return g.f != nil }

// Resolve returns a launch without arguments. Lookup has the numbers that a GridFunc may
// ask for; others need none.
func (g Grid) Resolve(lookup func(name string) (any, bool)) (l driver.Launch, err error) {
	l.Stream = g.stream
	if g.f != nil {
		defer func() {
			if p := recover(); p != nil {
				none, ok := p.(*noInteger)
				if !ok {
					panic(p)
				}
				err = none.err()
			}
		}()
		if g = g.f(Constants{lookup}); g.f != nil {
			return l, wrongArg("", "the grid's function returns a function")
		}
	}
	if g.err != nil {
		return l, &ArgError{Text: g.err.Error(), Err: g.err}
	}
	if g.n < 1 || g.n > 3 {
		return l, wrongArg("", "a grid has 1 to 3 dimensions, not %d", g.n)
	}
	for i, n := range g.dims {
		if n < 1 {
			return l, wrongArg("", "grid dimension %c is %d: it must be at least 1", "xyz"[i], n)
		}
	}
	l.Grid = g.dims
	return l, nil
}
