package frontend

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/core/frontend/signature"
	"github.com/tritonc/tritonc/core/work"
)

// AllConfigs as a Request's Config asks for every configuration; a kernel that is not
// autotuned is compiled as it is.
const AllConfigs = "all"

// Request says which variants of a program's kernels are wanted.
type Request struct {
	// Kernel's name; empty for the only one, or for all that comments name.
	Kernel string
	// Signature in Triton's ahead-of-time grammar asks for one variant; empty for
	// those of the file's comments.
	Signature string
	// Config chooses among the configurations of an autotuned kernel: a number
	// from 0, AllConfigs for every one, or empty where the signature says all that
	// they do. Of a kernel with one configuration empty chooses that.
	Config string
	// Options are those of the caller. They go before what the file says, and
	// functions of @triton.heuristics see them.
	Options map[string]any
	// Launch, when there, says that the variant is for one launch, of which the
	// values of the arguments are known. Then a configuration is chosen as
	// Triton's autotuner would begin: the first that prune_configs_by leaves.
	Launch *Launch
}

// Launch is what is known of a launch.
type Launch struct {
	// Values of the arguments that are not compiled in, by parameter: bool, int64,
	// uint64, float64, Tensor, Descriptor, or []any for a tuple.
	Values map[string]any
	// Arg and Config are the flags by which the caller is given an argument and the
	// number of a configuration, for the help of errors; "" where there is none.
	Arg, Config string
}

// Tensor is what an argument with memory looks like: the type of its elements as
// signatures have it, and its shape. The elements are contiguous.
type Tensor struct {
	Type  string
	Shape []int64
	// Memory is what hooks around a launch may change; nil where there is none.
	Memory Memory
	// Address returns where the first element lies, if that is known; a nil one knows
	// of nothing.
	Address func() (addr uint64, ok bool)
}

// Memory holds the elements of a tensor.
type Memory = lang.Memory

// Descriptor is a tensor descriptor: its memory, and the sizes of a block.
type Descriptor struct {
	Tensor
	Block []int64
}

// Variant is one kernel of a program as it is to be compiled: its signature, and
// what @triton.autotune and @triton.heuristics add. It can be built any number of
// times, also at once.
type Variant struct {
	Kernel string
	// Name tells this variant from the others of the same kernel, in letters fit
	// for a file's name; empty when it is the only one.
	Name string
	// Options are those that the file gives: a comment, a configuration, or
	// @triton.heuristics. Each name appears there once.
	Options []Option
	// Constants are the parameters of known value, by name, as Python has them:
	// nil, bool, int64, float64, string, or something else that only the front end
	// understands.
	Constants map[string]any
	// Args are the parameters in order, the elements of tuples one by one.
	Args []Argument
	// Config is the number of the configuration, -1 for none, and Configs that of
	// all there are. Chosen says that the request left the choice open.
	Config, Configs int
	Chosen          bool
	// Left are the configurations that prune_configs_by leaves, in its order: all where
	// there is none. Those that early_config_prune made itself are numbered from Configs
	// on. It is nil where Chosen is false.
	Left []ConfigInfo
	// Tuning is what @triton.autotune says of measuring and of launches; nil where the
	// kernel has no such decorator.
	Tuning *Tuning

	spec     *signature.Spec
	request  *Request
	config   int // of the request: a number, or one of those below
	settings []setting
	key      string
}

// Tuning is what @triton.autotune says beside its configurations.
type Tuning struct {
	// Key are the arguments on whose values the choice depends.
	Key []string
	// ResetToZero and RestoreValue are the arguments that it names so.
	ResetToZero, RestoreValue []string
	// Hooked says that the decorator or a configuration has functions that are to be
	// called around a launch.
	Hooked bool
	// Warmup and Rep are milliseconds for do_bench, 0 where it does not say so, and
	// Graph has graphs of launches measured.
	Warmup, Rep float64
	Graph       bool
	// OwnBench says that the file measures by a function of its own.
	OwnBench bool
}

// What a Variant's config may be besides a number.
const (
	noConfig   = -1 // the signature says all
	bestConfig = -2 // what the autotuner would begin with
)

