package eval

import (
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/frontend/syntax"
	"github.com/tritonc/tritonc/core/work"
)

// Session is what the modules of one compile share. It belongs to one
// goroutine.
type Session struct {
	// Import finds a module by its dotted name: a *Module, or another value
	// with attributes; nil when there is none. A *Missing may say why.
	Import func(name string) any
	// Define gives values to names of missing modules ("pkg.mod.NAME").
	Define map[string]any
	// Print receives what compile-time code prints; nil drops it.
	Print func(text string)
	// Notes collects what was skipped, such as foreign decorators.
	Notes diag.List
	// Host is what functions of the language that run here emit code with; nil
	// while no kernel is being compiled.
	Host any
	// Kernel makes of a jit function what code that runs kernels sees of it:
	// kernel[grid], kernel.warmup. With it the session runs such code, to which
	// conditions on what is missing are mistakes; nil while kernels are compiled.
	Kernel func(fn *Function) any
	// Effects says that code runs for what it does, as hooks: there a statement that
	// calls what is missing is a mistake.
	Effects bool
	// Meter counts the steps and may stop the compile; nil counts nothing.
	Meter *work.Meter
	// MaxSteps bounds the work of compile-time code; 0 means DefaultMaxSteps.
	MaxSteps int

	steps   int
	depth   int
	told    bool // something was printed
	ran     bool // a function of the user's ran for a Host
	modules map[*File]*Module
	env     *Dict // os.environ, once it was asked for
}

// Begin readies the session for a piece of work: steps are counted from zero, to
// the meter, and what is printed goes to print.
func (s *Session) Begin(meter *work.Meter, print func(text string)) {
	s.Meter, s.Print = meter, print
	s.steps, s.depth = 0, 0
}

// Pure reports whether work that begins now finds the same as in a new session of
// the same files: nothing was printed, no note was made, none of the user's
// functions, which may change what globals hold, ran while code was emitted, and
// so few steps were taken that the budget does not depend on them.
func (s *Session) Pure() bool {
	return !s.told && !s.ran && len(s.Notes) == 0 && s.steps <= DefaultMaxSteps/10
}

// DefaultMaxSteps is the step budget of a session.
const DefaultMaxSteps = 2_000_000

// maxCalls bounds nested calls of compile-time code.
const maxCalls = 200

// step spends one step of the budget.
func (s *Session) step() {
	if s.Meter != nil {
		s.Meter.Visit()
	}
	s.steps++
	limit := s.MaxSteps
	if limit == 0 {
		limit = DefaultMaxSteps
	}
	if s.steps > limit {
		FailHelp("compile-time code must end soon: look for a loop without end, or compute the value outside and pass it in",
			"compile-time evaluation takes more than %s", diag.Count(limit, "step"))
	}
}

// Module is one session's view of a file.
type Module struct {
	File    *File
	Session *Session
	vals    map[string]any
	done    []bool // statements that ran or are running
	failed  map[int]Failure
	current int             // the statement that is running, or -1
	seeking map[string]bool // names that are being looked for in starred imports
	// annotated holds the names that are annotated as constexpr.
	annotated map[string]bool
}

// Module returns the session's view of f.
func (s *Session) Module(f *File) *Module {
	if m, ok := s.modules[f]; ok {
		return m
	}
	m := &Module{File: f, Session: s, vals: make(map[string]any, 8), done: make([]bool, len(f.Tree.Body)), current: -1}
	if s.modules == nil {
		s.modules = make(map[*File]*Module)
	}
	s.modules[f] = m
	return m
}

// Lookup returns the value of a global, running the statements that bind it.
// Where several statements bind one name, the value is that after the last; for a
// statement that runs, that of the ones up to it, if there are any.
func (m *Module) Lookup(name string) (any, bool) {
	binds := m.File.binds[name]
	for _, i := range binds {
		if i > m.current && binds[0] <= m.current {
			break
		}
		m.run(i)
	}
	if v, ok := m.vals[name]; ok {
		return v, true
	}
	for _, i := range binds {
		if f, ok := m.failed[i]; ok { // as it did the first time
			f.Frames = slices.Clone(f.Frames)
			panic(&f)
		}
	}
	if v, ok := m.starred(name); ok {
		m.vals[name] = v
		return v, true
	}
	switch name {
	case "__name__":
		return m.File.ModuleName, true
	case "__file__":
		return m.File.Name, true
	}
	return nil, false
}

// IsConstexpr reports whether the global is annotated as constexpr.
func (m *Module) IsConstexpr(name string) bool { return m.annotated[name] }

// Attr is a global, for mod.name. One of an installed package that cannot be
// computed here is missing, which matters only where it is needed.
func (m *Module) Attr(name string) (v any, ok bool) {
	if !m.File.Installed {
		return m.Lookup(name)
	}
	fail := Try(func() { v, ok = m.Lookup(name) })
	if fail == nil {
		return v, ok
	}
	where := ""
	if fail.File != nil {
		pos, _ := fail.File.Pos(fail.Span)
		where = " (" + pos.String() + ")"
	}
	return &Missing{Name: m.File.ModuleName + "." + name, Reason: "it cannot be computed at compile time: " + fail.Msg + where}, true
}
func (m *Module) TypeName() string { return "module" }
func (m *Module) Repr() string     { return "<module '" + m.File.ModuleName + "'>" }

