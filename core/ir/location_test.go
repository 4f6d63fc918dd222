package ir

import (
	"fmt"
	"testing"
)

// TestOwnFileLoc: the place of an operation in the file of its function is that of the call,
// where it came from another file.
func TestOwnFileLoc(t *testing.T) {
	fn := &OpDef{
		Name: "f.fn", Attrs: []AttrDef{{Name: "sym_name", Kind: AttrString}, {Name: "function_type", Kind: AttrType}},
		Regions: []RegionDef{{Name: "body"}}, Traits: IsolatedFromAbove | Symbol,
	}
	nop := &OpDef{Name: "f.nop"}
	c := NewContext(&Dialect{Name: "f", Ops: []*OpDef{fn, nop}})
	at := func(file string, line int) Location { return c.FileLoc(file, line, 3) }
	f := NewOperation(fn, &State{Ctx: c, Loc: at("k.py", 1), Regions: 1, Attrs: []NamedAttr{
		{"sym_name", c.StringAttr("f")}, {"function_type", c.TypeAttr(c.Func(nil, nil))},
	}})
	body := f.Region(0).AddBlock()
	inlined := c.CallSiteLoc(c.NameLoc("v", at("lib.py", 7)), c.CallSiteLoc(at("lib.py", 9), at("k.py", 4)))
	for _, tt := range []struct {
		loc  Location
		want string
	}{
		{at("k.py", 2), "k.py:2"},
		{inlined, "k.py:4"},
		{c.CallSiteLoc(at("k.py", 3), at("k.py", 4)), "k.py:3"},
		{c.FusedLoc([]Location{c.UnknownLoc(), inlined, at("k.py", 8)}, nil), "k.py:4"},
		{at("lib.py", 7), "lib.py:7"},
		{c.UnknownLoc(), ""},
	} {
		op := NewOperation(nop, &State{Ctx: c, Loc: tt.loc})
		body.Append(op)
		got := ""
		if l := OwnFileLocOf(op); l != nil {
			got = fmt.Sprintf("%s:%d", l.File, l.Line)
		}
		if got != tt.want {
			t.Errorf("%v is at %q, want %q", tt.loc, got, tt.want)
		}
	}
	if l := OwnFileLocOf(NewOperation(nop, &State{Ctx: c, Loc: inlined})); l == nil || l.File != "lib.py" {
		t.Errorf("outside of a function it is at %v", l)
	}
}
