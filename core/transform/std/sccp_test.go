package std_test

import (
	"testing"

	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/std"
	"github.com/tritonc/tritonc/internal/passtest"
)

func TestSCCP(t *testing.T) {
	passtest.Run(t, "testdata", []*pass.Pass{std.SCCP, std.Canonicalize}, std.SCCP)
}
