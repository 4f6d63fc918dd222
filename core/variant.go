package core

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/core/frontend/signature"
	"github.com/tritonc/tritonc/core/work"
)

// Variants parses a Python file and returns what is to be compiled of it. With
// text, a signature in Triton's ahead-of-time grammar, that is one variant of
// the kernel; without, one for each signature in the file's comments, of the
// kernel alone where it is named. kernel may be empty when the file has only
// one, or with comments. A src that Variants has returned before is not parsed
// again. Evaluating the file ends with ctx.
func Variants(ctx context.Context, src *Source, kernel, text string) (variants []*Source, err error) {
	defer func() { err = overMemory(src.Path, err) }()
	p, err := src.parsed()
	if err != nil {
		return nil, err
	}
	meter := work.Start(ctx)
	defer meter.End()
	file := p.file
	imports := importer{python: p, load: src.Import}
	opts := &frontend.Options{Open: imports.open, Define: src.Define, Meter: meter}
	specs, err := specsOf(file, opts, kernel, text)
	switch {
	case imports.err != nil: // it explains what else went wrong
		return nil, imports.err
	case err != nil:
		return nil, err
	}
	if specs, err = frontend.Complete(file, specs, src.Config != "", opts); err != nil {
		return nil, err
	}
	if src.Config != "" {
		if specs, err = configured(src, p, specs, meter); err != nil {
			return nil, err
		}
	}
	suffixes := make([]string, len(specs))
	if len(specs) > 1 {
		suffixes = variantNames(specs, kernelParams(file, opts))
	}
	variants = make([]*Source, len(specs))
	for i, spec := range specs {
		v := *src
		v.python, v.spec, v.Variant = p, spec, suffixes[i]
		v.Options = make(map[string]any, len(spec.Options))
		for _, o := range spec.Options {
			if _, twice := v.Options[o.Name]; twice {
				return nil, spec.Text.Errorf(o.Start, o.End, "the option %s is given twice", o.Name)
			}
			v.Options[o.Name] = o.Value
		}
		variants[i] = &v
	}
	return variants, nil
}

// AllConfigs as a Source's Config asks for every configuration.
const AllConfigs = "all"

// configured completes signatures of autotuned kernels with the configuration
// that src asks for, or with each.
func configured(src *Source, p *python, specs []*signature.Spec, meter *work.Meter) ([]*signature.Spec, error) {
	imports := importer{python: p, load: src.Import}
	opts := &frontend.Options{Open: imports.open, Define: src.Define, Meter: meter}
	if src.Configs != nil {
		var err error
		if opts.Configs, err = frontend.ParseConfigs(src.Configs.Path, src.Configs.Text); err != nil {
			return nil, err
		}
	}
	var out []*signature.Spec
	for _, spec := range specs {
		configs, err := frontend.Configs(p.file, spec, opts)
		switch {
		case imports.err != nil:
			return nil, imports.err
		case err != nil:
			return nil, err
		}
		if src.Config == AllConfigs {
			out = append(out, configs...)
			continue
		}
		n, err := strconv.Atoi(src.Config)
		if err != nil || n < 0 || n >= len(configs) {
			return nil, diag.Errorf(diag.Pos{File: src.Path}, "'%s' has no configuration %q", spec.Kernel, src.Config).
				WithHelp("it has %d: give a number from 0 to %d, or %s for every one", len(configs), len(configs)-1, AllConfigs)
		}
		out = append(out, configs[n])
	}
	return out, nil
}

