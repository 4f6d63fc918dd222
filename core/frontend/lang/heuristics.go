package lang

import (
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/frontend/eval"
)

// heuristicKind is a decorator of torch's triton_heuristics: the positional
// parameters that it has, and how it chooses a kernel's blocks.
type heuristicKind struct {
	params  string
	configs func(h *heuristicArgs) []any
}

var heuristicKinds = map[string]*heuristicKind{
	"pointwise":             {"size_hints triton_meta tile_hint filename min_elem_per_thread inductor_meta", (*heuristicArgs).pointwise},
	"reduction":             {"size_hints reduction_hint triton_meta filename inductor_meta", (*heuristicArgs).reduction},
	"persistent_reduction":  {"size_hints reduction_hint triton_meta filename inductor_meta", (*heuristicArgs).persistent},
	"cooperative_reduction": {"size_hints reduction_hint triton_meta filename inductor_meta", (*heuristicArgs).cooperative},
	"split_scan":            {"size_hints reduction_hint triton_meta filename inductor_meta", (*heuristicArgs).splitScan},
	"template":              {"num_stages num_warps triton_meta num_consumer_groups num_buffers_warp_spec filename inductor_meta", (*heuristicArgs).template},
	"foreach":               {"triton_meta filename inductor_meta", (*heuristicArgs).foreach},
	"user_autotune":         {"configs triton_meta filename inductor_meta custom_kernel", (*heuristicArgs).user},
	"fixed_config":          {"config filename triton_meta inductor_meta", (*heuristicArgs).user},
}

// heuristicArgs are the arguments of one such decorator.
type heuristicArgs struct {
	args map[string]any
	fn   *eval.Function
}

// decorator reads the arguments; what they say of the kernel waits until its
// parameters are known.
func (k *heuristicKind) decorator(_ *eval.Session, args []any, kw []eval.Keyword) any {
	h := &heuristicArgs{args: byName(kw)}
	for i, name := range strings.Fields(k.params) {
		if i < len(args) {
			h.args[name] = args[i]
		}
	}
	return change("a decorator of triton_heuristics", func(fn *eval.Function, _ []eval.Keyword) {
		h.fn = fn
		h.record()
		launcher(fn, &eval.Autotune{Configs: k.configs(h)})
	})
}

// dict is the argument of that name, or an empty dict.
func (h *heuristicArgs) dict(name string) *eval.Dict {
	d, _ := h.args[name].(*eval.Dict)
	if d == nil {
		d = &eval.Dict{}
	}
	return d
}

// meta is a number in inductor_meta, or a default.
func (h *heuristicArgs) meta(name string, def int64) int64 {
	v, _ := h.dict("inductor_meta").Get(name)
	if n, ok := eval.AsInt(v); ok {
		return n
	}
	return def
}

// param finds the parameter that a key of triton_meta speaks of: by name, by
// number, or as a path of one number.
func (h *heuristicArgs) param(key any) string {
	if t, ok := key.(*eval.Tuple); ok && len(t.Elems) == 1 {
		key = t.Elems[0]
	}
	if s, ok := key.(string); ok {
		return s
	}
	params := h.fn.ParamList()
	if i, ok := eval.AsInt(key); ok && 0 <= i && i < int64(len(params)) {
		return params[i].Name
	}
	return ""
}

// record notes the signature that triton_meta gives, with the constants of the
// kernel but not those of its configurations, and the options.
func (h *heuristicArgs) record() {
	meta := h.dict("triton_meta")
	v, _ := meta.Get("signature")
	signature, ok := v.(*eval.Dict)
	if !ok {
		return
	}
	constants := map[string]any{}
	if v, ok := meta.Get("constants"); ok {
		if d, ok := v.(*eval.Dict); ok {
			for i, k := range d.Keys {
				constants[h.param(k)] = d.Values[i]
			}
		}
	}
	divisible, one := h.properties(meta)
	var entries []string
	for i, k := range signature.Keys {
		name := h.param(k)
		typ, ok := signature.Values[i].(string)
		if !ok || name == "" {
			continue
		}
		entry := typ
		switch c, constant := constants[name]; {
		case constant:
			entry = eval.Repr(c)
		case typ == "constexpr":
			continue // of a configuration
		case one[name]:
			entry = "1"
		case divisible[name]:
			entry += ":16"
		}
		entries = append(entries, name+"="+entry)
		delete(constants, name)
	}
	for _, p := range h.fn.ParamList() { // those that the signature leaves out
		if c, ok := constants[p.Name]; ok {
			entries = append(entries, p.Name+"="+eval.Repr(c))
		}
	}
	h.fn.Params.Recorded = &eval.Recorded{Signature: strings.Join(entries, ", "), Options: h.options(meta)}
}

