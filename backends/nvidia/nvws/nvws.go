// Package nvws declares Triton's dialect of how the warps of a specialized kernel hand
// buffers to one another, before that is mbarriers, and verifies what a declaration
// cannot say. No stage of ours makes it; IR of Triton's that has it parses, verifies and
// prints. The package imports core/dialect, core/ir and ttng.
package nvws

//go:generate go run github.com/tritonc/tritonc/internal/opviews nvws

import (
	_ "embed"
	"sync"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/decl"
)

// Name is the dialect's name.
const Name = "nvws"

// Declaration is the JSON that core/ir/decl reads.
//
//go:embed nvws.json
var Declaration string

// Dialect is the declared dialect with its verifiers, made on first use. It is
// shared by contexts.
var Dialect = sync.OnceValue(func() *ir.Dialect {
	d, err := decl.Load([]byte(Declaration), dialect.All()...)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	for name, verify := range verifiers {
		d.Op(Name + "." + name).Verify = verify
	}
	return d
})

// Def is the definition of the operation nvws.name, which must be there.
func Def(name string) *ir.OpDef {
	d := Dialect().Op(Name + "." + name)
	if d == nil {
		panic("BUG: nvws: no operation nvws." + name)
	}
	return d
}
