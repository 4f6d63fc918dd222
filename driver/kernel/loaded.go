package kernel

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
)

// Tuple is a Python tuple: its elements are passed one by one. Their names play no
// part.
type Tuple []Arg

// Param is a parameter of a kernel.
type Param struct {
	Name string
	// Type as signatures have it, without a hint: "*fp32", "i32",
	// "tensordesc<fp16[64, 64]>".
	Type string
}

// Passed is a parameter of a compiled kernel with its place in a launch's arguments.
type Passed struct {
	Param
	// Arg is the argument's number, and Elem the place in it of an element of a
	// Tuple.
	Arg  int
	Elem []int
}

// Loaded is a compiled kernel on a device, ready for launches by several goroutines.
type Loaded struct {
	device driver.Device
	kernel driver.Kernel
	params []parameter
	frames sync.Pool // of *frame
}

// frame holds the parameters of a launch.
type frame struct{ args []any }

// parameter is a Passed as it is used.
type parameter struct {
	Passed
	kind
	meta *driver.DescriptorMeta // of a descriptor, or nil
}

// kind is what a type wants.
type kind struct {
	scalar scalar
	elem   *array.DType // of a pointer, or of a descriptor
	desc   bool
	block  []int // of a descriptor
}

// kindOf reads a type.
func kindOf(typ string) (kind, error) {
	if rest, ok := strings.CutPrefix(typ, "*"); ok {
		elem := array.Named(rest)
		if elem == nil {
			elem = array.Named(strings.TrimPrefix(rest, "k")) // to constant memory
		}
		if elem != nil || strings.HasPrefix(rest, "*") {
			return kind{elem: elem}, nil
		}
	}
	if rest, ok := strings.CutPrefix(typ, "tensordesc<"); ok {
		return descriptorKind(rest)
	}
	if s := scalars[typ]; s != noScalar {
		return kind{scalar: s}, nil
	}
	return kind{}, fmt.Errorf("a number of type %s cannot be passed to a kernel", typ)
}

// descriptorKind reads what follows "tensordesc<".
func descriptorKind(text string) (kind, error) {
	k := kind{desc: true}
	elem, sizes, ok := strings.Cut(strings.TrimSuffix(text, "]>"), "[")
	if k.elem = array.Named(elem); !ok || k.elem == nil {
		return k, fmt.Errorf("tensordesc<%s is not the type of a descriptor", text)
	}
	for size := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(size))
		if err != nil {
			return k, fmt.Errorf("tensordesc<%s is not the type of a descriptor", text)
		}
		k.block = append(k.block, n)
	}
	return k, nil
}

// CheckType refuses a type that no launch can pass.
func CheckType(typ string) error {
	_, err := kindOf(typ)
	return err
}

// Load puts a compiled kernel on a device. Params are what it takes, in order. A
// kernel whose blocks the device cannot run is a *driver.OutOfResources.
func Load(dev driver.Device, b driver.Binary, params []Passed) (*Loaded, error) {
	p := dev.Properties()
	if err := p.Fits(&b.Metadata); err != nil {
		return nil, err
	}
	l := &Loaded{device: dev, params: make([]parameter, len(params))}
	descriptors := 0
	for i, q := range params {
		k, err := kindOf(q.Type)
		if err != nil {
			return nil, &ArgError{Name: q.Name, Text: err.Error()}
		}
		l.params[i] = parameter{Passed: q, kind: k}
		if k.desc {
			if descriptors < len(b.Descriptors) {
				l.params[i].meta = b.Descriptors[descriptors]
			}
			descriptors++
		}
	}
	if n := len(b.Descriptors); n > 0 && n != descriptors {
		return nil, wrongArg("", "the kernel takes %s, and its signature has %d", diag.Count(n, "descriptor"), descriptors)
	}
	var err error
	l.kernel, err = dev.Load(b)
	return l, err
}

// Kernel is the kernel as the device has it.
func (l *Loaded) Kernel() driver.Kernel { return l.kernel }

// Bind gives a launch its arguments: one per parameter of the kernel in the source.
func (l *Loaded) Bind(to driver.Launch, bound []any) (driver.Launch, error) {
	var err error
	to.Args, err = l.appendArgs(nil, bound)
	return to, err
}

// Launch runs the kernel on the grid and the stream of a launch.
func (l *Loaded) Launch(ctx context.Context, to driver.Launch, bound []any) (*driver.Result, error) {
	f, _ := l.frames.Get().(*frame)
	if f == nil {
		f = &frame{args: make([]any, 0, len(l.params))}
	}
	args, err := l.appendArgs(f.args[:0], bound)
	if err != nil {
		return nil, err
	}
	f.args, to.Args = args, args
	r, err := l.kernel.Launch(ctx, to)
	if err == nil { // else the device may still look at them
		f.forget()
		l.frames.Put(f)
	}
	return r, err
}

// forget lets go of memory. Numbers stay: the next launch may well have them, too.
func (f *frame) forget() {
	for i, a := range f.args {
		switch a.(type) {
		case driver.Buffer, *driver.TensorMap:
			f.args[i] = nil
		}
	}
}

// appendArgs appends the parameters of a launch. Numbers that lie beyond args from
// the last launch are taken from there if they are the same.
func (l *Loaded) appendArgs(args []any, bound []any) ([]any, error) {
	for i := range l.params {
		p := &l.params[i]
		v := bound[p.Arg]
		for _, e := range p.Elem {
			v = v.(Tuple)[e].Value
		}
		var old any
		if n := len(args); n < cap(args) {
			old = args[:n+1][n]
		}
		var err error
		switch {
		case p.scalar != noScalar:
			v, err = p.scalar.pass(p.Name, p.Type, v, old)
		case p.desc:
			d, ok := v.(*Descriptor)
			if !ok || d == nil {
				return args, wrongArg(p.Name, "%T is not a descriptor, which the kernel takes", v)
			}
			if args, err = d.expand(args, p, l.device); err != nil {
				return args, err
			}
			continue
		case v != nil:
			v, err = p.pointer(l.device, v)
		}
		if err != nil {
			return args, err
		}
		args = append(args, v)
	}
	return args, nil
}

// fits reports whether a descriptor is of the kernel's type: code is made for the
// elements and the block.
func (p *parameter) fits(d *Descriptor) error {
	if t := d.Base.Type(); t != p.elem || !slices.Equal(d.Block, p.block) {
		return wrongArg(p.Name, "it is a descriptor of %s in blocks of %v, and the kernel takes %s", t.Name, d.Block, p.Type)
	}
	return nil
}

// pointer is memory as the device takes it.
func (p *parameter) pointer(dev driver.Device, v any) (any, error) {
	mem, ok := v.(Memory)
	if !ok {
		return nil, wrongArg(p.Name, "%v (%T) is not a buffer, and the kernel takes %s", v, v, p.Type)
	}
	m := mem.of()
	if m == nil {
		return nil, nil
	}
	if p.elem != nil && m.dtype != p.elem {
		return nil, wrongArg(p.Name, "it is a buffer of %s, and the kernel takes %s", m.dtype, p.Type)
	}
	return passMemory(p.Name, dev, m)
}