// Argument is what a variant says of one parameter.
type Argument struct {
	// Name of the parameter; t[1] is an element of the tuple t.
	Name string
	// Type as the signature has it, without the hint, of what a launch passes; "" of
	// a constant.
	Type string
	// Hint says what is known of the value: 16, a multiple of it; 1, that it is 1, and
	// the compiled kernel does not take it; 0, nothing.
	Hint int
	// Small: the pointer is to a buffer of less than 2 GiB.
	Small bool
	// Constant is the value of a constant as Variant.Constants has it, and Text the
	// Python expression for it.
	Constant any
	Text     string
}

// Key tells apart all variants of a program that differ in what is compiled, its
// options aside. It is empty for a variant that cannot be told apart by a text.
func (v *Variant) Key() string { return v.key }

// Option is a compile option that the file gives.
type Option struct {
	Name  string
	Value any // int64, float64, bool or string
	// From says where: "a comment of the file", "a configuration of 'k'".
	From string

	place diag.Diagnostic // without a message
}

// Errorf makes a diagnostic about the option, at the place that gives it.
func (o *Option) Errorf(format string, args ...any) *diag.Diagnostic {
	d := o.place
	d.Message = fmt.Sprintf(format, args...)
	return &d
}

// Variants returns what a request asks for, in the order of the file. The error
// tells all that is wrong with any of them.
func (p *Program) Variants(ctx context.Context, req *Request) ([]*Variant, error) {
	return p.variants(ctx, nil, req)
}

