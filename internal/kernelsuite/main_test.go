package kernelsuite

import (
	"os"
	"testing"

	"github.com/tritonc/tritonc/internal/kerneltest"
)

// TestMain checks that all forms of instructions have run on an H200.
func TestMain(m *testing.M) { os.Exit(kerneltest.CheckForms(m.Run())) }
