package plugin

import (
	"encoding/json"
	"fmt"
	"sync"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// answers are what one process answered to questions whose answers depend on nothing
// but the question. A session of many compiles asks the same again and again, and each
// call takes as long as a pass.
type answers struct {
	mu    sync.Mutex
	of    *host.Client // the process's
	known map[string]any
}

// maxAnswers bounds how many answers are kept.
const maxAnswers = 256

// kept is the answer of a process to a question, which it is asked once: again when ask
// fails, or says that the answer is for this time alone.
func kept[R any](b *Backend, c *host.Client, question string, ask func() (answer R, keep bool, err error)) (R, error) {
	a := &b.answers
	a.mu.Lock()
	if a.of == c {
		if known, ok := a.known[question].(R); ok {
			a.mu.Unlock()
			return known, nil
		}
	}
	a.mu.Unlock()
	answer, keep, err := ask()
	if err != nil || !keep {
		return answer, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of != c || len(a.known) == maxAnswers {
		a.of, a.known = c, map[string]any{}
	}
	a.known[question] = answer
	return answer, nil
}

// question is the text of a request.
func question(method string, t sdk.Target, options string, settings map[string]string) string {
	return fmt.Sprintf("%s %s %d %q %q", method, t, t.WarpSize, options, settings) // which sorts the map
}

// namesFiles reports whether options, as JSON, give one that names files or arguments of
// a tool: what is said of it may be another thing the next time.
func namesFiles(f *sdk.Facts, options string) bool {
	var given map[string]json.RawMessage
	if json.Unmarshal([]byte(options), &given) != nil {
		return true // the backend says what is wrong
	}
	for i := range f.Options {
		if _, ok := given[f.Options[i].Name]; ok && f.Options[i].CallerOnly {
			return true
		}
	}
	return false
}
