package decl_test

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/decl"
	"github.com/tritonc/tritonc/core/ir/text"
)

// toy has one of each thing that a declaration can say.
const toy = `{
  "name": "toy",
  "doc": "a dialect for this test",
  "enums": [{"name": "color", "width": 64, "cases": [{"keyword": "red", "value": 0}, {"keyword": "green", "value": 7}]}],
  "attrs": [
    {"name": "space"},
    {"name": "layout", "alias": "lay", "params": [
      {"name": "m", "kind": "int"}, {"name": "deep", "kind": "bool", "default": false},
      {"name": "order", "kind": "ints", "default": [1, 0]}]},
    {"name": "speed", "positional": true, "params": [{"name": "how", "kind": "word", "words": ["slow", "fast"]}, {"name": "n", "kind": "int"}, {"name": "turns", "kind": "ints", "default": []}, {"name": "deep", "kind": "bool", "default": false}]},
    {"name": "pair", "braces": true, "params": [{"name": "a", "kind": "attr"}, {"name": "t", "kind": "type"}]}
  ],
  "types": [{"name": "box", "params": [{"name": "of", "kind": "type"}, {"name": "n", "kind": "int", "default": 1}]}, {"name": "unit"},
    {"name": "many", "positional": true, "params": [{"name": "of", "kind": "types"}]}],
  "ops": [
    {"name": "toy.paint", "operands": [{"name": "x", "type": "tensor|i32"}],
     "attrs": [{"name": "color", "kind": "enum", "enum": "color"}, {"name": "times", "kind": "i32", "default": 1}],
     "results": [{"name": "r", "type": "any"}], "resultTypes": "like x", "resultNames": ["painted"],
     "asm": "$color $x attr-dict ` + "`:`" + ` type($x)"},
    {"name": "toy.open", "operands": [{"name": "b", "type": "toy.box"}], "results": [{"name": "r", "type": "i32"}],
     "resultTypes": "type i32", "effects": ["read"], "asm": "$b attr-dict ` + "`:`" + ` qualifiedless(type($b))"},
    {"name": "toy.swap", "operands": [{"name": "xs", "type": "any", "arity": "variadic"}],
     "results": [{"name": "rs", "type": "any", "arity": "variadic"}], "resultTypes": "operands", "asm": "$xs attr-dict ` + "`:`" + ` type($xs)"},
    {"name": "toy.start", "operands": [{"name": "dep", "type": "toy.unit", "arity": "optional"}],
     "results": [{"name": "token", "type": "toy.unit", "arity": "optional"}], "asm": "custom<Token>($dep, $token) attr-dict"},
    {"name": "toy.group", "results": [{"name": "rs", "type": "any", "arity": "variadic"}], "attrs": [{"name": "warps", "kind": "i32s"}],
     "regions": [{"name": "parts", "variadic": true}], "traits": ["noTerminator"],
     "asm": "attr-dict-with-keyword custom<Partitions>($warps, $parts) (` + "`:`" + ` type($rs)^)?"},
    {"name": "toy.loop", "regions": [{"name": "body", "singleBlock": true}], "traits": ["noTerminator"], "effects": ["recursive"], "asm": "$body attr-dict"}
  ]
}`

const program = `#lay = #toy.layout<m = 4>
#lay1 = #toy.layout<m = 4, deep = true, order = [0, 1]>
module {
  tt.func @f(%x: i32, %b: !toy.box<of = i32>, %t: tensor<4xi32, #lay>) {
    %painted = toy.paint red %x : i32
    %painted_0 = toy.paint green %t {times = 2 : i32} : tensor<4xi32, #lay>
    %0 = toy.open %b : <of = i32>
    %1:2 = toy.swap %x, %t : i32, tensor<4xi32, #lay>
    %2 = toy.start []
    %3 = toy.start [%2]
    toy.start
    toy.group attributes {x}
    partition0 num_warps(4) {
      %5 = toy.open %b : <of = i32>
    }
    partition1 num_warps(1) {
    }
    toy.group
    %4 = toy.group
    partition0 num_warps(2) {
    } : i32
    toy.loop {
      "x.y"() {a = #toy.pair<{a = #lay1, t = !toy.box<of = f32, n = 2>}>, s = #toy.space, u = !toy.unit, v = !toy.many<[i32, !toy.unit]>, w = !toy.many<[]>, x = #toy.speed<fast, 3>, y = #toy.speed<slow, 3, [1, 2]>, z = #toy.speed<slow, 3, [], true>} : () -> ()
    }
    tt.return
  }
}
`