// properties are the parameters that are multiples of 16, and those that are 1.
func (h *heuristicArgs) properties(meta *eval.Dict) (divisible, one map[string]bool) {
	divisible, one = map[string]bool{}, map[string]bool{}
	v, _ := meta.Get("configs")
	list, ok := v.(*eval.List)
	if !ok || len(list.Elems) == 0 {
		return divisible, one
	}
	d, ok := list.Elems[0].(*eval.Dict)
	if !ok {
		return divisible, one
	}
	for i, k := range d.Keys {
		switch k {
		case divisibleBy16, equalTo1: // a list of parameters
			for _, at := range eval.Iterate(d.Values[i]) {
				if k == divisibleBy16 {
					divisible[h.param(at)] = true
				} else {
					one[h.param(at)] = true
				}
			}
			continue
		}
		for _, pair := range eval.Iterate(d.Values[i]) { // a list of properties
			switch p := eval.Iterate(pair); {
			case len(p) == 2 && eval.Equal(p[0], divisibleBy16) && eval.Equal(p[1], int64(16)):
				divisible[h.param(k)] = true
			}
		}
	}
	return divisible, one
}

// options are those that torch compiles its kernels with.
func (h *heuristicArgs) options(meta *eval.Dict) []eval.Keyword {
	var out []eval.Keyword
	if v, ok := h.dict("inductor_meta").Get("assert_indirect_indexing"); !ok || eval.Truth(v) {
		out = append(out, eval.Keyword{Name: "debug", Value: true}, eval.Keyword{Name: "sanitize_overflow", Value: false})
	}
	for _, o := range []struct {
		of, name string
		is, set  bool
	}{
		{"enable_fp_fusion", "enable_fp_fusion", false, false},
		{"launch_cooperative_grid", "launch_cooperative_grid", true, true},
		{"launch_pdl", "launch_pdl", true, true},
		{"disable_ftz", "enable_reflect_ftz", true, false},
	} {
		if v, ok := meta.Get(o.of); ok && eval.Truth(v) == o.is {
			out = append(out, eval.Keyword{Name: o.name, Value: o.set})
		}
	}
	return out
}

// tile is the blocks of a configuration, by the prefix of their constants: x, y,
// z, r0_, r1_ or r.
type tile map[string]int64

func (t tile) size() int64 {
	n := int64(1)
	for _, b := range t {
		n *= b
	}
	return n
}

// hints are the sizes of the problem, rounded up to powers of two: the parallel
// dimensions, and those that are reduced.
func (h *heuristicArgs) hints() (parallel, reduced []string, sizes tile) {
	sizes = tile{}
	add := func(name string, v any) {
		n, ok := eval.AsInt(v)
		if !ok {
			return
		}
		sizes[name] = powerOfTwo(n)
		if strings.HasPrefix(name, "r") {
			reduced = append(reduced, name)
		} else {
			parallel = append(parallel, name)
		}
	}
	switch hints := h.args["size_hints"].(type) {
	case *eval.Dict:
		for i, k := range hints.Keys {
			add(eval.Str(k), hints.Values[i])
		}
	case *eval.List: // of older releases: the last one of a reduction is reduced
		for i, v := range hints.Elems {
			name := [...]string{"x", "y", "z"}[min(i, 2)]
			if _, ok := h.args["reduction_hint"]; ok && i == len(hints.Elems)-1 {
				name = "r"
			}
			add(name, v)
		}
	}
	if _, ok := sizes["x"]; !ok {
		add("x", int64(1))
	}
	return parallel, reduced, sizes
}

func powerOfTwo(n int64) int64 {
	p := int64(1)
	for p < n && p < 1<<40 {
		p *= 2
	}
	return p
}

// config makes a configuration of a tile: the constants that the kernel has.
func (h *heuristicArgs) config(t tile, warps int64) *Config {
	c := &Config{Kwargs: &eval.Dict{}}
	for _, p := range h.fn.ParamList() {
		prefix, ok := strings.CutSuffix(p.Name, "BLOCK")
		if n, known := t[strings.ToLower(prefix)]; ok && known {
			c.Kwargs.Set(p.Name, n)
		}
	}
	c.Options = []eval.Keyword{{Name: "num_warps", Value: warps}, {Name: "num_stages", Value: int64(1)}}
	return c
}

