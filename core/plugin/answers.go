package plugin

import (
	"context"
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

func (a *answers) get(c *host.Client, question string) any {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of != c {
		return nil
	}
	return a.known[question]
}

func (a *answers) put(c *host.Client, question string, answer any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of != c || len(a.known) == maxAnswers {
		a.of, a.known = c, map[string]any{}
	}
	a.known[question] = answer
}

// request is a question about a target.
type request struct {
	method   string
	target   sdk.Target
	options  string
	settings map[string]string // nil: the host's
	afresh   bool              // what other processes answered does not count
}

// asker asks a process. keep says that the answer depends on nothing but the question.
type asker[R any] func(ctx context.Context, c *host.Client, f *sdk.Facts, settings map[string]string) (answer R, keep bool, err error)

// kept is the answer to a request, for which a process is asked once: again when ask
// fails, or says that the answer is for this time alone. What is kept of earlier
// processes needs none.
func kept[R any](ctx context.Context, b *Backend, req request, ask asker[R]) (R, error) {
	settings := func(f *sdk.Facts) map[string]string {
		if req.settings != nil {
			return req.settings
		}
		return b.host.settings(f.Settings)
	}
	stored := answered{}
	if c, facts := b.current(); facts != nil {
		q := req.question(settings(facts))
		if known, ok := b.answers.get(c, q).(R); c != nil && ok {
			return known, nil
		}
		if !req.afresh {
			stored = b.asked(q)
		}
		if answer, ok := read[R](stored); ok {
			if c != nil {
				b.answers.put(c, q, answer)
			}
			return answer, nil
		}
	}
	return call(ctx, b, req.method, func(ctx context.Context, c *host.Client, f *sdk.Facts) (R, error) {
		with := settings(f)
		answer, keep, err := ask(ctx, c, f, with)
		if err == nil && keep {
			q := req.question(with)
			b.answers.put(c, q, answer)
			if stored == b.asked(q) && b.stored.Add(1) <= maxStored {
				stored.write(answer)
			}
		}
		return answer, err
	})
}

// current is the client of the process that runs, with its facts; else none, and what is
// remembered of the program, if it is.
func (b *Backend) current() (*host.Client, *sdk.Facts) {
	b.mu.Lock()
	proc, facts := b.proc, b.facts
	b.mu.Unlock()
	if proc != nil && !proc.HasExited() {
		return client(proc), facts
	}
	if r, ok := b.remembered(); ok && r.Description != nil {
		return nil, &r.Facts
	}
	return nil, nil
}

// question is the text of the request with settings.
func (r *request) question(settings map[string]string) string {
	return fmt.Sprintf("%s %s %d %q %q", r.method, r.target, r.target.WarpSize, r.options, settings) // which sorts the map
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