func load(t *testing.T, src string) *ir.Dialect {
	t.Helper()
	d, err := decl.Load([]byte(src), dialect.All()...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDeclaredDialectReadsAndPrints(t *testing.T) {
	d := load(t, toy)
	f, err := text.ParseFile(dialect.NewContext(d), "toy.mlir", []byte(program))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Verify(); err != nil {
		t.Fatal(err)
	}
	if got := string(text.Append(nil, f.Op, text.Options{})); got != program {
		t.Errorf("got\n%s\nwant\n%s", got, program)
	}
	if e := d.Op("toy.open").Effects; !e.Read || e.Write {
		t.Errorf("effects of toy.open: %+v", e)
	}
}

// The fields of a declared attribute can be read by name.
func TestFieldsOfValues(t *testing.T) {
	ctx := dialect.NewContext(load(t, toy))
	a, err := text.ParseAttr(ctx, "#toy.layout<m = 4, order = [0, 1]>")
	if err != nil {
		t.Fatal(err)
	}
	v := a.(*decl.AttrValue)
	if v.Name() != "layout" || v.Int("m") != 4 || v.Bool("deep") || len(v.Ints("order")) != 2 || v.Ints("order")[1] != 1 {
		t.Errorf("read %s: m %d, deep %v, order %v", v.Name(), v.Int("m"), v.Bool("deep"), v.Ints("order"))
	}
	b, _ := text.ParseAttr(ctx, "#toy.layout<m = 4, deep = false, order = [0, 1]>")
	if a != b {
		t.Error("equal attributes differ")
	}
}

// Texts that break a declared rule.
func TestDeclaredRules(t *testing.T) {
	for src, want := range map[string]string{
		`module { tt.func @f(%x: f32) { %0 = toy.paint red %x : f32 tt.return } }`:        "'toy.paint' op operand #0 must be ranked tensor of any type values or 32-bit signless integer, but got f32",
		`module { tt.func @f(%x: i32) { %0 = toy.paint blue %x : i32 tt.return } }`:       "expected one of red, green for 'color', found 'blue'",
		`module attributes {a = #toy.layout<deep = true>} {}`:                             "#toy.layout: 'm' is missing",
		`module attributes {a = #toy.layout<m = 1, x = 2>} {}`:                            "Unexpected attribute \"x\" found",
		`module attributes {a = #toy.layout<m = 1, m = 2>} {}`:                            "field 'm' appears twice",
		`module attributes {a = #toy.speed<quick, 1>} {}`:                                 "how must be one of slow, fast, not quick",
		`module attributes {a = #toy.speed<fast>} {}`:                                     "expected ',', found '>'",
		`module attributes {a = !toy.many<i32>} {}`:                                       "expected '[', found 'i32'",
		`module { toy.group partition1 num_warps(1) {} }`:                                 "found 'partition1'",
		`module attributes {a = #toy.nothing} {}`:                                         "dialect 'toy' has no attribute 'nothing'",
		`module { "toy.paint"() : () -> () }`:                                             "'toy.paint' op expected 1 operand, but found 0",
		`module { tt.func @f(%x: i32) { %0 = "toy.open"(%x) : (i32) -> i32 tt.return } }`: "operand #0 must be toy.box",
	} {
		f, err := text.ParseFile(dialect.NewContext(load(t, toy)), "x", []byte(src))
		if err == nil {
			err = f.Verify()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n  got  %v\n  want %s", src, err, want)
		}
	}
}

// A wrong declaration is refused with the part and the reason.
func TestDeclarationErrors(t *testing.T) {
	for src, want := range map[string]string{
		``:                            "dialect declaration: EOF",
		`{"name": "x", "ops": []} {}`: "something follows the JSON object",
		`{"name": "x", "opps": []}`:   `unknown field "opps"`,
		`{"name": "a.b", "ops": []}`:  `"a.b" is not a name`,
		`{"name": "x", "ops": [{"name": "y.z"}]}`:                                                "operation y.z: its name must begin with \"x.\"",
		`{"name": "x", "attrs": [{"name": "a", "positional": true, "braces": true}], "ops": []}`: "positional parameters have no braces",
		`{"name": "x", "attrs": [{"name": "a", "positional": true, "params": [{"name": "n", "kind": "int", "default": 1}, {"name": "m", "kind": "int"}]}], "ops": []}`: "parameter m: a positional parameter after one with a default needs one, too",
		`{"name": "x", "attrs": [{"name": "a", "params": [{"name": "n", "kind": "word"}]}], "ops": []}`:                                                                "words are for a word, which needs some",
		`{"name": "x", "attrs": [{"name": "a", "params": [{"name": "n", "kind": "int", "words": ["b"]}]}], "ops": []}`:                                                 "words are for a word, which needs some",
		`{"name": "x", "attrs": [{"name": "a", "params": [{"name": "n", "kind": "word", "words": ["b"], "default": "b"}]}], "ops": []}`:                                "a word has no default",
		op(`"asm": "attr-dict custom<Partitions>($a, $b)"`):                                                                                                            "has no operand, attribute, region or successor 'a'",
		op(`"attrs": [{"name": "n", "kind": "i64s"}], "regions": [{"name": "r", "variadic": true}], "asm": "attr-dict custom<Partitions>($n, $r)"`):                    "Partitions needs an attribute of kind i32s",
		op(`"asm": "$a attr-dict"`):                                                    "asm: the table has no operand, attribute, region or successor 'a' at column 3",
		op(`"asm": ""}, {"name": "x.op"`):                                              "operation x.op: declared twice",
		op(`"traits": ["fast"]`):                                                       `unknown trait "fast"`,
		op(`"effects": ["fast"]`):                                                      `unknown effect "fast"`,
		op(`"operands": [{"name": "a", "type": "fast"}]`):                              `unknown constraint "fast"`,
		op(`"operands": [{"name": "a", "type": "any", "arity": "many"}]`):              `unknown arity "many"`,
		op(`"operands": [{"name": "a b", "type": "any"}]`):                             `"a b" is not a name`,
		op(`"operands": [{"name": "a", "type": "any"}, {"name": "a", "type": "any"}]`): `two parts are named "a"`,
		op(`"operands": [{"name": "a", "type": "any", "arity": "optional"}, {"name": "b", "type": "any", "arity": "variadic"}]`): `the trait "segments" is needed`,
		op(`"results": [{"name": "a", "type": "any", "arity": "optional"}, {"name": "b", "type": "any", "arity": "variadic"}]`):  "more than one group of results",
		op(`"attrs": [{"name": "a", "kind": "float"}]`):                                                               `unknown kind "float"`,
		op(`"attrs": [{"name": "a", "kind": "enum", "enum": "e"}]`):                                                   `unknown enum "e"`,
		op(`"attrs": [{"name": "a", "kind": "i32", "default": "x"}]`):                                                 "attribute a: default: json",
		op(`"attrs": [{"name": "a", "kind": "unit", "default": true}]`):                                               `an attribute of kind "unit" has no default`,
		op(`"resultTypes": "like y"`):                                                                                 `resultTypes: there is no operand "y"`,
		op(`"resultTypes": "magic"`):                                                                                  `resultTypes: unknown rule "magic"`,
		op(`"resultNames": ["a"]`):                                                                                    "1 resultNames for 0 results",
		op(`"successors": -1`):                                                                                        "successors must not be negative",
		`{"name": "x", "enums": [{"name": "e", "cases": []}], "ops": []}`:                                             "enum e: no cases",
		`{"name": "x", "attrs": [{"name": "a", "params": [{"name": "p", "kind": "float"}]}], "ops": []}`:              `attribute a: parameter p: unknown kind "float"`,
		`{"name": "x", "attrs": [{"name": "a"}, {"name": "a"}], "ops": []}`:                                           "attribute a: declared twice",
		`{"name": "x", "types": [{"name": "a", "params": [{"name": "p", "kind": "int", "default": []}]}], "ops": []}`: "type a: parameter p: default: json",
	} {
		_, err := decl.Load([]byte(src), dialect.All()...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n  got  %v\n  want %s", src, err, want)
		}
	}
}

func op(fields string) string {
	return `{"name": "x", "ops": [{"name": "x.op", ` + fields + `}]}`
}

// FuzzLoad: any declaration gives a dialect or an error.
func FuzzLoad(f *testing.F) {
	f.Add(toy)
	f.Fuzz(func(t *testing.T, src string) {
		d, err := decl.Load([]byte(src), dialect.All()...)
		if err == nil {
			ir.NewContext(d)
		}
	})
}