func (p *Program) variants(ctx context.Context, meter *work.Meter, req *Request) (list []*Variant, err error) {
	err = p.evaluate(ctx, meter, nil, func(e *evaluation) error {
		specs, err := e.specs(req)
		if err != nil {
			return err
		}
		var errs diag.List
		for _, spec := range specs {
			variants, err := e.variants(spec, req)
			if err != nil {
				errs = append(errs, diag.All(err)...)
			}
			list = append(list, variants...)
		}
		if len(errs) > 0 {
			return errs.Err()
		}
		nameVariants(e.session.Meter, list)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// specs are the signatures that a request asks for.
func (e *evaluation) specs(req *Request) ([]*signature.Spec, error) {
	if req.Signature != "" {
		spec, err := signature.Parse("-s", req.Signature)
		if err != nil {
			return nil, err
		}
		spec.Kernel = req.Kernel
		return []*signature.Spec{spec}, nil
	}
	specs, err := signature.FromComments(e.file.file.Tree)
	if err != nil {
		return nil, err
	}
	if req.Kernel != "" {
		var mine []*signature.Spec
		for _, spec := range specs {
			if spec.Kernel == req.Kernel {
				mine = append(mine, spec)
			}
		}
		specs = mine
	}
	if len(specs) > 0 {
		return specs, nil
	}
	if specs, err = e.recorded(req.Kernel); err != nil || len(specs) > 0 {
		return specs, err
	}
	infos, err := e.kernels()
	if err != nil {
		return nil, err
	}
	// A kernel of which a signature would say nothing needs none. One that is not listed is
	// none, or one that others call: binding it will say.
	bare := func(kernel string) *signature.Spec {
		return &signature.Spec{Kernel: kernel, Text: signature.Text{File: "-n", Line: 1, Full: kernel}}
	}
	listed, complete := false, true
	for i := range infos {
		if k := &infos[i]; req.Kernel == "" || req.Kernel == k.Name {
			listed, complete = true, complete && k.complete()
			specs = append(specs, bare(k.Name))
		}
	}
	switch {
	case !listed && req.Kernel != "":
		return []*signature.Spec{bare(req.Kernel)}, nil
	case listed && complete:
		return specs, nil
	}
	return nil, e.missingSignature(infos)
}

// variants are those of one signature: one, or one per configuration.
func (e *evaluation) variants(spec *signature.Spec, req *Request) ([]*Variant, error) {
	v := &Variant{spec: spec, request: req, config: noConfig}
	fn, err := e.find(spec)
	if err != nil {
		return nil, err
	}
	v.Kernel = fn.Name()
	if v.spec, err = e.complete(fn, spec); err != nil {
		return nil, err
	}
	for i, o := range spec.Options {
		for _, before := range spec.Options[:i] {
			if before.Name == o.Name {
				return nil, spec.Text.Errorf(o.Start, o.End, "the option %s is given twice", o.Name)
			}
		}
	}
	first, last := noConfig, noConfig
	switch {
	case req.Config == "":
		if first = e.openChoice(fn, v); first != noConfig {
			v.Chosen = true
		}
		last = first
	case req.Config == AllConfigs && e.untuned(fn): // a file has such kernels beside tuned ones
	default:
		configs, err := e.configsOf(fn)
		if err != nil {
			return nil, err
		}
		first, last = 0, len(configs)-1
		if req.Config != AllConfigs {
			n, err := strconv.Atoi(req.Config)
			if err != nil || n < 0 || n >= len(configs) && !e.makesConfigs(fn, req) {
				return nil, e.noSuchConfig(fn, req.Config, configs, req)
			}
			first, last = n, n
		}
	}
	var list []*Variant
	for n := first; n <= last; n++ {
		one := *v
		one.config = n
		k, err := e.bind(&one)
		if err != nil {
			return nil, err // those of the other configurations say the same
		}
		k.describe(&one)
		list = append(list, &one)
	}
	return list, nil
}

// setting is one thing that a variant says: a parameter's entry or an option.
type setting struct {
	name  string
	value string // as written
	typ   string // the entry's type, or "" for a value
}

// nameVariants gives each variant of a kernel that has several a name made of
// the settings in which they differ: "BLOCK1024-num_warps4", "fp16".
func nameVariants(m *work.Meter, list []*Variant) {
	byKernel := map[string][]*Variant{}
	for _, v := range list {
		byKernel[v.Kernel] = append(byKernel[v.Kernel], v)
	}
	for _, v := range list {
		group := byKernel[v.Kernel]
		if len(group) == 1 || group[0] != v {
			continue
		}
		same := agreement(m, group)
		used, numbers := map[string]bool{}, map[string]int{}
		for _, one := range group {
			base := fileName(difference(one.settings, same))
			name := base
			for name == "" || used[name] {
				m.Visit()
				numbers[base] = max(numbers[base], 1) + 1
				name = strings.TrimPrefix(base+"-"+strconv.Itoa(numbers[base]), "-")
			}
			used[name] = true
			one.Name = name
		}
	}
}

// agreement is the setting of each name that some variant has, with value and typ as
// its first variant says; sameValue and sameType say that all others do, too.
func agreement(m *work.Meter, group []*Variant) map[string]*agreed {
	same := map[string]*agreed{}
	for _, v := range group {
		for i, s := range v.settings {
			m.Visit()
			if slices.ContainsFunc(v.settings[:i], func(before setting) bool { return before.name == s.name }) {
				continue // the first counts
			}
			a := same[s.name]
			if a == nil {
				a = &agreed{setting: s, sameValue: true, sameType: true}
				same[s.name] = a
			}
			a.variants++
			a.sameValue = a.sameValue && s.value == a.value
			a.sameType = a.sameType && s.typ == a.typ
		}
	}
	for _, a := range same {
		a.sameValue = a.sameValue && a.variants == len(group)
		a.sameType = a.sameType && a.variants == len(group)
	}
	return same
}

// agreed is what variants say of one setting.
type agreed struct {
	setting
	variants            int // that have it
	sameValue, sameType bool
}

// difference joins what a variant says of the settings in which the variants
// differ. Types are shown without their parameter's name, and once where several in
// a row are the same.
func difference(settings []setting, same map[string]*agreed) string {
	var parts []string
	for _, s := range settings {
		a := same[s.name]
		part := s.name + s.value
		switch {
		case a.sameValue && s.value == a.value:
			continue
		case s.typ != "" && (!a.sameType || s.typ != a.typ):
			part = s.typ
		case s.typ != "":
			part = s.name + "-" + s.value // they differ in the hint
		}
		if len(parts) == 0 || parts[len(parts)-1] != part {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "-")
}

// maxVariantName bounds a variant's name; file systems take 255 bytes a file.
const maxVariantName = 100

// fileName drops from s what does not belong in a file's name.
func fileName(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '.', r == '-':
			b.WriteRune(r)
		case r == ':':
			b.WriteByte('x')
		}
		if b.Len() == maxVariantName {
			break
		}
	}
	return strings.Trim(b.String(), ".-")
}
