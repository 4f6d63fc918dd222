package host

import (
	"github.com/tritonc/tritonc/core/frontend/eval"
)

// triton is the package or one of its modules with what host code needs.
func (m *modules) triton(name string, load func(string) any) any {
	part := func(base any, name string) any {
		if a, ok := base.(eval.Attributer); ok {
			v, _ := a.Attr(name)
			return v
		}
		return nil
	}
	p := m.p
	base := load("triton")
	testing := &overlay{"triton.testing", map[string]any{
		"Benchmark":          function("Benchmark", benchmarkParams, nil, newBenchmark),
		"perf_report":        function("perf_report", "benchmarks", nil, perfReport),
		"do_bench":           p.doBench(),
		"do_bench_cudagraph": p.doBenchGraph(),
	}, nil, func(name string) any {
		return &eval.Missing{Name: "triton.testing." + name, Reason: "it is not known here"}
	}}
	runtime := part(base, "runtime")
	driver := part(runtime, "driver")
	activeParts := map[string]any{
		"get_active_torch_device": function("get_active_torch_device", "", nil, func(*call) any { return theDevice }),
		"get_device_interface":    function("get_device_interface", "", nil, func(*call) any { return m.cuda(load) }),
		"get_benchmarker":         function("get_benchmarker", "", nil, func(*call) any { return p.doBench() }),
	}
	active := &overlay{"triton.runtime.driver.active", activeParts, part(driver, "active"), nil}
	hostDriver := &overlay{"triton.runtime.driver", map[string]any{"active": active}, driver, nil}
	hostDriver.parts["driver"] = hostDriver
	hostRuntime := &overlay{"triton.runtime", map[string]any{"driver": hostDriver}, runtime, nil}
	descriptors := &overlay{"triton.tools.tensor_descriptor", map[string]any{"TensorDescriptor": &descriptorClass{p}}, nil, nil}
	tools := &overlay{"triton.tools", map[string]any{"tensor_descriptor": descriptors}, nil, nil}
	switch name {
	case "triton.testing":
		return testing
	case "triton.runtime":
		return hostRuntime
	case "triton.runtime.driver":
		return hostDriver
	case "triton.tools":
		return tools
	case "triton.tools.tensor_descriptor":
		return descriptors
	}
	return &overlay{"triton", map[string]any{
		"testing": testing, "runtime": hostRuntime, "tools": tools,
		"set_allocator": function("set_allocator", "allocator", nil, func(*call) any { return nil }),
	}, base, nil}
}

// descriptorClass is TensorDescriptor.
type descriptorClass struct{ p *Program }

// descriptor is a tensor descriptor that host code made.
type descriptor struct {
	tensor *Tensor
	block  []int64
	nan    bool
}

func (*descriptorClass) TypeName() string { return "type" }

// Call makes a descriptor of base, shape, strides and block_shape.
func (d *descriptorClass) Call(s *eval.Session, args []any, kw []eval.Keyword) any {
	return function("TensorDescriptor", "base shape strides block_shape padding", nil, func(c *call) any {
		t, ok := c.need("base").(*Tensor)
		if !ok {
			eval.Fail("TensorDescriptor() needs a tensor, not %s", eval.TypeName(c.args["base"]))
		}
		v := t.view(func(v *Tensor) {
			v.shape, v.strides = sizes(c.name, []any{c.need("shape")}), sizes(c.name, []any{c.need("strides")})
		})
		return newDescriptor(v, c)
	}).Call(s, args, kw)
}

// Attr is from_tensor.
func (d *descriptorClass) Attr(name string) (any, bool) {
	if name != "from_tensor" {
		return nil, false
	}
	return function(name, "tensor block_shape padding", nil, func(c *call) any {
		t, ok := c.need("tensor").(*Tensor)
		if !ok {
			eval.Fail("from_tensor() needs a tensor, not %s", eval.TypeName(c.args["tensor"]))
		}
		return newDescriptor(t, c)
	}), true
}

func newDescriptor(t *Tensor, c *call) any {
	if !t.isContiguous() || t.offset != 0 {
		eval.FailHelp("make it contiguous()", "a descriptor of a tensor that is not contiguous is not known here")
	}
	return &descriptor{t, sizes(c.name, []any{c.need("block_shape")}), c.args["padding"] == "nan"}
}

// Attr gives what a heuristic or a hook looks at.
func (d *descriptor) Attr(name string) (any, bool) {
	switch name {
	case "base":
		return d.tensor, true
	case "shape":
		return tuple(d.tensor.shape), true
	case "strides":
		return tuple(d.tensor.strides), true
	case "block_shape":
		l := &eval.List{}
		for _, n := range d.block {
			l.Elems = append(l.Elems, n)
		}
		return l, true
	}
	return nil, false
}

// SetAttr sets block_shape, as hooks of configurations do.
func (d *descriptor) SetAttr(name string, v any) bool {
	if name != "block_shape" {
		return false
	}
	d.block = sizes(name, []any{v})
	return true
}
func (d *descriptor) TypeName() string { return "TensorDescriptor" }
