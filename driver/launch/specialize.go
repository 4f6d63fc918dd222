package launch

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/driver/array"
	"github.com/tritonc/tritonc/driver/kernel"
)

// appendKey appends what of a launch's arguments decides what is compiled. Keys of
// arguments that are compiled differently differ.
func (f *Function) appendKey(key []byte, fr *frame, byAddress bool) ([]byte, error) {
	var err error
	for i := range f.info.Params {
		if !fr.given[i] {
			key = append(key, '-')
			continue
		}
		if key, err = f.appendArg(key, &f.info.Params[i], fr.args[i], fr.types[i], f.keyed[i]); err != nil {
			return key, err
		}
	}
	for _, o := range fr.options {
		key = fmt.Appendf(key, "%q=%#v;", o.Name, o.Value)
	}
	if byAddress {
		for _, a := range fr.args {
			key = appendAddress(key, a)
		}
	}
	if fr.hooked {
		key = append(key, " hooked "...)
	}
	return append(key, fr.config...), nil
}

// The hints of specialization, as keys have them.
const (
	noHint  = ' '
	aligned = 'D' // a multiple of the rules' divisor
	isOne   = '1'
	small   = 'S' // memory of no more bytes than the rules' attribute says
)

// appendArg appends one argument; of one that is keyed, its value.
func (f *Function) appendArg(key []byte, p *frontend.ParamInfo, v any, typ string, keyed bool) ([]byte, error) {
	valued := keyed || p.Constexpr || f.byValue
	if typ != "" {
		key = appendText(append(key, 't'), typ)
	}
	switch v := v.(type) {
	case nil:
		return append(key, 'n'), nil
	case kernel.Memory:
		hint := byte(noHint)
		if v.Addr()%16 == 0 {
			hint = aligned
		}
		size := byte(noHint)
		if isSmall(&f.rules, v.Room()) {
			size = small
		}
		key = appendText(append(key, 'p', hint, size), v.Type().Name)
		if f.byValue {
			key = binary.AppendVarint(key, int64(v.Len()))
		}
		return key, nil
	case *kernel.Descriptor:
		if err := v.Check(p.Name); err != nil {
			return key, err
		}
		key = appendText(append(key, 'd'), v.Base.Type().Name)
		key = appendInts(key, v.Block)
		if f.byValue {
			key = appendInts(key, v.Shape)
		}
		return key, nil
	case bool:
		return appendBool(append(key, 'b'), v, valued), nil
	case Tuple:
		key = binary.AppendVarint(append(key, '('), int64(len(v)))
		var err error
		for i := range v {
			if key, err = f.appendArg(key, p, v[i].Value, v[i].Type, keyed); err != nil {
				return key, err
			}
		}
		return key, nil
	case string:
		return appendText(append(key, 's'), v), nil
	case Expr:
		return appendText(append(key, 'e'), string(v)), nil
	}
	if n, big, ok := kernel.Integer(v); ok {
		return appendInteger(key, n, big, valued), nil
	}
	if x, ok := kernel.Number(v); ok {
		key = append(key, 'f')
		switch v.(type) {
		case kernel.Float16:
			key = append(key, 'h')
		case kernel.BFloat16:
			key = append(key, 'b')
		}
		if valued {
			key = binary.LittleEndian.AppendUint64(key, math.Float64bits(x))
		}
		return key, nil
	}
	return key, wrongArg(p.Name, "", "a %T is nothing that a kernel takes", v)
}

// appendAddress appends where an argument's memory is.
func appendAddress(key []byte, v any) []byte {
	switch v := v.(type) {
	case kernel.Memory:
		key = binary.AppendUvarint(key, v.Addr())
	case *kernel.Descriptor:
		key = binary.AppendUvarint(key, v.Base.Addr())
	case Tuple:
		for i := range v {
			key = appendAddress(key, v[i].Value)
		}
	}
	return key
}

// appendInteger appends an integer: its type, and what is compiled in of its value.
func appendInteger(key []byte, n int64, big, valued bool) []byte {
	width := byte('i')
	switch {
	case big:
		width = 'u'
	case n != int64(int32(n)):
		width = 'l'
	}
	hint := byte(noHint)
	switch {
	case n == 1:
		hint = isOne
	case n%16 == 0:
		hint = aligned
	}
	key = append(key, width, hint)
	if valued {
		key = binary.LittleEndian.AppendUint64(key, uint64(n))
	}
	return key
}

func appendText(key []byte, s string) []byte {
	return append(binary.AppendUvarint(key, uint64(len(s))), s...)
}

func appendInts(key []byte, list []int) []byte {
	key = binary.AppendVarint(key, int64(len(list)))
	for _, n := range list {
		key = binary.AppendVarint(key, int64(n))
	}
	return key
}

func appendBool(key []byte, v, known bool) []byte {
	switch {
	case !known:
		return append(key, ' ')
	case v:
		return append(key, 'T')
	}
	return append(key, 'F')
}