func specsOf(file *frontend.File, opts *frontend.Options, kernel, text string) ([]*signature.Spec, error) {
	if text != "" {
		spec, err := signature.Parse("-s", text)
		if err != nil {
			return nil, err
		}
		spec.Kernel = kernel
		return []*signature.Spec{spec}, nil
	}
	specs, err := file.Signatures()
	if err != nil {
		return nil, err
	}
	if kernel != "" {
		var mine []*signature.Spec
		for _, spec := range specs {
			if spec.Kernel == kernel {
				mine = append(mine, spec)
			}
		}
		specs = mine
	}
	if len(specs) > 0 {
		return specs, nil
	}
	if specs, err = frontend.Recorded(file, kernel, opts); err != nil || len(specs) > 0 {
		return specs, err
	}
	if _, listed := kernelParams(file, opts)[kernel]; kernel != "" && !listed {
		// No kernel, or one that others call: the build will say.
		return []*signature.Spec{{Kernel: kernel, Text: signature.Text{File: "-n", Line: 1, Full: kernel}}}, nil
	}
	return nil, frontend.MissingSignature(file, opts)
}

// kernelParams returns the names of the parameters of each kernel; nil when the
// file is so wrong that the build will say why.
func kernelParams(file *frontend.File, opts *frontend.Options) map[string][]string {
	kernels, err := frontend.Kernels(file, opts)
	if err != nil {
		return nil
	}
	params := make(map[string][]string, len(kernels))
	for _, k := range kernels {
		for _, p := range k.Params {
			params[k.Name] = append(params[k.Name], p.Name)
		}
	}
	return params
}

// setting is one thing that a variant says: a parameter's entry or an option.
type setting struct {
	name  string
	value string // as written
	typ   string // the entry's type, or "" for a value
}

// variantNames gives each variant of a kernel that has several a name made of
// the settings in which they differ: "BLOCK1024-num_warps4", "fp16".
func variantNames(specs []*signature.Spec, params map[string][]string) []string {
	names := make([]string, len(specs))
	byKernel := map[string][]int{}
	for i, spec := range specs {
		byKernel[spec.Kernel] = append(byKernel[spec.Kernel], i)
	}
	for first, spec := range specs {
		group := byKernel[spec.Kernel]
		if len(group) == 1 || group[0] != first {
			continue
		}
		all := make([][]setting, len(group))
		for j, i := range group {
			all[j] = settings(specs[i], params[specs[i].Kernel])
		}
		used := map[string]bool{}
		for j, i := range group {
			name := fileName(difference(all, j))
			for n := 2; name == "" || used[name]; n++ {
				name = strings.TrimPrefix(fileName(difference(all, j))+"-"+strconv.Itoa(n), "-")
			}
			used[name] = true
			names[i] = name
		}
	}
	return names
}

func settings(spec *signature.Spec, params []string) []setting {
	var list []setting
	for i, a := range spec.Args {
		s := setting{name: a.Name, value: a.Source, typ: a.Type}
		if s.name == "" && i < len(params) {
			s.name = params[i]
		}
		list = append(list, s)
	}
	for _, o := range spec.Options {
		list = append(list, setting{name: o.Name, value: fmt.Sprint(o.Value)})
	}
	return list
}

// difference joins what variant j says of the settings in which the variants
// differ. Types stand without their parameter's name, and once where several in
// a row are the same.
func difference(all [][]setting, j int) string {
	var parts []string
	for _, s := range all[j] {
		sameValue, sameType := true, true
		for _, other := range all {
			o, ok := find(other, s.name)
			sameValue = sameValue && ok && o.value == s.value
			sameType = sameType && ok && o.typ == s.typ
		}
		part := s.name + s.value
		switch {
		case sameValue:
			continue
		case s.typ != "" && !sameType:
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

func find(list []setting, name string) (setting, bool) {
	for _, s := range list {
		if s.name == name {
			return s, true
		}
	}
	return setting{}, false
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

// variant returns src, or the one variant that the file of a Source asks for
// that does not come from Variants.
func (src *Source) variant(ctx context.Context) (*Source, error) {
	if !src.IsPython() || src.spec != nil {
		return src, nil
	}
	variants, err := Variants(ctx, src, "", "")
	if err != nil {
		return nil, err
	}
	if len(variants) > 1 {
		return nil, diag.Errorf(diag.Pos{File: src.Path}, "the file asks for %d variants, which are compiled one by one", len(variants))
	}
	return variants[0], nil
}