// Functions lists the file's top-level functions in order, in branches of
// compound statements too.
func (m *Module) Functions() []*Function {
	var out []*Function
	seen := map[*syntax.FunctionDef]bool{}
	var visit func(body []syntax.Stmt)
	visit = func(body []syntax.Stmt) {
		for _, st := range body {
			switch st := st.(type) {
			case *syntax.FunctionDef:
				var v any
				if fail := Try(func() { v, _ = m.Lookup(st.Name) }); fail != nil {
					continue // it says why when it is asked for by name
				}
				if fn, ok := v.(*Function); ok && !seen[fn.Def] {
					seen[fn.Def] = true
					out = append(out, fn)
				}
			case *syntax.If:
				visit(st.Body)
				visit(st.Orelse)
			case *syntax.Try:
				visit(st.Body)
				visit(st.Orelse)
			}
		}
	}
	visit(m.File.Tree.Body)
	return out
}

func (m *Module) run(i int) {
	if m.done[i] {
		return
	}
	m.done[i] = true
	f := &frame{s: m.Session, mod: m}
	outer := m.current
	m.current = i
	defer func() {
		m.current = outer
		if r := recover(); r != nil {
			if fail, ok := r.(*Failure); ok {
				fail.At(m.File, f.cur)
				if m.failed == nil {
					m.failed = make(map[int]Failure)
				}
				m.failed[i] = *fail
			}
			panic(r)
		}
	}()
	f.exec(m.File.Tree.Body[i])
}

// starred looks for a name in what the module imports with *. Modules may import
// one another so; then the name is in none of them.
func (m *Module) starred(name string) (any, bool) {
	if m.seeking[name] || len(m.File.stars) == 0 {
		return nil, false
	}
	if m.seeking == nil {
		m.seeking = make(map[string]bool)
	}
	m.seeking[name] = true
	defer delete(m.seeking, name)
	for _, i := range m.File.stars {
		if v, ok := m.star(i, name); ok {
			return v, true
		}
	}
	return nil, false
}

func (m *Module) star(i int, name string) (any, bool) {
	if strings.HasPrefix(name, "_") {
		return nil, false
	}
	st := m.File.Tree.Body[i]
	from, ok := st.(*syntax.ImportFrom)
	if !ok {
		return nil, false
	}
	v := m.Session.load(m.absolute(from))
	if a, ok := v.(Attributer); ok {
		if _, missing := v.(*Missing); !missing {
			return a.Attr(name)
		}
	}
	return nil, false
}

// absolute is the dotted name of the module that st imports from.
func (m *Module) absolute(st *syntax.ImportFrom) string {
	if st.Level == 0 {
		return st.Module
	}
	parts := strings.Split(m.File.ModuleName, ".")
	up := st.Level
	if strings.HasSuffix(m.File.Path, "__init__.py") {
		up-- // a package's own dot is the package itself
	}
	keep := max(len(parts)-up, 0)
	base := strings.Join(parts[:keep], ".")
	switch {
	case base == "":
		return st.Module
	case st.Module == "":
		return base
	}
	return base + "." + st.Module
}

// kernel is what code that runs kernels sees of a jit function, else nil.
func (s *Session) kernel(v any) any {
	if fn, ok := v.(*Function); ok && fn.Kind == JIT && s.Kernel != nil {
		return s.Kernel(fn)
	}
	return nil
}

// Load imports a module by its dotted name, nil when there is none.
func (s *Session) Load(name string) any { return s.load(name) }

// load is Load.
func (s *Session) load(name string) any {
	if name == "os" {
		return &osModule{s}
	}
	if m := builtinModule(name); m != nil {
		return m
	}
	if s.Import == nil {
		return nil
	}
	return s.Import(name)
}

// attr is v.name, looking through --define for missing things.
func (s *Session) attr(v any, name string) any {
	if m, ok := v.(*Missing); ok {
		if d, ok := s.Define[m.Name+"."+name]; ok {
			return d
		}
	}
	if a, ok := s.kernel(v).(Attributer); ok {
		if r, ok := a.Attr(name); ok {
			return r
		}
	}
	if a, ok := v.(Attributer); ok {
		if r, ok := a.Attr(name); ok {
			return r
		}
	}
	if r, ok := methodOf(v, name); ok {
		return r
	}
	if _, ok := asNumber(v); name == "value" && (ok || TypeName(v) == "str") {
		return v // of a constexpr that was unwrapped
	}
	if n, ok := v.(interface{ ModuleName() string }); ok {
		help, lacking := "", false
		if h, ok := v.(interface{ Hint(name string) string }); ok {
			help, lacking = h.Hint(name), true
		}
		if help == "" {
			help = DidYouMean(name, namesOf(v), "")
		}
		panic(&Failure{Msg: "module '" + n.ModuleName() + "' has no attribute '" + name + "'", Help: help, Raised: "AttributeError", Lacking: lacking})
	}
	raiseHelp("AttributeError", DidYouMean(name, namesOf(v), ""), "'%s' object has no attribute '%s'", TypeName(v), name)
	return nil
}

// namesOf lists attributes of v for suggestions.
func namesOf(v any) []string {
	switch v := v.(type) {
	case interface{ Names() []string }:
		return v.Names()
	case *Constexpr:
		return append(namesOf(v.Value), "value")
	}
	var names []string
	for _, n := range methodNames {
		if _, ok := methodOf(v, n); ok {
			names = append(names, n)
		}
	}
	if _, ok := asNumber(v); ok || TypeName(v) == "str" {
		names = append(names, "value")
	}
	return names
}

// Attr is v.name for values of every kind.
func (s *Session) Attr(v any, name string) any { return s.attr(v, name) }

// HasAttr reports whether v.name exists.
func (s *Session) HasAttr(v any, name string) bool {
	if a, ok := v.(Attributer); ok {
		if _, ok := a.Attr(name); ok {
			return true
		}
	}
	_, ok := methodOf(v, name)
	return ok
}

// ModuleName is the module's dotted name.
func (m *Module) ModuleName() string { return m.File.ModuleName }

// Names lists what the module binds, sorted.
func (m *Module) Names() []string { return m.File.Names() }
