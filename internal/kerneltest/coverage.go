package kerneltest

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tritonc/tritonc/core"
)

// covered is what Covered tells.
var covered struct {
	sync.Mutex
	operations, kernels map[string]bool
}

// Covered tells what ran here without a report: the names of operations of kernels
// that were compiled, as the front end made them and as they were lowered, and
// kernels of files, as file.kernel and as file.kernel@target.
func Covered() (operations, kernels map[string]bool) {
	covered.Lock()
	defer covered.Unlock()
	return maps.Clone(covered.operations), maps.Clone(covered.kernels)
}

// noteOperations adds those in a text of IR.
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

// noteKernel adds a kernel of a file that ran without a report.
func noteKernel(k Kernel, target core.Target) {
	file := k.Origin
	if file == "" {
		file = strings.TrimSuffix(filepath.Base(k.File), ".py")
	}
	covered.Lock()
	defer covered.Unlock()
	if covered.kernels == nil {
		covered.kernels = map[string]bool{}
	}
	name := file + "." + k.Name
	covered.kernels[name] = true
	covered.kernels[fmt.Sprintf("%s@%s:%s", name, target.Backend, target.Arch)] = true
}
