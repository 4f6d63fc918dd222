package ccode

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/bundle"
	"github.com/tritonc/tritonc/driver/kernel"
)

// Stage is the stage whose artifacts C embeds, and Backend the one whose code it is.
const (
	Stage   = "cubin"
	Backend = "cuda"
)

// File is a file that is generated.
type File struct {
	Name string
	Data []byte
}

//go:embed templates
var templates embed.FS

var parsed = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{"bytes": hexBytes}).ParseFS(templates, "templates/*.tmpl"))
})

// hexBytes are bytes as the elements of an array.
func hexBytes(data []byte) string {
	var out strings.Builder
	for len(data) > 0 {
		n := min(len(data), 20)
		out.WriteString(" ")
		for _, b := range data[:n] {
			fmt.Fprintf(&out, " 0x%02x,", b)
		}
		out.WriteString("\n")
		data = data[n:]
	}
	return out.String()
}

// Files writes a bundle's kernels for one target. Out is the name of the files, without
// an ending.
func Files(out string, b *bundle.Bundle) ([]File, error) {
	l := &linked{Header: out + ".h", Guard: "TT_" + strings.ToUpper(identifier(out)) + "_H"}
	var files []File
	names := map[string]string{}
	for _, k := range b.Kernels {
		stem := out
		if len(b.Kernels) > 1 {
			stem += "." + identifier(k.Name) // whose variants may have the hashes of another's
		}
		c, err := newKernel(stem, k)
		if err != nil {
			return nil, fmt.Errorf("kernel %s: %w", k.Name, err)
		}
		if other, ok := names[c.Name]; ok {
			return nil, fmt.Errorf("the kernels %s and %s have one name in C: %s", other, k.Name, c.Name)
		}
		names[c.Name] = k.Name
		for _, v := range c.variants {
			if l.Target == "" {
				l.Target = v.target
			}
			if v.target != l.Target {
				return nil, fmt.Errorf("one target can be had in C, and there is code for %s and %s", l.Target, v.target)
			}
			for _, ending := range []string{"c", "h"} {
				data, err := execute("variant."+ending, v)
				if err != nil {
					return nil, err
				}
				files = append(files, File{strings.TrimSuffix(v.Header, "h") + ending, data})
			}
		}
		l.Kernels = append(l.Kernels, c)
	}
	if len(l.Kernels) == 0 {
		return nil, errors.New("there is no kernel")
	}
	for _, ending := range []string{"c", "h"} {
		data, err := execute("link."+ending, l)
		if err != nil {
			return nil, err
		}
		files = append(files, File{out + "." + ending, data})
	}
	return files, nil
}

func execute(name string, data any) ([]byte, error) {
	var out bytes.Buffer
	if err := parsed().ExecuteTemplate(&out, name+".tmpl", data); err != nil {
		return nil, fmt.Errorf("BUG: %w", err)
	}
	return append(bytes.TrimRight(out.Bytes(), "\n"), '\n'), nil
}

// linked is what link.py makes one pair of files of.
type linked struct {
	Header, Guard, Target string
	Kernels               []*cKernel
}

