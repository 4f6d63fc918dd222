// Package decl makes a dialect out of a declaration: JSON that says what a table
// in Go would say. It is how a backend's own dialect reaches core, which then
// parses, prints and verifies it like its own.
//
//	Dialect, Op, Attr   the declaration; docs/dialect-declarations.md describes it
//	Load                declaration to *ir.Dialect
//	Value               an attribute or type of a declared dialect
//
// What a table says by functions (constraints, result types) is said by names
// here; the names are in names.go, and dialects that are loaded already add
// those of their own types (text.Dialect.Constraints).
//
// The package imports core/ir and core/ir/text.
package decl

import "encoding/json"

// Dialect is a declaration.
type Dialect struct {
	Name  string `json:"name"` // without dot: "ttng"
	Doc   string `json:"doc,omitempty"`
	Enums []Enum `json:"enums,omitempty"`
	Attrs []Attr `json:"attrs,omitempty"`
	Types []Attr `json:"types,omitempty"`
	Ops   []Op   `json:"ops"`
}

// Enum is an enumeration that attributes refer to by name.
type Enum struct {
	Name  string `json:"name"`
	Width int    `json:"width,omitempty"` // bits of the integer; 0 is 32
	Cases []Case `json:"cases"`
}

// Case is one keyword with its number.
type Case struct {
	Keyword string `json:"keyword"`
	Value   int64  `json:"value"`
}

// Attr is an attribute (or type) that the dialect adds: #ttng.name<…>.
type Attr struct {
	Name string `json:"name"` // without the dialect
	Doc  string `json:"doc,omitempty"`
	// Alias is the name of the line that defines it; empty: it is written in place.
	Alias string `json:"alias,omitempty"`
	// Braces puts the parameters into <{…}> instead of <…>.
	Braces bool `json:"braces,omitempty"`
	// Positional leaves out their names: <value, …>. The last ones may have defaults.
	Positional bool `json:"positional,omitempty"`

	Params []Param `json:"params,omitempty"`
}

// Param is one "name = value" of an attribute or type. One that has its default
// is not printed.
type Param struct {
	Name    string          `json:"name"`
	Kind    string          `json:"kind"` // int, bool, ints, attr, type, types or word
	Default json.RawMessage `json:"default,omitempty"`
	OneOf   []int64         `json:"oneOf,omitempty"` // the values that an int may have; none: any
	Words   []string        `json:"words,omitempty"` // the values that a word may have
}

// Op is an operation.
type Op struct {
	Name       string   `json:"name"` // with the dialect
	Doc        string   `json:"doc,omitempty"`
	Operands   []Group  `json:"operands,omitempty"`
	Results    []Group  `json:"results,omitempty"`
	Attrs      []OpAttr `json:"attrs,omitempty"`
	Regions    []Region `json:"regions,omitempty"`
	Successors int      `json:"successors,omitempty"`
	Traits     []string `json:"traits,omitempty"`
	Effects    []string `json:"effects,omitempty"`
	// Asm is the assembly format; empty: the generic form.
	Asm string `json:"asm,omitempty"`
	// ResultTypes is the rule of the result types that the text does not say.
	ResultTypes string `json:"resultTypes,omitempty"`
	// ResultNames are the names of the results where no location has one.
	ResultNames []string `json:"resultNames,omitempty"`
}

// Group is a group of operands or results.
type Group struct {
	Name  string `json:"name"`
	Type  string `json:"type"`            // constraints, separated by |
	Arity string `json:"arity,omitempty"` // "", optional or variadic
}

// OpAttr is an inherent attribute of an operation.
type OpAttr struct {
	Name     string          `json:"name"`
	Kind     string          `json:"kind"`
	Enum     string          `json:"enum,omitempty"` // of kind enum
	Optional bool            `json:"optional,omitempty"`
	Default  json.RawMessage `json:"default,omitempty"`
}

// Region is a region of an operation.
type Region struct {
	Name        string `json:"name"`
	SingleBlock bool   `json:"singleBlock,omitempty"`
	Variadic    bool   `json:"variadic,omitempty"`
}
