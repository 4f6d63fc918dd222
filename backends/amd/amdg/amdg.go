// Package amdg is the dialect of what AMD's GPUs add to ttg: accesses through buffer
// descriptors, copies to LDS, elements that change places within a thread, barriers; and
// rocdl, as far as modules of Triton's have it. Both are declarations, for core gets them
// from a backend as it would get any third party's; what no declaration can say of an
// operation, this package verifies where the backend reads a module.
package amdg

//go:generate go run github.com/tritonc/tritonc/internal/opviews amdg

import (
	_ "embed"
	"sync"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/decl"
	"github.com/tritonc/tritonc/core/ir/text"
)

// Names of the dialects.
const (
	Name      = "amdg"
	ROCDLName = "rocdl"
)

// The declarations, JSON that core/ir/decl reads.
var (
	//go:embed amdg.json
	Declaration string
	//go:embed rocdl.json
	ROCDLDeclaration string
)

// The dialects, made on first use and shared by contexts.
var (
	Dialect = sync.OnceValue(func() *ir.Dialect {
		d := load(Declaration)
		for name, verify := range verifiers {
			d.Op(Name + "." + name).Verify = verify
		}
		return d
	})
	ROCDL = sync.OnceValue(func() *ir.Dialect { return load(ROCDLDeclaration) })
)

func load(declaration string) *ir.Dialect {
	d, err := decl.Load([]byte(declaration), dialect.All()...)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return d
}

// What an instruction_sched_hint asks for.
const (
	HintNone      = "none"
	HintAttention = "attention"
)

// NewInstructionSchedHint makes an instruction_sched_hint.
func NewInstructionSchedHint(b *ir.Builder, hint string) *ir.Operation {
	a, err := text.ParseAttr(b.Context(), "#amdg.SchedHintVariant<"+hint+">")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return b.Create(Dialect().Op("amdg.instruction_sched_hint"), ir.State{Attrs: []ir.NamedAttr{{Name: "variant", Attr: a}}})
}

// HintOf is what an instruction_sched_hint asks for, and whether its attribute says it.
func HintOf(op *ir.Operation) (string, bool) {
	v, ok := AsInstructionSchedHint(op).Variant().(*decl.AttrValue)
	if !ok || v.AttrDialect() != Name {
		return "", false
	}
	return v.Word("value"), true
}
