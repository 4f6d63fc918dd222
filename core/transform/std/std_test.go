package std_test

import (
	"testing"

	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestPasses(t *testing.T) {
	all := []*pass.Pass{std.Canonicalize, std.CSE, std.FoldArith, std.Inline, std.InlineAll, std.LiftCFToSCF, std.SymbolDCE, std.ConvertSCFToCF}
	passtest.Run(t, "testdata", all, all...)
}
