package frontend

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/codegen"
	"github.com/tritonc/tritonc/core/frontend/eval"
	"github.com/tritonc/tritonc/core/frontend/lang"
	"github.com/tritonc/tritonc/core/frontend/signature"
	"github.com/tritonc/tritonc/core/frontend/syntax"
)

// The decorators around @triton.jit complete a launch, the outermost first, each
// with what those before it have added: @triton.autotune adds a configuration,
// constants and options, and @triton.heuristics what its functions say. A binder
// does the same for a variant.

// Where the options of a variant come from, and the names of the decorators.
const (
	autotuneName   = "autotune"
	heuristicsName = "heuristics"
)

// configsElsewhere is the next step where a decorator is of no use.
const configsElsewhere = "--configs FILE gives the configurations as JSON; or give the constants in the signature"

// configsOf are the configurations of a kernel: those of the environment or, where
// it has none, of its decorator.
func (e *evaluation) configsOf(fn *eval.Function) ([]*lang.Config, error) {
	k, known := e.configs[fn]
	if !known {
		k.list, k.err = e.readConfigs(fn)
		if e.configs == nil {
			e.configs = make(map[*eval.Function]configList)
		}
		e.configs[fn] = k
	}
	return k.list, k.err
}

// configList is what configsOf returns.
type configList struct {
	list []*lang.Config
	err  error
}

func (e *evaluation) readConfigs(fn *eval.Function) ([]*lang.Config, error) {
	if e.env.Configs != nil {
		var params []string
		for _, p := range fn.ParamList() {
			params = append(params, p.Name)
		}
		return e.env.Configs.of(fn.Name(), params)
	}
	a := fn.Params.Autotune()
	switch {
	case a != nil && len(a.Configs) > 0:
		return e.checkConfigs(fn, a.Configs)
	case a != nil:
		return []*lang.Config{lang.DefaultConfig()}, nil // as Triton has it
	}
	if fail := skipped(fn, autotuneName); fail != nil {
		d := fail.Diagnostic()
		d.Message = "the configurations of '" + fn.Name() + "' cannot be evaluated: " + d.Message
		return nil, d.WithHelp(configsElsewhere)
	}
	return nil, diag.Errorf(diag.Pos{File: e.file.Path()}, "'%s' is not autotuned: it has no configurations to choose from", fn.Name())
}

// untuned reports whether a kernel has no configurations and nothing that would give it some.
func (e *evaluation) untuned(fn *eval.Function) bool {
	return e.env.Configs == nil && fn.Params.Autotune() == nil && skipped(fn, autotuneName) == nil
}

func (e *evaluation) checkConfigs(fn *eval.Function, values []any) ([]*lang.Config, error) {
	list := make([]*lang.Config, len(values))
	for i, v := range values {
		e.session.Meter.Visit()
		c, ok := v.(*lang.Config)
		if !ok {
			pos, _ := e.file.file.Pos(fn.Span())
			return nil, diag.Errorf(pos, "a configuration of '%s' is %s, not a triton.Config", fn.Name(), eval.TypeName(v)).
				WithHelp(configsElsewhere).WithSource(e.file.Source())
		}
		list[i] = c
	}
	return list, nil
}

// configInfo tells of a kernel's configurations.
func (e *evaluation) configInfo(fn *eval.Function, k *KernelInfo) {
	if a := fn.Params.Autotune(); a != nil {
		k.Pruned = e.env.Configs == nil && (a.Prune != nil || a.PerfModel != nil)
	} else if e.env.Configs == nil {
		return
	}
	configs, err := e.configsOf(fn)
	if err != nil {
		return // who asks for one hears why
	}
	params := fn.ParamList()
	if a := fn.Params.Autotune(); a != nil {
		for _, v := range a.Key {
			if name, ok := v.(string); ok && indexOf(params, name) >= 0 {
				k.Key = append(k.Key, name)
			}
		}
	} else {
		for _, p := range params {
			if !isConstexpr(p) {
				k.Key = append(k.Key, p.Name)
			}
		}
	}
	for n, c := range configs {
		k.Configs = append(k.Configs, infoOf(params, n, c))
	}
}