// warps is a power of two near n.
func warps(n, least, most int64) int64 { return powerOfTwo(min(max(n, least), most)) }

// pointwise gives the parallel dimensions 1024 elements together (fewer where the
// problem is small), as square as they are many, and a warp 256 of them.
func (h *heuristicArgs) pointwise() []any {
	dims, _, sizes := h.hints()
	total := int64(1)
	for _, d := range dims {
		total *= sizes[d]
	}
	least := [...]int64{0, max(256, min(total/128, 1024)), 32, 16}[min(len(dims), 3)]
	t := tile{}
	for _, d := range dims {
		t[d] = min(least, sizes[d])
	}
	target := int64(1)
	for range dims {
		target *= least
	}
	if total < target {
		target /= 8
	}
	for _, d := range dims { // what one dimension lacks another takes
		for t[d] < sizes[d] && t.size() < target {
			t[d] *= 2
		}
	}
	w := warps(t.size()/256, 1, 8)
	if t.size() >= 128 {
		w = max(w, 4)
	}
	return []any{h.config(t, w)}
}

// hint says how the reduced dimensions lie in memory: INNER ones are contiguous.
func (h *heuristicArgs) hint() string {
	if v, ok := h.args["reduction_hint"].(*inductorValue); ok {
		return v.name
	}
	return "DEFAULT"
}

// spread gives the reduced dimensions n elements together, the last ones first.
func spread(reduced []string, sizes, t tile, n int64) {
	for _, d := range slices.Backward(reduced) {
		t[d] = max(min(n, sizes[d]), 1)
		n /= t[d]
	}
}

// reduction gives a block one row or two of a contiguous reduction and 2048
// elements of it at a time; of another, as many columns as there are.
func (h *heuristicArgs) reduction() []any { return []any{h.looped(1)} }

// looped is the configuration of a reduction in a loop, of which a block does one
// part of several.
func (h *heuristicArgs) looped(parts int64) *Config {
	dims, reduced, sizes := h.hints()
	if len(reduced) > 0 {
		first := reduced[0]
		sizes[first] = max(sizes[first]/parts, 1)
	}
	total := int64(1)
	for _, d := range reduced {
		total *= sizes[d]
	}
	x, r, most := int64(1), min(total, 2048), int64(16)
	if sizes["x"] >= 1024 && h.meta("num_load", 0)+h.meta("num_reduction", 0) >= 10 {
		r, most = min(total, 1024), 8 // it needs many registers
	}
	perWarp := int64(128)
	switch h.hint() {
	case "OUTER":
		switch {
		case sizes["x"] <= 1024:
			x, r = max(min(sizes["x"]/128, 8), 2), min(total, 64)
		case sizes["x"]/4096 <= 8:
			x, r = 16, 32
		default:
			x, r = 64, 8
		}
	case "OUTER_TINY":
		if total <= 256 {
			x = 2 * (256 / total)
		}
	default:
		if total <= 2048 {
			x = 2
		}
	}
	t := tile{}
	for _, d := range dims {
		t[d] = 1
	}
	t["x"] = min(x, sizes["x"])
	spread(reduced, sizes, t, min(r, total))
	work := t.size()
	if h.hint() == "INNER" {
		work = min(r, total)
	}
	return h.config(t, warps(work/perWarp, 2, most))
}

