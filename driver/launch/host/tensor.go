package host

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/array"
)

// storage is the memory of tensors. Its contents are data, whose elements repeat
// until there are n; after a kernel that may have written it, those on the device.
type storage struct {
	elem    *array.DType
	n       int
	data    *array.Array // of one dimension; nil for memory that nobody has written
	buf     driver.Buffer
	written bool // by a kernel: data is out of date
}

// period is the most elements of a storage that are made by themselves.
const period = 1 << 20

// maxBytes bounds a tensor.
const maxBytes = 1 << 38

// chunk is how many bytes are copied to the device at once, at least.
const chunk = 1 << 24

// place puts the storage on the device.
func (s *storage) place(p *Program) driver.Buffer {
	if s.buf != nil {
		return s.buf
	}
	size := s.n * s.elem.Size
	b, err := p.opts.Device.Alloc("tensor", size)
	if err != nil {
		p.fail("a tensor of "+diag.Count(size, "byte"), err)
	}
	s.buf = b
	p.owned = append(p.owned, s)
	s.copy(p)
	return b
}

// copy writes the contents to the device.
func (s *storage) copy(p *Program) {
	size := s.n * s.elem.Size
	if s.data == nil || size == 0 {
		return
	}
	unit := s.data.Data
	if times := chunk / len(unit); times > 1 && len(unit) < size {
		unit = bytes.Repeat(unit, min(times, (size+len(unit)-1)/len(unit)))
	}
	for off := 0; off < size; off += len(unit) {
		if p.ctx.Err() != nil {
			p.fail("copying a tensor", p.ctx.Err())
		}
		if err := s.buf.Write(off, unit[:min(len(unit), size-off)]); err != nil {
			p.fail("copying a tensor", err)
		}
	}
}

// put replaces the contents.
func (s *storage) put(p *Program, data *array.Array) {
	s.data, s.written = data, false
	if s.buf != nil {
		s.copy(p)
	}
}

// free gives the device's memory back. What a kernel wrote is lost.
func (s *storage) free() {
	if s.buf != nil {
		s.buf.Free()
		s.buf, s.written = nil, false
	}
}

// values are the storage's contents: of n elements, or fewer that repeat.
func (s *storage) values(p *Program) *array.Array {
	if s.written {
		s.data = array.New(s.elem, s.n)
		if err := s.buf.Read(0, s.data.Data); err != nil {
			p.fail("reading a tensor", err)
		}
		s.written = false
	}
	if s.data == nil {
		s.data = array.New(s.elem, min(s.n, 1))
	}
	return s.data
}

// Tensor stands for a torch.Tensor on the device.
type Tensor struct {
	program *Program
	memory  *storage
	dtype   *lang.TorchDType
	shape   []int64
	strides []int64 // in elements
	offset  int64   // in elements

	requiresGrad bool
	grad         any
	made         *application // the autograd function that made it, or nil
}

// newTensor makes a tensor of its own memory, without contents.
func (p *Program) newTensor(dtype *lang.TorchDType, shape []int64) *Tensor {
	elem := array.Named(dtype.Type().String())
	if elem == nil {
		eval.Fail("tensors of %s are not known here", dtype.Repr())
	}
	total := float64(elem.Size)
	for _, n := range shape {
		if n < 0 {
			eval.Fail("negative dimension %d of a tensor", n)
		}
		total *= float64(n)
	}
	if total > maxBytes {
		eval.Fail("a tensor of %.3g bytes is too large", total)
	}
	t := &Tensor{program: p, dtype: dtype, shape: shape, strides: contiguous(shape)}
	t.memory = &storage{elem: elem, n: int(t.numel())}
	return t
}

// contiguous are the strides of a dense tensor.
func contiguous(shape []int64) []int64 {
	strides := make([]int64, len(shape))
	n := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = n
		n *= max(shape[i], 1)
	}
	return strides
}

func (t *Tensor) numel() int64 {
	n := int64(1)
	for _, d := range t.shape {
		n *= d
	}
	return n
}

func (t *Tensor) size() int64 { return int64(t.memory.elem.Size) }

// isContiguous reports whether the elements are dense, row by row.
func (t *Tensor) isContiguous() bool {
	want := contiguous(t.shape)
	for i, n := range t.shape {
		if n > 1 && t.strides[i] != want[i] {
			return false
		}
	}
	return true
}

