// Package ttng is the dialect of what NVIDIA's GPUs add to ttg: mbarriers, TMA
// copies, wgmma and tcgen05, tensor memory. It is a declaration, for core gets
// it from a backend as it would get any third party's; what no declaration can
// say of an operation, this package verifies where the backend reads a module.
package ttng

//go:generate go run github.com/tritonc/tritonc/internal/opviews ttng

import (
	_ "embed"
	"sync"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/decl"
)

// Name is the dialect's name.
const Name = "ttng"

// Declaration is the JSON that core/ir/decl reads, for who compiles without this package.
// declared says the same: to read it takes as long as all else that a backend does before
// main.
//
//go:embed ttng.json
var Declaration string

// Dialect is the declared dialect with its verifiers, made on first use. It is
// shared by contexts.
var Dialect = sync.OnceValue(func() *ir.Dialect {
	d, err := decl.New(&declared, dialect.All()...)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	for name, verify := range verifiers {
		d.Op(Name + "." + name).Verify = verify
	}
	return d
})
