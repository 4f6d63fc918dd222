package amd

import (
	"testing"

	"github.com/tritonc/tritonc/internal/passtest"
)

func TestAllocateShared(t *testing.T) {
	passtest.Run(t, "testdata", passes, allocateShared)
}

func TestOptimizeLDS(t *testing.T) {
	passtest.Run(t, "testdata", passes, optimizeLDS)
}

func TestMembar(t *testing.T) {
	passtest.Run(t, "testdata", passes, testMembar)
}

func TestFillLate(t *testing.T) {
	passtest.Run(t, "testdata", passes, fillLate)
}