// persistent gives a block the whole of a reduction, and rows where it is short.
func (h *heuristicArgs) persistent() []any {
	dims, reduced, sizes := h.hints()
	total := int64(1)
	for _, d := range reduced {
		total *= sizes[d]
	}
	x, least, most, count := int64(1), int64(2), int64(8), total/128
	inner := h.hint() == "INNER"
	switch {
	case inner && 256 <= total && total <= 1024 && sizes["x"]/8 >= 128 && h.meta("RSPLIT_SIZE", 0) == 0:
		x, least, most = min(1024/total, 8), 1, 1
	case h.hint() == "OUTER":
		for _, more := range []int64{8, 32, 128} {
			if total*more <= 4096 && more <= sizes["x"] {
				x = more
			}
		}
		count *= x
	case h.hint() == "OUTER_TINY":
		if total <= 256 {
			x = 2 * (256 / total)
		}
		count, most = total*x/128, 16
	}
	t := tile{}
	for _, d := range dims {
		t[d] = 1
	}
	t["x"] = min(x, sizes["x"])
	spread(reduced, sizes, t, total)
	c := h.config(t, warps(count, least, most))
	if split := h.meta("RSPLIT_SIZE", 0); split > 0 { // rows of a whole split, one after another
		if _, ok := c.Kwargs.Get("XBLOCK"); ok {
			x = int64(1)
			if total <= 512 {
				x = 4
			}
			x = min(max(split/32, x), 16)
			c.Kwargs.Set("XBLOCK", x)
		}
		h.set(c, "RSPLIT_SIZE", split)
		h.set(c, "NUM_STAGES", 1)
		if total <= 1024 {
			c.Options[0].Value = max(c.Options[0].Value.(int64)/2, 1)
		}
	}
	return []any{c}
}

// set gives a constant a value where the kernel has it.
func (h *heuristicArgs) set(c *Config, name string, v int64) {
	for _, p := range h.fn.ParamList() {
		if p.Name == name {
			c.Kwargs.Set(name, v)
		}
	}
}

// maxSplit is the most blocks that share a cooperative reduction.
const maxSplit = 64

// cooperative shares each row among as many blocks as the device runs at once.
func (h *heuristicArgs) cooperative() []any {
	_, _, sizes := h.hints()
	processors := int64(1)
	if v, ok := h.dict("triton_meta").Get("device"); ok {
		if p, ok := v.(*eval.Package); ok {
			if n, ok := eval.AsInt(p.Parts["multi_processor_count"]); ok {
				processors = n
			}
		}
	}
	most := powerOfTwo(processors)
	if most > processors {
		most /= 2
	}
	split := max(1, min(most/sizes["x"], maxSplit))
	var c *Config
	if v, ok := h.dict("inductor_meta").Get("persistent_reduction"); ok && eval.Truth(v) {
		c = h.persistent()[0].(*Config)
	} else {
		c = h.looped(split)
	}
	h.set(c, "RSPLIT", split)
	return []any{c}
}

// splitScan is a reduction whose parts are not small.
func (h *heuristicArgs) splitScan() []any {
	c := h.looped(1)
	for i, k := range c.Kwargs.Keys {
		if n, ok := eval.AsInt(c.Kwargs.Values[i]); ok && strings.HasPrefix(eval.Str(k), "R") {
			c.Kwargs.Values[i] = max(n, h.meta("min_split_scan_rblock", 256))
		}
	}
	return []any{c}
}

// template has its constants in its text.
func (h *heuristicArgs) template() []any {
	c := &Config{Kwargs: &eval.Dict{}}
	for _, name := range []string{"num_warps", "num_stages"} {
		if n, ok := eval.AsInt(h.args[name]); ok {
			c.Options = append(c.Options, eval.Keyword{Name: name, Value: n})
		}
	}
	return []any{c}
}

// foreach has them there, too.
func (h *heuristicArgs) foreach() []any { return []any{h.config(tile{}, 8)} }

// user are configurations that the decorator lists, each a dict of constants and
// options.
func (h *heuristicArgs) user() []any {
	list := []any{h.args["config"]}
	if v, ok := h.args["configs"]; ok {
		list = eval.Iterate(v)
	}
	var out []any
	for _, v := range list {
		d, ok := v.(*eval.Dict)
		if !ok {
			eval.Fail("a configuration of %s() must be a dict, not %s", h.fn.Name(), eval.TypeName(v))
		}
		c := &Config{Kwargs: &eval.Dict{}, Options: []eval.Keyword{{Name: "num_warps", Value: int64(4)}, {Name: "num_stages", Value: int64(3)}}}
		for i, k := range d.Keys {
			name := eval.Str(k)
			switch at := slices.IndexFunc(c.Options, func(o eval.Keyword) bool { return o.Name == name }); {
			case at >= 0:
				c.Options[at].Value = d.Values[i]
			case name == "num_ctas" || name == "maxnreg":
				c.Options = append(c.Options, eval.Keyword{Name: name, Value: d.Values[i]})
			default:
				c.Kwargs.Set(name, d.Values[i])
			}
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		out = []any{h.config(tile{}, 4)}
	}
	return out
}
