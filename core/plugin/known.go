package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/tritonc/tritonc/core/plugin/process"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// DescribeTimeout bounds how long a backend that nobody asked for may take to say
// what it is.
const DescribeTimeout = 2 * time.Second

// Description is what a backend's program says of itself. It is remembered between
// processes, so that programs need not be started for what others do.
type Description struct {
	Facts  sdk.Facts `json:"facts"`
	SHA256 string    `json:"sha256"` // of the program's file, in hex
}

// supports reports whether one of the patterns matches t. A backend may refuse what
// a pattern matches, and accepts nothing else.
func (d *Description) supports(t sdk.Target) bool { return d.brief().supports(t) }

func (d *Description) brief() *brief {
	b := &brief{Version: d.Facts.Version}
	for i := range d.Facts.Targets {
		b.Patterns = append(b.Patterns, d.Facts.Targets[i].Pattern)
	}
	return b
}

// brief is what a choice between backends asks of each: the memo has it apart from the
// facts, which are long where a backend has many targets.
type brief struct {
	Version  string   `json:"version"`
	Patterns []string `json:"patterns"` // of its targets
}

func (d *brief) supports(t sdk.Target) bool { return slices.ContainsFunc(d.Patterns, t.Matches) }

// noted is what the memo holds of a program: of one that described itself the brief, and
// which file it is; else why it could not be had. Trouble counts for the tritonc that had
// it, with its limits.
type noted struct {
	Brief   *brief        `json:"brief,omitempty"`
	SHA256  string        `json:"sha256,omitempty"` // of the program's file, in hex
	Trouble string        `json:"trouble,omitempty"`
	Waited  time.Duration `json:"waited,omitempty"` // for a program that did not answer
	By      string        `json:"by,omitempty"`
}

// remembered is a description or, if it could not be had, why not.
type remembered struct {
	*Description
	noted
}

// learning is the part of a Backend that finds out what it is.
type learning struct {
	learnMu sync.Mutex // held while the program is started to describe itself
	tried   time.Time  // when that failed last
	failure error
}

// A troubleError says that a backend cannot be used, as an earlier process found out.
type troubleError struct{ text string }

func (e *troubleError) Error() string { return e.text }

// Describe returns what the program says of itself, and starts it only if that is
// not remembered. A program that did not answer before is not asked again until its
// file changes.
func (b *Backend) Describe(ctx context.Context) (*Description, error) {
	return b.describe(ctx, DescribeTimeout, false)
}

// DescribeAgain is Describe for a backend that the user asks for by name: it also
// asks again a program that did not answer before, and waits as long as for a start.
func (b *Backend) DescribeAgain(ctx context.Context) (*Description, error) {
	return b.describe(ctx, b.host.opts.StartTimeout, true)
}

// briefly is Describe as far as a choice needs it.
func (b *Backend) briefly(ctx context.Context) (*brief, error) {
	if n, ok := b.noted(); ok && n.Brief != nil && b.found.Problem == nil {
		return n.Brief, nil
	}
	return briefOf(b.Describe(ctx))
}

// briefOf is the brief of what Describe returns.
func briefOf(d *Description, err error) (*brief, error) {
	if err != nil {
		return nil, err
	}
	return d.brief(), nil
}

// describe asks a program that is not known and, with again, one that gave trouble.
func (b *Backend) describe(ctx context.Context, patience time.Duration, again bool) (*Description, error) {
	if b.found.Problem != nil {
		return nil, fmt.Errorf("backend %s (%s): %w", b.found.Name, b.found.Path, b.found.Problem)
	}
	if r, ok := b.remembered(); ok && (r.Description != nil || !again) {
		return r.result()
	}
	b.learnMu.Lock()
	defer b.learnMu.Unlock()
	if r, ok := b.remembered(); ok && (r.Description != nil || !again) {
		return r.result() // somebody else asked meanwhile
	}
	if again && time.Since(b.tried) < patience {
		return nil, b.failure
	}
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var waited time.Duration
	_, facts, err := b.running(bounded, new(restarts), false)
	switch {
	case err == nil:
		return b.remember(facts), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("backend %s (%s) did not describe itself within %s", b.found.Name, b.found.Path, patience)
		waited = patience
	}
	b.tried, b.failure = time.Now(), err
	b.giveUp(err, waited)
	return nil, err
}

// describeAlone is DescribeAgain where no other backend will do: a program that was
// waited for as long as for a start before is not waited for again.
func (b *Backend) describeAlone(ctx context.Context) (*Description, error) {
	if r, ok := b.remembered(); ok && r.Description == nil && r.Waited >= b.host.opts.StartTimeout {
		return r.result()
	}
	return b.DescribeAgain(ctx)
}