// specialize is the variant for a launch: its source, the parameters that it takes, and
// the options that it is compiled with. Lent, if there, is what hooks have of memory.
func (f *Function) specialize(ctx context.Context, fr *frame, lent *lender) (*core.Source, []kernel.Passed, *core.Options, error) {
	var entries []string
	var all []kernel.Passed
	launch := &core.Launch{Values: map[string]any{}}
	for i := range f.info.Params {
		if !fr.given[i] {
			continue
		}
		p := &f.info.Params[i]
		entry, passed, err := f.entry(p, &Arg{Name: p.Name, Value: fr.args[i], Type: fr.types[i]}, i, nil)
		if err != nil {
			return nil, nil, nil, err
		}
		entries = append(entries, p.Name+"="+entry)
		all = append(all, passed...)
		if len(passed) > 0 {
			launch.Values[p.Name] = f.seen(fr.args[i], lent)
		}
	}
	text := strings.Join(entries, ", ")
	if text == "" {
		text = " " // core takes an empty one for none
	}
	opts := f.opts.Compile
	opts.Stages = []string{f.opts.Device.Properties().Stage}
	opts.AllowUnlaunchable = true // it is an error of the launch
	opts.Values = maps.Clone(opts.Values)
	for _, o := range fr.options {
		if opts.Values == nil {
			opts.Values = map[string]any{}
		}
		opts.Values[o.Name] = o.Value
	}
	source := *f.opts.Source
	if parsed := f.parsed.Load(); parsed != nil {
		source = *parsed
	}
	if source.Config = f.opts.Source.Config; fr.config != "" {
		source.Config = fr.config
	}
	variants, err := core.Variants(ctx, &source, f.opts.Target, &opts, core.Want{Kernel: f.info.Name, Signature: text, Launch: launch})
	if err != nil {
		return nil, nil, nil, named(err)
	}
	if len(variants) != 1 {
		return nil, nil, nil, wrongArg("", "", "%s are asked for, and one can run", diag.Count(len(variants), "configuration"))
	}
	if lent == nil { // it would keep the launch's memory
		f.parsed.Store(variants[0])
	}
	return variants[0], all, &opts, nil
}

// entry is an argument in a signature, and what of it is passed. At is its place in
// tuples.
func (f *Function) entry(p *frontend.ParamInfo, a *Arg, number int, at []int) (string, []kernel.Passed, error) {
	if t, ok := a.Value.(Tuple); ok && !p.Constexpr {
		elem := *p
		elem.Annotation = "" // it does not reach into tuples
		text := "("
		var all []kernel.Passed
		for i := range t {
			e := Arg{Name: fmt.Sprintf("%s[%d]", a.Name, i), Value: t[i].Value, Type: t[i].Type}
			entry, passed, err := f.entry(&elem, &e, number, append(at[:len(at):len(at)], i))
			if err != nil {
				return "", nil, err
			}
			text += entry + ", "
			all = append(all, passed...)
		}
		return strings.TrimSuffix(text, " ") + ")", all, nil
	}
	b := Arg{Name: a.Name, Type: a.Type}
	var err error
	if b.Value, err = plain(p, a); err != nil {
		return "", nil, err
	}
	if s, ok := b.Value.(kernel.Float16); ok && b.Type == "" {
		b.Value, b.Type = s.Float64(), "fp16"
	}
	if s, ok := b.Value.(kernel.BFloat16); ok && b.Type == "" {
		b.Value, b.Type = s.Float64(), "bf16"
	}
	s, err := specialize(&f.rules, p, &b)
	if err != nil || len(s.passed) == 0 {
		return s.entry, nil, err
	}
	typ := s.passed[0].typ
	if _, ok := b.Value.(kernel.Memory); ok {
		typ, _, _ = strings.Cut(s.entry, ":")
	} else if typ == "" {
		typ = s.entry
	}
	return s.entry, []kernel.Passed{{Param: kernel.Param{Name: a.Name, Type: typ}, Arg: number, Elem: at}}, nil
}

// holds reports whether a pointer's type is that of memory of elements.
func holds(pointer string, elem *array.DType) bool {
	t := array.Named(strings.TrimPrefix(pointer, "*"))
	if t == nil {
		t = array.Named(strings.TrimPrefix(pointer, "*k"))
	}
	return t == elem
}

// plain is an argument of any Go type as specialize takes it.
func plain(p *frontend.ParamInfo, a *Arg) (any, error) {
	switch v := a.Value.(type) {
	case nil, bool, kernel.Memory, *kernel.Descriptor, Expr, kernel.Float16, kernel.BFloat16:
		return v, nil
	case string:
		if p.Constexpr {
			return Expr(strconv.Quote(v)), nil
		}
		return nil, wrongArg(a.Name, "", "a string can only be a constant, and %s is not tl.constexpr", p.Name)
	case Tuple: // of constants
		list := make(Tuple, len(v))
		for i := range v {
			var err error
			if list[i].Value, err = plain(p, &v[i]); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	if n, big, ok := kernel.Integer(a.Value); ok {
		if big {
			return uint64(n), nil
		}
		return n, nil
	}
	if x, ok := kernel.Number(a.Value); ok {
		return x, nil
	}
	return nil, wrongArg(a.Name, "", "a %T is nothing that a kernel takes", a.Value)
}

// seen is an argument as functions of the kernel's decorators see it.
func (f *Function) seen(v any, lent *lender) any {
	switch v := v.(type) {
	case kernel.Memory:
		return f.tensor(v, []int{v.Len()}, lent)
	case *kernel.Descriptor:
		return frontend.Descriptor{Tensor: f.tensor(v.Base, v.Shape, lent), Block: widen(v.Block)}
	case Tuple:
		list := make([]any, len(v))
		for i := range v {
			list[i] = f.seen(v[i].Value, lent)
		}
		return list
	case nil, bool:
		return v
	}
	if n, big, ok := kernel.Integer(v); ok {
		if big {
			return uint64(n)
		}
		return n
	}
	x, _ := kernel.Number(v)
	return x
}
