package alias_test

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/analysis/alias"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

const header = `#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
#loc = loc(unknown)
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
`

// Each test's "use" is the operand of the last ttg.local_dealloc; buffers are
// told by their alignment, in the order in which they are found.
func TestOf(t *testing.T) {
	m := "!ttg.memdesc<64xf32, #s, #smem, mutable>"
	alloc := func(name, align string) string {
		return "%" + name + " = ttg.local_alloc {alignment = " + align + " : i32} : () -> M\n"
	}
	for _, c := range []struct {
		name, body, want string
		any              bool
	}{
		{"itself", alloc("a", "16") + "ttg.local_dealloc %a : M", "16", false},
		{"a view", alloc("a", "16") + "%v = ttg.memdesc_reinterpret %a : M -> M\nttg.local_dealloc %v : M", "16", false},
		{"a parameter", "ttg.local_dealloc %p : M", "", true},
		{"what a function returns", "%r = tt.call @f(%p) : (M) -> M\nttg.local_dealloc %r : M", "", true},
		{
			"either branch",
			alloc("a", "16") + alloc("b", "32") + `%r = scf.if %c -> (M) { scf.yield %b : M } else { scf.yield %a : M }
			ttg.local_dealloc %r : M`,
			"32 16", false,
		},
		{
			"a loop that may not run gives its initial value",
			alloc("a", "16") + alloc("b", "32") + `%r = scf.for %i = %n to %n step %n iter_args(%x = %a) -> (M) : i32 { scf.yield %b : M }
			ttg.local_dealloc %r : M`,
			"16 32", false,
		},
		{
			"arguments that change places",
			alloc("a", "16") + alloc("b", "32") + alloc("c2", "64") + `%r:3 = scf.for %i = %n to %n step %n iter_args(%x = %a, %y = %b, %z = %c2) -> (M, M, M) : i32 {
			  ttg.local_dealloc %x : M
			  scf.yield %y, %x, %z : M, M, M
			}`,
			"16 32", false,
		},
		{
			"a while loop's condition chooses",
			alloc("a", "16") + alloc("b", "32") + `%r = scf.while (%x = %a) : (M) -> M {
			  scf.condition(%c) %b : M
			} do {
			^bb0(%y: M):
			  scf.yield %y : M
			}
			ttg.local_dealloc %r : M`,
			"32", false,
		},
		{
			"a while loop's argument",
			alloc("a", "16") + alloc("b", "32") + `%r = scf.while (%x = %a) : (M) -> M {
			  ttg.local_dealloc %x : M
			  scf.condition(%c) %b : M
			} do {
			^bb0(%y: M):
			  scf.yield %y : M
			}`,
			"16 32", false,
		},
		{
			"a block's argument",
			alloc("a", "16") + `cf.cond_br %c, ^bb1(%a : M), ^bb1(%p : M)
			^bb1(%x: M):
			ttg.local_dealloc %x : M`,
			"16", true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := header + "tt.func private @f(%p: M) -> M {\ntt.return %p : M\n}\ntt.func public @k(%p: M, %c: i1, %n: i32) {\n" + c.body + "\ntt.return\n}\n}\n"
			mod, err := text.Parse(dialect.NewContext(), "t.ttgir", []byte(strings.NewReplacer("(M", "("+m, " M", " "+m).Replace(src)))
			if err != nil {
				t.Fatal(err)
			}
			var use *ir.Value
			ir.Walk(mod, func(op *ir.Operation) ir.WalkResult {
				if op.Name() == "ttg.local_dealloc" {
					use = op.Operand(0)
				}
				return ir.Advance
			})
			set := alias.Of(use)
			var got []string
			for _, b := range set.Buffers {
				got = append(got, text.AttrString(mod.Context(), b.Attr("alignment")))
			}
			if s := strings.ReplaceAll(strings.Join(got, " "), " : i32", ""); s != c.want || set.Any != c.any {
				t.Errorf("got %q, any %v; want %q, any %v", s, set.Any, c.want, c.any)
			}
		})
	}
}
