package lang

import (
	"strings"

	"github.com/tritonc/tritonc/core/frontend/eval"
)

// Module-level code asks for properties of the device at hand, through Triton's
// driver or torch. All devices of a target have some of them, which the backend
// knows. The others can only be given, as --define device.NAME=VALUE.

// Property is one of them, by the name that Triton's driver gives it.
type Property struct {
	Name  string
	Value int64
}

// driverProperties are those that Triton's driver answers.
var driverProperties = []string{
	"max_shared_mem", "max_num_regs", "multiprocessor_count", "warpSize", "sm_clock_rate", "mem_clock_rate", "mem_bus_width",
}

// property is what is known of the device under a name.
func (l *Lib) property(s *eval.Session, name string) any {
	for _, p := range l.Facts().Properties {
		if p.Name == name {
			return p.Value
		}
	}
	if name == "warpSize" {
		return int64(l.Facts().WarpSize)
	}
	full := "device." + name
	if v, ok := s.Define[full]; ok {
		if c, ok := v.(*eval.Constexpr); ok {
			return c.Value // as Python code would have it
		}
		return v
	}
	return &eval.Missing{Name: full, Reason: "it is a property of the device, which the compiler does not see"}
}

// deviceProperties is get_device_properties of Triton's driver.
func (l *Lib) deviceProperties() *eval.Native {
	return &eval.Native{Name: "get_device_properties", Fn: func(s *eval.Session, _ []any, _ []eval.Keyword) any {
		d := &eval.Dict{}
		for _, name := range driverProperties {
			d.Set(name, l.property(s, name))
		}
		return d
	}}
}

// torchProperties is what torch.cuda.get_device_properties returns.
type torchProperties struct {
	lib     *Lib
	session *eval.Session
}

// torchNames are torch's names of what Triton's driver knows by others.
var torchNames = map[string]string{
	"multi_processor_count":         "multiprocessor_count",
	"shared_memory_per_block_optin": "max_shared_mem",
	"regs_per_multiprocessor":       "max_num_regs",
	"warp_size":                     "warpSize",
}

// Attr finds a property.
func (p *torchProperties) Attr(name string) (any, bool) {
	if arch, ok := archValue(p.lib.Facts().Arch).(int64); ok {
		switch name {
		case "major":
			return arch / 10, true
		case "minor":
			return arch % 10, true
		}
	}
	if strings.HasPrefix(name, "_") {
		return nil, false
	}
	known, ok := torchNames[name]
	if !ok {
		known = name
	}
	return p.lib.property(p.session, known), true
}
func (p *torchProperties) TypeName() string { return "DeviceProperties" }