// With joins what is not empty.
func (*linked) With(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// cKernel is a kernel as C has it.
type cKernel struct {
	Name, Comment             string
	FullParams, FullArguments string
	Algos                     []*algo
	variants                  []*variant
}

// algo is the variants of one list of constants and options.
type algo struct {
	Name, FullParams string
	Variants         []*variant
}

// Partial reports whether arguments may fit no variant.
func (a *algo) Partial() bool { return a.Variants[len(a.Variants)-1].Condition != "" }

// variant is what compile.py makes a pair of files of.
type variant struct {
	Name, Title, Header, Symbol  string
	Params, FullParams, Pointers string
	Algo, Condition, Arguments   string
	Helpers                      string
	Grid                         []dimension
	Attributes                   []attribute
	Code                         []byte
	Shared, Threads, CTAs        int

	target string
	hints  int // other than 0
}

// dimension is a dimension of the grid, tt_x to tt_z.
type dimension struct{ Name, Expr string }

// attribute is one of a launch.
type attribute struct {
	ID     string
	Values []string
}

// parameter is a parameter of a kernel in C.
type parameter struct{ name, typ string }

func (p parameter) String() string { return p.typ + " " + p.name }

func newKernel(out string, k *bundle.Kernel) (*cKernel, error) {
	if k.Grid == "" {
		return nil, errors.New("its C needs the formula of its grid")
	}
	c := &cKernel{Name: function(k.Name), Comment: k.Name + " of " + k.Source}
	params, err := parameters(k)
	if err != nil {
		return nil, err
	}
	c.FullParams, c.FullArguments = join(params), names(params)
	algos := map[string]*algo{}
	for i := range k.Variants {
		if k.Variants[i].Stage != Stage {
			continue
		}
		v, err := newVariant(out, c.Name, k, &k.Variants[i], params)
		if err != nil {
			return nil, err
		}
		for _, o := range c.variants {
			if o.Name == v.Name {
				return nil, fmt.Errorf("two variants for %s and %s are called %s in C: they differ in what names do not tell", o.target, v.target, v.Name)
			}
		}
		c.variants = append(c.variants, v)
		name := c.Name + "_" + v.Algo
		a := algos[name]
		if a == nil {
			a = &algo{Name: name, FullParams: c.FullParams}
			algos[name] = a
			c.Algos = append(c.Algos, a)
		}
		a.Variants = append(a.Variants, v)
	}
	if len(c.variants) == 0 {
		return nil, fmt.Errorf("there is no %s of it, which C embeds", Stage)
	}
	for _, a := range c.Algos {
		slices.SortStableFunc(a.Variants, func(x, y *variant) int { return y.hints - x.hints })
		// What follows a variant for all arguments would never run.
		if i := slices.IndexFunc(a.Variants, func(v *variant) bool { return v.Condition == "" }); i >= 0 {
			a.Variants = a.Variants[:i+1]
		}
	}
	return c, nil
}

// metadata is what a launch must know, beside driver.Metadata.
type metadata struct {
	driver.Metadata
	WarpSize       int `json:"warp_size"`
	NumStages      int `json:"num_stages"`
	ProfileScratch int `json:"profile_scratch_size"`
}

func newVariant(out, base string, k *bundle.Kernel, v *bundle.Variant, params []parameter) (*variant, error) {
	var m metadata
	if err := json.Unmarshal(v.Metadata, &m); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	backend, _, _ := strings.Cut(v.Target, ":")
	switch {
	case backend != Backend:
		return nil, fmt.Errorf("targets of %s can be had in C, and this is %s", Backend, v.Target)
	case m.GlobalScratch > 0 || m.ProfileScratch > 0:
		return nil, errors.New("it needs scratch memory, which its C cannot give it")
	case m.NumWarps <= 0 || m.WarpSize <= 0:
		return nil, errors.New("its metadata do not say how many threads it has")
	}
	o := &variant{
		Symbol: m.Kernel, Code: v.Code, Shared: m.Shared, Threads: m.NumWarps * m.WarpSize, CTAs: max(m.NumCTAs, 1), target: v.Target,
	}
	meta := fmt.Sprintf("warps%dxstages%d", m.NumWarps, m.NumStages)
	hint := func(i int) int {
		if len(v.Hints) == 0 {
			return 0
		}
		return v.Hints[i]
	}
	signature, suffix, constants := []string{}, "", []string{}
	for i, name := range order(k, v) {
		suffix += fmt.Sprint(i)
		p := slices.IndexFunc(k.Params, func(p kernel.Param) bool { return p.Name == name })
		if p < 0 {
			text := "None"
			if c := slices.IndexFunc(v.Constants, func(a kernel.Arg) bool { return a.Name == name }); c >= 0 {
				text = python(v.Constants[c].Value)
			}
			signature, constants = append(signature, text), append(constants, text)
			continue
		}
		entry := k.Params[p].Type
		switch hint(p) {
		case 1:
			entry, suffix = entry+":1", suffix+"c"
		case 16:
			entry, suffix = entry+":16", suffix+"d"
		}
		signature = append(signature, entry)
	}
	var passed, pointers, conditions []string
	for i, p := range params {
		switch hint(i) {
		case 1:
			constants = append(constants, "1")
			conditions = append(conditions, "("+p.name+" == 1)")
			o.hints++
			continue
		case 16:
			conditions = append(conditions, "("+p.name+" % 16 == 0)")
			o.hints++
		}
		passed, pointers = append(passed, p.name), append(pointers, "&"+p.name)
	}
	sum := sha256.Sum256([]byte(strings.Join(append(signature, meta), " ")))
	hash := fmt.Sprintf("%x", sum[:4])
	o.Name = base + "_" + hash + "_" + suffix
	o.Header = fmt.Sprintf("%s.%s_%s.h", filepath.Base(out), hash, suffix)
	o.Algo = identifierPart(strings.Join(constants, "x")) + "_" + meta
	o.Title = fmt.Sprintf("%s of %s for %s: %s, num_warps=%d num_stages=%d", k.Name, k.Source, v.Target, strings.Join(signature, ", "), m.NumWarps, m.NumStages)
	o.Condition = strings.Join(conditions, " && ")
	own := slices.DeleteFunc(slices.Clone(params), func(p parameter) bool { return !slices.Contains(passed, p.name) })
	var l *linked
	o.Params, o.FullParams = l.With("CUstream stream", join(own)), join(params)
	o.Arguments = l.With("stream", strings.Join(passed, ", "))
	o.Pointers = " " + strings.Join(append(pointers, "&global_scratch", "&profile_scratch"), ", ") + " "
	o.Attributes = attributes(&m)
	o.Title = strings.ReplaceAll(o.Title, "*/", "* /")
	var err error
	o.Grid, o.Helpers, err = grid(k, v, params, hint)
	return o, err
}

// order are the names of all parameters of a variant, as the source has them.
func order(k *bundle.Kernel, v *bundle.Variant) []string {
	if len(k.Order) > 0 {
		return k.Order
	}
	var names []string
	for _, p := range k.Params {
		names = append(names, p.Name)
	}
	for _, a := range v.Constants {
		names = append(names, a.Name)
	}
	return names
}

// attributes of a launch, in the order in which Triton gives them.
func attributes(m *metadata) []attribute {
	var list []attribute
	add := func(id string, values ...string) { list = append(list, attribute{"CU_LAUNCH_ATTRIBUTE_" + id, values}) }
	if m.PDL {
		add("PROGRAMMATIC_STREAM_SERIALIZATION", "programmaticStreamSerializationAllowed = 1")
	}
	if m.Cooperative {
		add("COOPERATIVE", "cooperative = 1")
	}
	if m.NumCTAs > 1 {
		add("CLUSTER_DIMENSION", fmt.Sprintf("clusterDim.x = %d", m.NumCTAs), "clusterDim.y = 1", "clusterDim.z = 1")
		add("CLUSTER_SCHEDULING_POLICY_PREFERENCE", "clusterSchedulingPolicyPreference = CU_CLUSTER_SCHEDULING_POLICY_SPREAD")
	}
	return list
}

// types are C's for the numbers that kernels take.
var types = map[string]string{
	"i1": "int8_t", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t",
	"u1": "uint8_t", "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
	"fp16": "uint16_t", "bf16": "uint16_t", "fp32": "float", "fp64": "double",
}

func parameters(k *bundle.Kernel) ([]parameter, error) {
	used := map[string]bool{}
	var list []parameter
	for _, p := range k.Params {
		typ := types[p.Type]
		switch {
		case strings.HasPrefix(p.Type, "*"):
			typ = "CUdeviceptr"
		case strings.HasPrefix(p.Type, "tensordesc<"):
			return nil, fmt.Errorf("its parameter %s is a tensor descriptor, of which C cannot make a tensor map", p.Name)
		case typ == "":
			return nil, fmt.Errorf("its parameter %s is of type %s, which C does not have", p.Name, p.Type)
		}
		name := identifier(p.Name)
		for used[name] {
			name += "_"
		}
		used[name] = true
		list = append(list, parameter{name, typ})
	}
	return list, nil
}

func join(params []parameter) string {
	var list []string
	for _, p := range params {
		list = append(list, p.String())
	}
	return strings.Join(list, ", ")
}

func names(params []parameter) string {
	var list []string
	for _, p := range params {
		list = append(list, p.name)
	}
	return strings.Join(list, ", ")
}

// python is a constant as str of Python has it.
func python(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case float64:
		text := fmt.Sprint(v)
		if !strings.ContainsAny(text, ".einIN") {
			text += ".0"
		}
		return text
	}
	return fmt.Sprint(v)
}