// Array returns the elements, row by row, as they are after the launches so far.
func (t *Tensor) Array() (x *array.Array, err error) {
	err = t.program.try(func() {
		x = array.New(t.memory.elem, narrow(t.shape)...)
		from := t.copied().memory.data
		for i := 0; i < len(x.Data) && len(from.Data) > 0; i += len(from.Data) {
			copy(x.Data[i:], from.Data)
		}
	})
	return x, err
}

// fill has the storage's contents made by f, on as many elements as are made by
// themselves.
func (t *Tensor) fill(most int, f func(x *array.Array)) *Tensor {
	x := array.New(t.memory.elem, min(t.memory.n, most))
	f(x)
	t.memory.put(t.program, x)
	return t
}

// whole reports whether the tensor is all of its memory, in whatever order.
func (t *Tensor) whole() bool {
	if int(t.numel()) != t.memory.n || t.offset != 0 {
		return false
	}
	order := make([]int, len(t.shape))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(t.strides[a], t.strides[b]) })
	n := int64(1)
	for _, d := range order {
		if t.shape[d] == 1 {
			continue
		}
		if t.strides[d] != n {
			return false
		}
		n *= t.shape[d]
	}
	return true
}

// TypeName is torch's.
func (t *Tensor) TypeName() string { return "Tensor" }

// Repr has what is known without looking at the elements.
func (t *Tensor) Repr() string {
	return fmt.Sprintf("tensor(…, size=%s, dtype=%s)", eval.Repr(tuple(t.shape)), t.dtype.Repr())
}

// Equal is identity: elements are not compared.
func (t *Tensor) Equal(other any) bool { return t == other }

// attributes are what a tensor has besides methods.
var attributes = map[string]func(t *Tensor) any{
	"shape":         func(t *Tensor) any { return tuple(t.shape) },
	"dtype":         func(t *Tensor) any { return t.dtype },
	"device":        func(t *Tensor) any { return theDevice },
	"ndim":          func(t *Tensor) any { return int64(len(t.shape)) },
	"itemsize":      func(t *Tensor) any { return t.size() },
	"nbytes":        func(t *Tensor) any { return t.size() * t.numel() },
	"is_cuda":       func(*Tensor) any { return true },
	"data":          func(t *Tensor) any { return t },
	"requires_grad": func(t *Tensor) any { return t.requiresGrad },
	"grad":          func(t *Tensor) any { return t.grad },
	"T":             func(t *Tensor) any { return t.transposed() },
	"mT":            func(t *Tensor) any { return t.swapped(-2, -1) },
}