// infoOf tells of configuration n of a kernel with these parameters.
func infoOf(params []*syntax.Arg, n int, c *lang.Config) ConfigInfo {
	info := ConfigInfo{Number: n, Constants: map[string]any{}, Text: configText(c)}
	for i, key := range c.Kwargs.Keys {
		name, v := eval.Str(key), c.Kwargs.Values[i]
		option := indexOf(params, name) < 0
		if !option {
			info.Constants[name] = v
		}
		info.Settings = append(info.Settings, ConfigSetting{name, plain(v), option})
	}
	for _, o := range c.Options {
		if o.Value != nil {
			info.Settings = append(info.Settings, ConfigSetting{o.Name, plain(o.Value), true})
		}
	}
	return info
}

// plain is a value as JSON can have it, or the expression that gives it.
func plain(v any) any {
	switch v.(type) {
	case nil, bool, int64, float64, string:
		return v
	}
	return literal(v)
}

// configText is a configuration as people read it: "BLOCK=128, num_warps=4".
func configText(c *lang.Config) string {
	var parts []string
	for i, key := range c.Kwargs.Keys {
		parts = append(parts, eval.Str(key)+"="+eval.Repr(c.Kwargs.Values[i]))
	}
	for _, o := range c.Options {
		if o.Value != nil {
			parts = append(parts, o.Name+"="+eval.Repr(o.Value))
		}
	}
	return strings.Join(parts, ", ")
}

// skipped is why a decorator of that name, such as triton.autotune, was passed
// over; nil when none was.
func skipped(fn *eval.Function, decorator string) *eval.Failure {
	for _, s := range fn.Skipped {
		if isCallOf(s.Decorator, decorator) {
			return s.Failure
		}
	}
	return nil
}

// isCallOf reports whether a decorator calls a function of that name.
func isCallOf(d syntax.Expr, name string) bool {
	c, ok := d.(*syntax.Call)
	if !ok {
		return false
	}
	switch callee := c.Func.(type) {
	case *syntax.Attribute:
		return callee.Attr == name
	case *syntax.Name:
		return callee.ID == name
	}
	return false
}

// placeOf is the place of a kernel's decorator of that name, or of the kernel.
func (e *evaluation) placeOf(fn *eval.Function, decorator string) diag.Diagnostic {
	span := fn.Span()
	if fn.Def != nil {
		for _, d := range fn.Def.Decorators {
			if isCallOf(d, decorator) {
				span = d.Loc()
				break
			}
		}
	}
	pos, end := e.file.file.Pos(span)
	return diag.Diagnostic{Pos: pos, EndCol: end, Line: diag.LineAt(e.file.Source(), pos.Line)}
}

func indexOf(params []*syntax.Arg, name string) int {
	return slices.IndexFunc(params, func(p *syntax.Arg) bool { return p.Name == name })
}

// openChoice decides which configuration is taken where the request names none.
func (e *evaluation) openChoice(fn *eval.Function, v *Variant) int {
	if e.env.Configs == nil && fn.Params.Autotune() == nil {
		return noConfig
	}
	configs, err := e.configsOf(fn)
	if err != nil {
		return noConfig // what is lacking will be told
	}
	if fn.Params.Recorded != nil {
		return 0 // it was recorded for that one
	}
	params := fn.ParamList()
	given := map[string]bool{}
	for i := range v.spec.Args {
		a := &v.spec.Args[i]
		if given[a.Name] = true; a.Name == "" && i < len(params) {
			given[params[i].Name] = true
		}
	}
	tuned, lacking := 0, 0
	for _, key := range configs[0].Kwargs.Keys {
		if name := eval.Str(key); indexOf(params, name) >= 0 {
			tuned++
			if !given[name] {
				lacking++
			}
		}
	}
	switch {
	case v.request.Launch != nil && (tuned == 0 || lacking > 0):
		return bestConfig
	case v.request.Launch == nil && len(configs) == 1 && lacking > 0:
		return 0
	}
	return noConfig
}

