package host

import (
	"math/rand/v2"

	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/driver/array"
)

// modules finds the modules that host code imports.
type modules struct{ p *Program }

// Import finds torch, triton, and what of them has stand-ins here.
func (m *modules) Import(name string, load func(name string) any) any {
	switch name {
	case "torch":
		return m.torch(load)
	case "torch.cuda":
		return m.cuda(load)
	case "torch.autograd":
		return m.p.autograd()
	case "triton", "triton.testing", "triton.runtime", "triton.runtime.driver", "triton.tools", "triton.tools.tensor_descriptor":
		return m.triton(name, load)
	}
	return nil
}

// Kernel is what host code sees of a kernel.
func (m *modules) Kernel(fn *eval.Function) any { return &kernel{m.p, fn} }

// overlay is a module with other parts in the place of some of its own, and
// something for names that neither knows.
type overlay struct {
	name   string
	parts  map[string]any
	base   any // nil, or with attributes
	absent func(name string) any
}

// Attr finds a part.
func (o *overlay) Attr(name string) (any, bool) {
	if v, ok := o.parts[name]; ok {
		return v, true
	}
	if a, ok := o.base.(eval.Attributer); ok {
		v, ok := a.Attr(name)
		if _, missing := v.(*eval.Missing); ok && (!missing || o.absent == nil) {
			return v, true
		}
	}
	if o.absent != nil {
		return o.absent(name), true
	}
	return nil, false
}

func (o *overlay) TypeName() string   { return "module" }
func (o *overlay) ModuleName() string { return o.name }
func (o *overlay) Repr() string       { return "<module '" + o.name + "'>" }

// ownOfTorch stands for something that torch alone has.
func ownOfTorch(name string) *eval.Missing {
	return &eval.Missing{Name: name, Reason: "it is torch's own, which is not here"}
}

// dtypeNamed is torch's dtype of one of its long names.
func dtypeNamed(name string) *lang.TorchDType {
	return lang.TorchDTypeOf(lang.DTypeNamed(array.Named(name).Name))
}

// deviceType is torch's name of all GPUs of its cuda module.
const deviceType = "cuda"

// device is the one torch.device that there is.
type device struct{}

var theDevice = &device{}

// Attr gives the type and the number.
func (d *device) Attr(name string) (any, bool) {
	switch name {
	case "type":
		return deviceType, true
	case "index":
		return int64(0), true
	}
	return nil, false
}
func (d *device) TypeName() string { return "torch.device" }
func (d *device) Repr() string     { return "device(type='" + deviceType + "', index=0)" }

// Equal compares with devices, and with their names.
func (d *device) Equal(other any) bool {
	s, ok := other.(string)
	return other == any(d) || ok && (s == deviceType || s == deviceType+":0")
}

// noMatter are keywords that make no difference here.
var noMatter = []string{"device", "layout", "pin_memory", "memory_format", "out", "names", "non_blocking", "generator"}

// filler gives a new tensor its values.
type filler func(p *Program, c *call, t *Tensor)

// creations are the functions that make tensors: their parameters before dtype and
// the like, and how the tensor is filled. A shape is *size, or size.
var creations = []struct {
	name, params, dtype string
	fill                filler
}{
	{"empty", "*size", "float32", nil},
	{"zeros", "*size", "float32", constant(0)},
	{"ones", "*size", "float32", constant(1)},
	{"full", "size fill_value", "float32", full},
	{"rand", "*size", "float32", uniform},
	{"randn", "*size", "float32", normal},
	{"randint", "low high size", "int64", integers},
	{"arange", "start end step", "int64", counting},
}

// alike are those that make a tensor like another one.
var alike = []struct {
	name, params string
	fill         filler
}{
	{"empty_like", "input", nil},
	{"zeros_like", "input", constant(0)},
	{"ones_like", "input", constant(1)},
	{"full_like", "input fill_value", full},
	{"rand_like", "input", uniform},
	{"randn_like", "input", normal},
}

func constant(v float64) filler {
	return func(_ *Program, _ *call, t *Tensor) { t.fill(1, func(x *array.Array) { x.Fill(v) }) }
}

func full(p *Program, c *call, t *Tensor) { constant(c.number("fill_value", 0))(p, c, t) }

func uniform(p *Program, _ *call, t *Tensor) {
	t.fill(period, func(x *array.Array) { x.Rand(p.rand) })
}

func normal(p *Program, _ *call, t *Tensor) {
	t.fill(period, func(x *array.Array) { x.Randn(p.rand) })
}

func integers(p *Program, c *call, t *Tensor) {
	low, high := c.integer("low", 0), c.integer("high", 0)
	if low >= high {
		eval.Fail("%s() from %d to %d", c.name, low, high)
	}
	t.fill(period, func(x *array.Array) { x.Randint(p.rand, low, high) })
}

func counting(_ *Program, c *call, t *Tensor) {
	start, step := c.integer("start", 0), c.integer("step", 1)
	t.fill(t.memory.n, func(x *array.Array) {
		for i := range x.Len() {
			x.SetInt(i, start+int64(i)*step)
		}
	})
}

