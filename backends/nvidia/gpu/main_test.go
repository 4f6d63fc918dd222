package gpu

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/tritonc/tritonc/core/dialect/ttg"
)

// covered are the operations of kernels that ran, ttg.X.
var covered = struct {
	sync.Mutex
	names map[string]bool
}{names: map[string]bool{}}

func noteOperations(ir string) {
	covered.Lock()
	defer covered.Unlock()
	for word := range strings.FieldsFuncSeq(ir, func(r rune) bool { return r == ' ' || r == '"' || r == '(' || r == '\n' }) {
		if strings.HasPrefix(word, "ttg.") {
			covered.names[word] = true
		}
	}
}

// notRun are the operations that no kernel here can have.
var notRun = map[string]string{
	"ttg.predicate_stage":            "Triton's pipeliner makes and removes it",
	"ttg.mask":                       "as above",
	"ttg.mask.return":                "as above",
	"ttg.warp_specialize.partitions": "it is not written, but part of ttg.warp_specialize",
}

// TestMain runs all tests with PTX as the backend writes it, and where LLVM is with llc's.
// It checks, when all ran, that they leave out no operation that passes make. The language's
// own (dialect tt) are for package kerneltest.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if _, err := exec.LookPath("llc-22"); err == nil {
		fmt.Println("with PTX by llc:")
		byLLC = true
		code = max(code, m.Run())
	}
	everything := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == "" && !testing.Short()
	if code == 0 && everything {
		for _, op := range ttg.Dialect.Ops {
			switch why := notRun[op.Name]; {
			case why == "" && !covered.names[op.Name]:
				fmt.Println("FAIL: no test here runs", op.Name)
				code = 1
			case why != "" && covered.names[op.Name]:
				fmt.Println("FAIL:", op.Name, "is said not to run, and does")
				code = 1
			}
		}
	}
	os.Exit(code)
}
