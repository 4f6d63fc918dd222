package kerneltest

import (
	"strings"
	"sync"
)

// covered is what ran here: names of operations of kernels that were compiled, as
// the front end made them and as they were lowered, and golden kernels.
var covered struct {
	sync.Mutex
	operations, kernels map[string]bool
}

// noteOperations adds those that stand in a text of IR.
func noteOperations(ir []byte) {
	covered.Lock()
	defer covered.Unlock()
	if covered.operations == nil {
		covered.operations = map[string]bool{}
	}
	for line := range strings.Lines(string(ir)) {
		for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ' ' || r == '"' || r == '(' || r == '\n' }) {
			if strings.HasPrefix(word, "tt.") || strings.HasPrefix(word, "ttg.") {
				covered.operations[word] = true
			}
		}
	}
}

// noteKernel adds a golden kernel, file.kernel, that ran without a report.
func noteKernel(name string) {
	covered.Lock()
	defer covered.Unlock()
	if covered.kernels == nil {
		covered.kernels = map[string]bool{}
	}
	covered.kernels[name] = true
}
