package kerneltest

import (
	"strings"
	"sync"
)

// operations are the names of the operations of kernels that were compiled here,
// as the front end made them and as they were lowered.
var operations struct {
	sync.Mutex
	seen map[string]bool
}

// noteOperations adds those that stand in a text of IR.
func noteOperations(ir []byte) {
	operations.Lock()
	defer operations.Unlock()
	if operations.seen == nil {
		operations.seen = map[string]bool{}
	}
	for line := range strings.Lines(string(ir)) {
		for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ' ' || r == '"' || r == '(' || r == '\n' }) {
			if strings.HasPrefix(word, "tt.") || strings.HasPrefix(word, "ttg.") {
				operations.seen[word] = true
			}
		}
	}
}

// Ran reports whether a kernel with an operation of this name was compiled.
func Ran(operation string) bool {
	operations.Lock()
	defer operations.Unlock()
	return operations.seen[operation]
}