// tune adds the variant's configuration.
func (b *binder) tune(a *eval.Autotune) {
	if b.v.config == noConfig || b.tuned {
		return
	}
	b.tuned = true
	configs, err := b.e.configsOf(b.fn)
	if err != nil {
		b.errs = append(b.errs, diag.All(err)...)
		return
	}
	b.configs = len(configs)
	n := b.v.config
	if n == bestConfig || n >= len(configs) {
		if configs, err = b.choose(a, configs); err != nil {
			b.errs = append(b.errs, diag.All(err)...)
			return
		}
	}
	switch {
	case n == bestConfig:
		n = b.left[0].Number
	case n >= len(configs):
		b.errs = append(b.errs, b.e.noSuchConfig(b.fn, strconv.Itoa(n), configs, b.v.request))
		return
	}
	b.config, b.configNo = configs[n], n
	for i, key := range b.config.Kwargs.Keys {
		name, value := eval.Str(key), b.config.Kwargs.Values[i]
		at := indexOf(b.params, name)
		if at < 0 {
			// Triton takes a keyword of the launch for an option where the kernel
			// has no such parameter.
			b.tuneOption(name, value)
			continue
		}
		if b.given[at] != nil {
			b.twice(at, value)
			continue
		}
		if b.computed[name] {
			b.conflict(name)
			continue
		}
		b.put(at, value)
		b.settings = append(b.settings, setting{name: name, value: literal(value)})
	}
	for _, o := range b.config.Options {
		b.tuneOption(o.Name, o.Value)
	}
}

// twice reports a constant that both the configuration and the arguments of a launch
// give, unless they agree: Triton refuses it, too. In a compile the signature's counts, and
// beside a recorded configuration that nobody asked for what a launch gives.
func (b *binder) twice(at int, value any) {
	p, given, l := &b.out[at], b.given[at], b.v.request.Launch
	if l == nil || p.Type == nil && !p.Tuple && eval.Equal(p.Value, value) || b.fn.Params.Recorded != nil && b.v.request.Config == "" {
		return
	}
	name := b.params[at].Name
	place := b.configPlace(name)
	place.Message = fmt.Sprintf("configuration %d of '%s' gives %s=%s, and the arguments %s=%s", b.configNo, b.fn.Name(), name, eval.Repr(value), name, given.Source)
	place.Help = strings.TrimSpace("leave "+l.Arg) + " " + name + " out"
	b.errs = append(b.errs, &place)
}

// configPlace is where the variant's configuration gives a name.
func (b *binder) configPlace(name string) diag.Diagnostic {
	if file := b.e.env.Configs; file != nil {
		return file.place(b.configNo, name)
	}
	return b.e.placeOf(b.fn, autotuneName)
}

func (b *binder) tuneOption(name string, value any) {
	if value == nil || b.fixed[name] {
		return
	}
	if b.computed[name] {
		b.conflict(name)
		return
	}
	from := fmt.Sprintf("a configuration of '%s'", b.fn.Name())
	if file := b.e.env.Configs; file != nil {
		from = "the file " + file.path
	}
	b.putOption(name, value, from, b.configPlace(name))
}

// conflict reports what both a configuration and a heuristic above it give.
func (b *binder) conflict(name string) {
	d := b.e.placeOf(b.fn, heuristicsName)
	d.Message = fmt.Sprintf("'%s' is given by @triton.heuristics and by the configurations of '%s'", name, b.fn.Name())
	b.errs = append(b.errs, d.WithHelp("put @triton.autotune above @triton.heuristics: the upper one runs first, and the lower one may change what it gives"))
}

// choose decides which configurations a launch may take, in the order of
// prune_configs_by: all where there is none. What it returns are the kernel's
// configurations and, after these, those that early_config_prune made.
func (b *binder) choose(a *eval.Autotune, configs []*lang.Config) ([]*lang.Config, error) {
	if !b.e.prunes(a) {
		for n, c := range configs {
			b.left = append(b.left, infoOf(b.params, n, c))
		}
		return configs, nil
	}
	all := slices.Clone(configs)
	// early_config_prune may write to configurations: those are new ones, and the
	// kernel's stay as they are for whoever prunes next.
	before := make([]lang.Config, len(configs))
	for i, c := range configs {
		before[i] = *c.Clone()
	}
	defer func() {
		for i, c := range configs {
			*c = before[i]
		}
	}()
	fail := eval.Try(func() {
		for _, c := range b.prune(a, configs) {
			at := slices.IndexFunc(before, func(d lang.Config) bool { return sameConfig(c, &d) })
			if at < 0 {
				at = slices.IndexFunc(all[len(configs):], func(d *lang.Config) bool { return sameConfig(c, d) })
				if at += len(configs); at < len(configs) {
					at = len(all)
					all = append(all, c.Clone())
				}
			}
			if !slices.ContainsFunc(b.left, func(l ConfigInfo) bool { return l.Number == at }) {
				b.left = append(b.left, infoOf(b.params, at, c))
			}
		}
	})
	if fail == nil {
		return all, nil
	}
	choices := ""
	if flag := b.v.request.Launch.Config; flag != "" {
		choices = "choose a configuration with " + flag + ":\n" + listConfigs(configs)
	}
	d := fail.Diagnostic()
	if d.Pos == (diag.Pos{}) {
		at := b.e.placeOf(b.fn, autotuneName)
		d.Pos, d.EndCol, d.Line = at.Pos, at.EndCol, at.Line
	}
	d.Message = fmt.Sprintf("prune_configs_by of '%s' cannot choose a configuration: %s", b.fn.Name(), d.Message)
	switch {
	case d.Help == "":
		d.Help = choices
	case choices != "":
		d.Help += "; or " + choices
	}
	return nil, d
}