// methods are those of a tensor, with their parameters.
var methods = map[string]struct {
	params string
	f      func(t *Tensor, c *call) any
}{
	"size":              {"dim", func(t *Tensor, c *call) any { return t.along(c, t.shape) }},
	"stride":            {"dim", func(t *Tensor, c *call) any { return t.along(c, t.strides) }},
	"dim":               {"", func(t *Tensor, _ *call) any { return int64(len(t.shape)) }},
	"numel":             {"", func(t *Tensor, _ *call) any { return t.numel() }},
	"nelement":          {"", func(t *Tensor, _ *call) any { return t.numel() }},
	"element_size":      {"", func(t *Tensor, _ *call) any { return t.size() }},
	"data_ptr":          {"", func(t *Tensor, _ *call) any { return t.pointer() }},
	"storage_offset":    {"", func(t *Tensor, _ *call) any { return t.offset }},
	"is_contiguous":     {"", func(t *Tensor, _ *call) any { return t.isContiguous() }},
	"is_floating_point": {"", func(t *Tensor, _ *call) any { return t.memory.elem.Float() }},
	"get_device":        {"", func(*Tensor, *call) any { return int64(0) }},
	"detach":            {"", func(t *Tensor, _ *call) any { return t.view(func(v *Tensor) { v.requiresGrad, v.made = false, nil }) }},
	"detach_":           {"", func(t *Tensor, _ *call) any { t.made = nil; return t }},
	"requires_grad_":    {"requires_grad", (*Tensor).requireGrad},
	"cuda":              {"device", func(t *Tensor, _ *call) any { return t }},
	"contiguous":        {"", func(t *Tensor, _ *call) any { return t.dense() }},
	"clone":             {"", func(t *Tensor, _ *call) any { return t.convert(t.dtype) }},
	"to":                {"dtype other non_blocking copy", (*Tensor).to},
	"type":              {"dtype", (*Tensor).to},
	"half":              {"", func(t *Tensor, _ *call) any { return t.convert(dtypeNamed("float16")) }},
	"float":             {"", func(t *Tensor, _ *call) any { return t.convert(dtypeNamed("float32")) }},
	"bfloat16":          {"", func(t *Tensor, _ *call) any { return t.convert(dtypeNamed("bfloat16")) }},
	"int":               {"", func(t *Tensor, _ *call) any { return t.convert(dtypeNamed("int32")) }},
	"long":              {"", func(t *Tensor, _ *call) any { return t.convert(dtypeNamed("int64")) }},
	"zero_":             {"", func(t *Tensor, _ *call) any { return t.set(0) }},
	"fill_":             {"value", func(t *Tensor, c *call) any { return t.set(c.number("value", 0)) }},
	"normal_":           {"mean std", (*Tensor).normal},
	"uniform_":          {"from to", (*Tensor).uniform},
	"new_empty":         {"*size", func(t *Tensor, c *call) any { return t.program.newTensor(t.dtype, sizes(c.name, c.rest)) }},
	"new_zeros":         {"*size", func(t *Tensor, c *call) any { return t.program.newTensor(t.dtype, sizes(c.name, c.rest)).set(0) }},
	"view":              {"*shape", func(t *Tensor, c *call) any { return t.reshaped("view", sizes(c.name, c.rest), true) }},
	"reshape":           {"*shape", func(t *Tensor, c *call) any { return t.reshaped("reshape", sizes(c.name, c.rest), false) }},
	"flatten":           {"", func(t *Tensor, _ *call) any { return t.reshaped("flatten", []int64{-1}, false) }},
	"t":                 {"", func(t *Tensor, _ *call) any { return t.transposed() }},
	"transpose":         {"dim0 dim1", func(t *Tensor, c *call) any { return t.swapped(c.integer("dim0", 0), c.integer("dim1", 1)) }},
	"permute":           {"*dims", func(t *Tensor, c *call) any { return t.permuted(sizes(c.name, c.rest)) }},
	"unsqueeze":         {"dim", func(t *Tensor, c *call) any { return t.unsqueezed(c.integer("dim", 0)) }},
	"squeeze":           {"dim", (*Tensor).squeezed},
	"expand":            {"*size", func(t *Tensor, c *call) any { return t.expanded(sizes(c.name, c.rest)) }},
	"backward":          {"gradient retain_graph", (*Tensor).backward},
	"is_same_size": {"other", func(t *Tensor, c *call) any {
		o, ok := c.need("other").(*Tensor)
		return ok && slices.Equal(o.shape, t.shape)
	}},
	"record_stream": {"stream", func(*Tensor, *call) any { return nil }},
}

// Attr is an attribute or a bound method; the rest of torch's is missing.
func (t *Tensor) Attr(name string) (any, bool) {
	if f, ok := attributes[name]; ok {
		return f(t), true
	}
	if m, ok := methods[name]; ok {
		return function(name, m.params, []string{"memory_format", "device"}, func(c *call) any { return m.f(t, c) }), true
	}
	return ownOfTorch("torch.Tensor." + name), true
}

// SetAttr sets what code that prepares data sets.
func (t *Tensor) SetAttr(name string, v any) bool {
	switch name {
	case "grad":
		t.grad = v
	case "requires_grad":
		t.requiresGrad = eval.Truth(v)
	default:
		return false
	}
	return true
}

func (t *Tensor) requireGrad(c *call) any {
	v, given := c.args["requires_grad"]
	t.requiresGrad = !given || eval.Truth(v)
	return t
}

// along is one dimension's number, or all of them.
func (t *Tensor) along(c *call, list []int64) any {
	if !c.has("dim") {
		return tuple(list)
	}
	return list[t.dimension(c.integer("dim", 0), len(list))]
}

func (t *Tensor) dimension(i int64, rank int) int {
	if i < 0 {
		i += int64(rank)
	}
	if i < 0 || i >= int64(rank) {
		eval.Fail("dimension %d of a tensor of %d", i, rank)
	}
	return int(i)
}

// pointer is the address of the first element.
func (t *Tensor) pointer() int64 {
	return int64(t.memory.place(t.program).Addr()) + t.offset*t.size()
}
