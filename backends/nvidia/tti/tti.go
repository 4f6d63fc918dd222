// Package tti declares Triton's dialect of checks of concurrent accesses, which the
// concurrency sanitizer adds to a kernel, and verifies what a declaration cannot say. The
// package imports core/dialect and core/ir.
package tti

//go:generate go run github.com/tritonc/tritonc/internal/opviews tti

import (
	_ "embed"
	"errors"
	"fmt"
	"sync"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/decl"
)

// Name is the dialect's name.
const Name = "tti"

// Declaration is the JSON that core/ir/decl reads.
//
//go:embed tti.json
var Declaration string

// Dialect is the declared dialect with its verifiers, made on first use. It is
// shared by contexts.
var Dialect = sync.OnceValue(func() *ir.Dialect {
	d, err := decl.Load([]byte(Declaration), dialect.All()...)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	d.Op("tti.experimental_buffer_pointers").Verify = func(op *ir.Operation) error {
		return verifyPointers(AsExperimentalBufferPointers(op))
	}
	d.Op("tti.experimental_lock_acquire").Verify = func(op *ir.Operation) error {
		return verifyLock(AsExperimentalLockAcquire(op).Lock())
	}
	d.Op("tti.experimental_lock_release").Verify = func(op *ir.Operation) error {
		return verifyLock(AsExperimentalLockRelease(op).Lock())
	}
	return d
})

// Def is the definition of the operation tti.name, which must be there.
func Def(name string) *ir.OpDef {
	d := Dialect().Op(Name + "." + name)
	if d == nil {
		panic("BUG: tti: no operation tti." + name)
	}
	return d
}

// verifyPointers: an offset for each element, which has room for an address.
func verifyPointers(op ExperimentalBufferPointersOp) error {
	t := op.Result().Type().(*ir.TensorType)
	switch n := len(op.Offsets()); {
	case len(t.Shape) != 1 || t.Shape[0] != int64(n):
		return fmt.Errorf("%s do not fill the result", diag.Count(n, "offset"))
	case !ir.IsInt(t.Elem, 64):
		return errors.New("the result needs elements of type i64")
	}
	return nil
}

// verifyLock: a lock is one i32.
func verifyLock(lock *ir.Value) error {
	if p, ok := lock.Type().(*tt.PtrType); !ok || !ir.IsInt(p.Pointee, 32) {
		return errors.New("the lock needs type !tt.ptr<i32>")
	}
	return nil
}