// giveUp remembers that the program cannot be used, unless somebody killed it or it may
// not run, and how long it was waited for.
func (b *Backend) giveUp(err error, waited time.Duration) {
	if !fromOutside(err) {
		b.put(noted{Trouble: err.Error(), Waited: waited, By: b.host.asker()}, nil)
	}
}

func (r *remembered) result() (*Description, error) {
	if r.Description != nil {
		return r.Description, nil
	}
	return nil, &troubleError{r.Trouble}
}

// DescribeAll has all backends that are not known describe themselves, side by side.
// What they say, and what is wrong, Describe has then.
func (h *Host) DescribeAll(ctx context.Context) { h.describeAll(ctx, h.backends) }

// describeAll has those that are not known describe themselves, side by side, so
// that several that hang take no longer than one.
func (h *Host) describeAll(ctx context.Context, list []*Backend) {
	var wg sync.WaitGroup
	for _, b := range list {
		if _, ok := b.noted(); !ok && b.found.Problem == nil {
			wg.Go(func() { _, _ = b.Describe(ctx) }) // remembered, the trouble too
		}
	}
	wg.Wait()
}

// noted is what is known of this very program, its facts apart.
func (b *Backend) noted() (noted, bool) {
	info, err := os.Stat(b.found.Path)
	if err != nil {
		return noted{}, false
	}
	n, ok := b.host.memo.Get(b.found.Path, info)
	if ok && n.Brief == nil && (n.Trouble == "" || n.By != b.host.asker()) {
		ok = false
	}
	if ok {
		return n, true
	}
	// A file that was written anew with the bytes that it had.
	if n, ok = b.host.memo.Earlier(b.found.Path); !ok || n.Brief == nil || n.SHA256 == "" {
		return noted{}, false
	}
	facts, ok := b.host.factsMemo.Earlier(b.found.Path)
	if sum, err := b.FileHash(); !ok || err != nil || sum != n.SHA256 {
		return noted{}, false
	}
	b.put(n, facts)
	return n, true
}

// remembered is what this very program is known to be.
func (b *Backend) remembered() (remembered, bool) {
	n, ok := b.noted()
	if !ok || n.Brief == nil {
		return remembered{noted: n}, ok
	}
	info, err := os.Stat(b.found.Path)
	if err != nil {
		return remembered{}, false
	}
	facts, ok := b.host.factsMemo.Get(b.found.Path, info)
	if !ok {
		return remembered{}, false
	}
	return remembered{&Description{Facts: *facts, SHA256: n.SHA256}, n}, true
}

// remember keeps what the program said for later processes.
func (b *Backend) remember(facts *sdk.Facts) *Description {
	known, ok := b.remembered()
	now := &Description{Facts: *facts}
	if ok && known.Description != nil {
		now.SHA256 = known.Description.SHA256
		if sameJSON(known.Description, now) {
			return known.Description
		}
	}
	now.SHA256, _ = b.FileHash() // without it the file's time alone counts
	b.put(noted{Brief: now.brief(), SHA256: now.SHA256}, facts)
	return now
}

// put keeps what is known of the program, with its facts if it has said them.
func (b *Backend) put(n noted, facts *sdk.Facts) {
	info, err := os.Stat(b.found.Path)
	if err != nil {
		return
	}
	if facts != nil {
		b.host.factsMemo.Put(b.found.Path, info, facts)
	}
	b.host.memo.Put(b.found.Path, info, n)
}

// sameJSON compares values as a memo would: nil and empty lists are the same there
// once they were read.
func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// FileHash is the SHA-256 of the program's file in hex.
func (b *Backend) FileHash() (string, error) {
	info, err := os.Stat(b.found.Path)
	if err != nil {
		return "", err
	}
	if n, ok := b.host.memo.Get(b.found.Path, info); ok && n.Brief != nil && n.SHA256 != "" {
		return n.SHA256, nil
	}
	return process.FileSum(b.found.Path)
}

// asker tells this program with its limits from others, which may get on with a
// backend that this one has trouble with.
func (h *Host) asker() string {
	c := h.opts.Confine
	if c.Memory == 0 && c.Sandbox == nil {
		return sdk.ProgramHash()
	}
	return fmt.Sprintf("%s, memory %d, sandbox %+v", sdk.ProgramHash(), c.Memory, c.Sandbox)
}