// prunes reports whether functions of the decorator choose among the configurations.
func (e *evaluation) prunes(a *eval.Autotune) bool {
	return a != nil && e.env.Configs == nil && (a.Prune != nil || a.PerfModel != nil)
}

// makesConfigs reports whether early_config_prune, which may make configurations, will
// be called for a request.
func (e *evaluation) makesConfigs(fn *eval.Function, req *Request) bool {
	a := fn.Params.Autotune()
	return req.Launch != nil && e.prunes(a) && a.Prune != nil
}

// noSuchConfig is the error of a request for a configuration that is not there.
func (e *evaluation) noSuchConfig(fn *eval.Function, asked string, configs []*lang.Config, req *Request) *diag.Diagnostic {
	every := ", or " + AllConfigs + " for every one"
	if req.Launch != nil {
		every = ""
	}
	return diag.Errorf(diag.Pos{File: e.file.Path()}, "'%s' has no configuration %q", fn.Name(), asked).
		WithHelp("it has %d: give a number from 0 to %d%s", len(configs), len(configs)-1, every)
}

// maxListed is how many configurations a message names.
const maxListed = 16

func listConfigs(configs []*lang.Config) string {
	var b strings.Builder
	for i, c := range configs {
		if i == maxListed {
			fmt.Fprintf(&b, "\n… and %d more", len(configs)-i)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%d  %s", i, configText(c))
	}
	return b.String()
}

// prune does what prune_configs_by says, as Triton does.
func (b *binder) prune(a *eval.Autotune, configs []*lang.Config) []*lang.Config {
	s, all := b.e.session, len(configs)
	var keywords []eval.Keyword
	named := &eval.Dict{}
	for i, p := range b.params {
		v, ok := b.args.Get(p.Name)
		if !ok || b.given[i] == nil && !b.computed[p.Name] {
			continue // defaults are not arguments
		}
		named.Set(p.Name, v)
		if isConstexpr(p) {
			keywords = append(keywords, eval.Keyword{Name: p.Name, Value: v})
		}
	}
	if a.Prune != nil {
		list := &eval.List{}
		for _, c := range configs {
			list.Elems = append(list.Elems, c)
		}
		configs = nil
		for _, v := range eval.Iterate(s.Apply(a.Prune, []any{list, named}, keywords)) {
			c, ok := v.(*lang.Config)
			if !ok {
				eval.Fail("early_config_prune returns %s, not a triton.Config", eval.TypeName(v))
			}
			configs = append(configs, c)
		}
		if len(configs) == 0 {
			eval.Fail("No valid autotuner configs after pruning. `early_config_prune` should return at least one config.")
		}
	}
	if a.PerfModel == nil {
		return configs
	}
	count, ok := topK(a.TopK, all)
	if !ok {
		eval.Fail("Error while pruning configs, top_k must be either 1) a float <= 1.0 or 2) an int")
	}
	if len(configs) <= count {
		return configs
	}
	configs = b.fastest(a.PerfModel, configs, named)
	if count < 0 { // as Python slices
		count = max(len(configs)+count, 0)
	}
	if count == 0 {
		eval.Fail("top_k = %s of prune_configs_by leaves none of %s", eval.Repr(a.TopK), diag.Count(all, "configuration"))
	}
	return configs[:count]
}

// sameConfig reports whether two configurations say the same.
func sameConfig(c, d *lang.Config) bool {
	x, y := c.AllKwargs(), d.AllKwargs()
	return c.PreHook == d.PreHook && eval.Equal(x, y)
}

// topK is how many of n configurations top_k keeps; all where it is not given.
func topK(v any, n int) (int, bool) {
	switch v := v.(type) {
	case nil:
		return n, true
	case float64:
		return int(float64(n) * v), v <= 1
	case int64:
		return int(v), true
	}
	return 0, false
}

// fastest orders configurations by what a model of their time says.
func (b *binder) fastest(model any, configs []*lang.Config, named *eval.Dict) []*lang.Config {
	times := make(map[*lang.Config]any, len(configs))
	for _, c := range configs {
		all := &eval.Dict{}
		for i, key := range named.Keys {
			all.Set(key, named.Values[i])
		}
		own := c.AllKwargs()
		for i, key := range own.Keys {
			all.Set(key, own.Values[i])
		}
		keywords := make([]eval.Keyword, len(all.Keys))
		for i, key := range all.Keys {
			keywords[i] = eval.Keyword{Name: eval.Str(key), Value: all.Values[i]}
		}
		times[c] = b.e.session.Apply(model, nil, keywords)
	}
	configs = slices.Clone(configs)
	slices.SortStableFunc(configs, func(x, y *lang.Config) int {
		switch {
		case eval.Compare(syntax.Lt, times[x], times[y]):
			return -1
		case eval.Compare(syntax.Lt, times[y], times[x]):
			return 1
		}
		return 0
	})
	return configs
}

// compute adds what a decorator's heuristics say of the arguments so far. A
// parameter or an option that the user has given keeps its value.
func (b *binder) compute(h *eval.Heuristics) {
	for i, key := range h.Values.Keys {
		name := eval.Str(key)
		at := indexOf(b.params, name)
		if at >= 0 && b.given[at] != nil || at < 0 && b.explicit(name) {
			continue
		}
		var v any
		fail := eval.Try(func() {
			v = b.e.session.Apply(h.Values.Values[i], []any{b.args}, nil)
			if m, ok := v.(*eval.Missing); ok {
				m.Fail()
			}
			if c, ok := v.(*eval.Constexpr); ok {
				v = c.Value
			}
			if _, ok := optionValue(v); at < 0 && v != nil && !ok {
				eval.Fail("the kernel has no such parameter, and %s is not a value of an option", eval.Repr(v))
			}
		})
		if fail != nil && fail.Launch != "" && at < 0 {
			b.optionOfLaunch(name, fail)
			continue
		}
		if fail != nil {
			b.cannotCompute(name, at >= 0, fail)
			return
		}
		b.computed[name] = true
		switch {
		case at >= 0:
			b.put(at, v)
		case v != nil:
			b.putOption(name, v, fmt.Sprintf("@triton.heuristics of '%s'", b.fn.Name()), b.e.placeOf(b.fn, heuristicsName))
		}
	}
}

// optionOfLaunch warns of an option that only a launch would tell. A compile takes
// the default then, as Triton's ahead-of-time compiler does.
func (b *binder) optionOfLaunch(name string, fail *eval.Failure) {
	where := fail.Diagnostic()
	where.Severity = diag.Warning
	where.Message = fmt.Sprintf("@triton.heuristics computes '%s' from '%s', which is known at launch only: the default is taken", name, fail.Launch)
	b.warnings = append(b.warnings, where.WithHelp("give it with --option %s=…, or run the kernel", name))
}

// cannotCompute reports a heuristic that fails, with its place as a note.
func (b *binder) cannotCompute(name string, param bool, fail *eval.Failure) {
	help := "give " + name + "=… in the signature"
	switch {
	case !param:
		help = "give the option with --option " + name + "=…"
	case b.v.request.Launch != nil && b.v.request.Launch.Arg == "":
		help = "give it as an argument"
	case b.v.request.Launch != nil:
		help = "give " + b.v.request.Launch.Arg + " " + name + "=…"
	}
	if b.heuristicsFirst(fail) {
		help = "put @triton.autotune above @triton.heuristics: the upper one runs first"
	}
	at := b.end()
	b.errorf(&at, help, "'%s' is computed by @triton.heuristics: %s", name, fail.Msg)
	if fail.File != nil {
		where := fail.Diagnostic()
		b.errs[len(b.errs)-1].Notes = append(b.errs[len(b.errs)-1].Notes, diag.Diagnostic{
			Severity: diag.Note, Pos: where.Pos, EndCol: where.EndCol, Line: where.Line, Message: "it is computed here",
		})
	}
}

// heuristicsFirst reports whether a heuristic lacks what a configuration of an
// autotuner below it would give.
func (b *binder) heuristicsFirst(fail *eval.Failure) bool {
	a := b.fn.Params.Autotune()
	if fail.Raised != "KeyError" || a == nil || b.tuned {
		return false
	}
	for _, v := range a.Configs {
		c, ok := v.(*lang.Config)
		if !ok {
			continue
		}
		for _, key := range c.Kwargs.Keys {
			if eval.Repr(key) == fail.Msg {
				return true
			}
		}
	}
	return false
}

// explicit reports whether the user gives an option, in the comment or beside the
// file.
func (b *binder) explicit(name string) bool {
	if _, ok := b.v.request.Options[name]; ok {
		return true
	}
	return slices.ContainsFunc(b.v.spec.Options, func(o signature.Option) bool { return o.Name == name })
}

// put gives a parameter its value.
func (b *binder) put(at int, v any) {
	b.out[at], b.known[at] = constantParam(v), true
	b.added = append(b.added, at)
	b.args.Set(b.params[at].Name, b.out[at].Value)
}

// putOption adds an option that the user has not given, in the place of an
// earlier one.
func (b *binder) putOption(name string, v any, from string, place diag.Diagnostic) {
	text, ok := optionValue(v)
	if !ok {
		place.Message = fmt.Sprintf("the option '%s' cannot be %s", name, eval.Repr(v))
		b.errs = append(b.errs, &place)
		return
	}
	if !slices.ContainsFunc(b.v.spec.Options, func(o signature.Option) bool { return o.Name == name }) && !b.computed[name] {
		b.settings = append(b.settings, setting{name: name, value: fmt.Sprint(text)})
	}
	if b.explicit(name) {
		return
	}
	b.args.Set(name, v)
	o := Option{Name: name, Value: text, From: from, place: place}
	if i := slices.IndexFunc(b.options, func(o Option) bool { return o.Name == name }); i >= 0 {
		b.options[i] = o
		return
	}
	b.options = append(b.options, o)
}

// flagValue reads an option of the command line, where numbers are texts.
func flagValue(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case string:
		return signature.OptionValue(v)
	}
	return v
}

