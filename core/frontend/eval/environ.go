package eval

import (
	"maps"
	"slices"
	"strings"
)

// osModule is Python's os, as far as it does not reach outside: the environment
// is what --define os.environ.NAME=VALUE says, so that a build depends on its
// command line alone. The rest is missing.
type osModule struct{ s *Session }

func (m *osModule) Attr(name string) (any, bool) {
	switch name {
	case "environ":
		return m.s.environ(), true
	case "getenv":
		return native("getenv", -1, func(s *Session, a []any) any {
			if v, ok := s.environ().Get(arg(a, 0, "")); ok {
				return v
			}
			return arg(a, 1, nil)
		}), true
	}
	return (&Missing{Name: "os"}).Attr(name)
}
func (m *osModule) TypeName() string   { return "module" }
func (m *osModule) ModuleName() string { return "os" }

func (s *Session) environ() *Dict {
	if s.env == nil {
		s.env = &Dict{}
		for _, k := range slices.Sorted(maps.Keys(s.Define)) {
			if name, ok := strings.CutPrefix(k, "os.environ."); ok {
				v := s.Define[k]
				if c, ok := v.(*Constexpr); ok {
					v = c.Value
				}
				s.env.Set(name, Str(v))
			}
		}
	}
	return s.env
}