// shape is what a creation's arguments say of it.
func (c *call) shape() []int64 {
	switch c.name {
	case "randint":
		if !c.has("size") { // randint(high, size)
			c.args["low"], c.args["high"], c.args["size"] = int64(0), c.need("low"), c.need("high")
		}
	case "arange":
		if !c.has("end") { // arange(end)
			c.args["start"], c.args["end"] = int64(0), c.need("start")
		}
		step := c.integer("step", 1)
		if step < 1 {
			eval.Fail("arange() with the step %d", step)
		}
		return []int64{max(0, (c.integer("end", 0)-c.integer("start", 0)+step-1)/step)}
	}
	if len(c.rest) > 0 {
		return sizes(c.name, c.rest)
	}
	if v, ok := c.args["size"]; ok {
		return sizes(c.name, []any{v})
	}
	return nil
}

// make makes the tensor of a creation.
func (p *Program) make(c *call, t *Tensor, fill filler) *Tensor {
	if v, ok := c.args["requires_grad"]; ok {
		t.requiresGrad = eval.Truth(v)
	}
	if fill != nil {
		p.note("torch." + c.name)
		fill(p, c, t)
	}
	return t
}

// dtype is the argument of that name, or a default.
func (c *call) dtype(absent *lang.TorchDType) *lang.TorchDType {
	v := c.args["dtype"]
	if v == nil {
		return absent
	}
	d, ok := eval.Require(v).(*lang.TorchDType)
	if !ok {
		eval.Fail("%s(): dtype must be a torch dtype, not %s", c.name, eval.TypeName(v))
	}
	return d
}

func (m *modules) torch(load func(string) any) any {
	p := m.p
	ignore := func(name string) any { return function(name, "*args", nil, func(*call) any { return nil }) }
	parts := map[string]any{
		"Tensor":             &eval.Type{Name: "Tensor", Has: func(v any) bool { _, ok := v.(*Tensor); return ok }},
		"device":             function("device", "type index", nil, func(*call) any { return theDevice }),
		"cuda":               m.cuda(load),
		"autograd":           p.autograd(),
		"no_grad":            ignore("no_grad"),
		"inference_mode":     ignore("inference_mode"),
		"is_tensor":          function("is_tensor", "obj", nil, func(c *call) any { _, ok := c.need("obj").(*Tensor); return ok }),
		"set_default_device": ignore("set_default_device"),
		"manual_seed": function("manual_seed", "seed", nil, func(c *call) any {
			p.rand = rand.New(rand.NewPCG(uint64(c.integer("seed", 0)), 0))
			return nil
		}),
		"empty_strided": function("empty_strided", "size stride / dtype", noMatter, func(c *call) any {
			t := p.newTensor(c.dtype(dtypeNamed("float32")), sizes(c.name, []any{c.need("size")}))
			t.strides = sizes(c.name, []any{c.need("stride")})
			last := int64(1)
			for i, n := range t.shape {
				last += (n - 1) * t.strides[i]
			}
			t.memory.n = int(last)
			return t
		}),
	}
	for _, row := range creations {
		parts[row.name] = function(row.name, row.params+" / dtype requires_grad", noMatter, func(c *call) any {
			shape := c.shape()
			return p.make(c, p.newTensor(c.dtype(dtypeNamed(row.dtype)), shape), row.fill)
		})
	}
	for _, row := range alike {
		parts[row.name] = function(row.name, row.params+" / dtype requires_grad", noMatter, func(c *call) any {
			t, ok := c.need("input").(*Tensor)
			if !ok {
				eval.Fail("%s() needs a tensor, not %s", c.name, eval.TypeName(c.args["input"]))
			}
			return p.make(c, t.like(c.dtype(t.dtype)), row.fill)
		})
	}
	return &overlay{"torch", parts, load("torch"), func(name string) any { return ownOfTorch("torch." + name) }}
}

// cuda is torch.cuda.
func (m *modules) cuda(load func(string) any) any {
	nothing := func(name string) any { return function(name, "*args", nil, func(*call) any { return nil }) }
	parts := map[string]any{}
	for name, v := range map[string]any{"is_available": true, "current_device": int64(0), "device_count": int64(1)} {
		parts[name] = function(name, "", nil, func(*call) any { return v })
	}
	for _, name := range []string{"synchronize", "empty_cache", "set_device", "manual_seed", "Stream", "stream", "set_stream", "current_stream", "device"} {
		parts[name] = nothing(name)
	}
	parts["get_device_name"] = function("get_device_name", "device", nil, func(*call) any { return m.p.opts.Device.Properties().Name })
	var base any
	if a, ok := load("torch").(eval.Attributer); ok {
		base, _ = a.Attr("cuda")
	}
	return &overlay{"torch.cuda", parts, base, func(name string) any { return ownOfTorch("torch.cuda." + name) }}
}