// argValue is an argument as functions of decorators see it: with its value in a
// launch, else as far as its type tells.
func argValue(name string, p *codegen.Param, launch any, known bool) any {
	elemName := func(i int) string { return name + "[" + strconv.Itoa(i) + "]" }
	switch v := launch.(type) {
	case int:
		return int64(v)
	case uint64:
		return eval.Int(new(big.Int).SetUint64(v))
	case Tensor:
		return launchTensor(name, v)
	case Descriptor:
		return &lang.LaunchDescriptor{Base: launchTensor(name, v.Tensor), Block: v.Block}
	case []any:
		t := &eval.Tuple{}
		for i := range v {
			t.Elems = append(t.Elems, argValue(elemName(i), &codegen.Param{}, v[i], true))
		}
		return t
	}
	if known {
		return launch
	}
	switch t := p.Type.(type) {
	case nil:
	case *lang.Pointer:
		if d, ok := t.Elem.(*lang.DType); ok {
			return &lang.LaunchTensor{Name: name, DType: d}
		}
		return lang.LaunchNumber(name)
	case *lang.DescType:
		base := &lang.LaunchTensor{Name: name, DType: t.Block.Elem.(*lang.DType)} // parseDesc makes no other
		return &lang.LaunchDescriptor{Base: base, Block: t.Block.Shape}
	default:
		return lang.LaunchNumber(name)
	}
	if !p.Tuple {
		return p.Value
	}
	t := &eval.Tuple{}
	for i := range p.Elems {
		t.Elems = append(t.Elems, argValue(elemName(i), &p.Elems[i], nil, false))
	}
	return t
}

func launchTensor(name string, t Tensor) *lang.LaunchTensor {
	d := lang.DTypeNamed(t.Type)
	if d == nil {
		panic("BUG: frontend: no type " + t.Type)
	}
	return &lang.LaunchTensor{Name: name, DType: d, Shape: t.Shape, Address: t.Address}
}
