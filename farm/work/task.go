package work

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/tritonc/tritonc/core/span"
)

// A Class is all that workers must have in common to make the same bytes of a task.
type Class struct {
	Target   string `json:"target"`   // such as cuda:90
	Compiler string `json:"compiler"` // hash of the program
	// Programs identify what else has a part in it, one per line, by their content: a name,
	// a space, and what tells it from others.
	Programs []string `json:"programs"`
}

// ID names the class in subjects.
func (c *Class) ID() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("BUG: farm/work: a class has no JSON: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// Same tells how other differs from c; empty if it does not.
func (c *Class) Same(other *Class) (difference string) {
	switch {
	case c.Target != other.Target:
		return "another target, " + other.Target
	case c.Compiler != other.Compiler:
		return "another build of tritonc"
	}
	for i := range max(len(c.Programs), len(other.Programs)) {
		if i >= len(c.Programs) || i >= len(other.Programs) || c.Programs[i] != other.Programs[i] {
			name := slices.Concat(c.Programs[:min(i+1, len(c.Programs))], other.Programs[min(i, len(other.Programs)):])[i]
			if cut := strings.LastIndexByte(name, ' '); cut > 0 {
				name = name[:cut]
			}
			return "another " + strings.TrimSuffix(name, ":")
		}
	}
	return ""
}

// Task is something to do.
type Task struct {
	Class string // ID of the class
	Body  []byte
	// Again says to a handler that it does a task once more, to see whether the same comes
	// of it. It is not part of the task.
	Again bool
	// Parent is the span of who asks, as core/span has it; not part of the task either. Of
	// several who ask for the same the first one's counts.
	Parent string
}

// Key is the same for tasks that are the same.
func (t *Task) Key() string {
	h := sha256.New()
	h.Write([]byte(t.Class))
	h.Write([]byte{'\n'})
	h.Write(t.Body)
	return hex.EncodeToString(h.Sum(nil))
}

// Kind says what a result is.
type Kind string

const (
	// Done is a result that the handler made; all workers of the class make the same. The
	// queue does not know what is in it.
	Done Kind = "done"
	// Failed is what a handler says of a task for which there is no such result. Where that
	// names places of a machine it may differ from another's.
	Failed Kind = "failed"
	// Measured is a result that comes out another way each time, as times do: of several
	// the first counts, and none is compared with another.
	Measured Kind = "measured"
	// GivenUp is that of a task which was tried too often. The body says why, as text.
	GivenUp Kind = "given-up"
	// Disputed replaces results that differ. The body says whose they are, as text.
	Disputed Kind = "disputed"
)

// Result is what came of a task.
type Result struct {
	Kind   Kind
	Body   []byte
	Worker string // who made it

	digest string
	seq    uint64 // in the stream
}

// differs reports whether workers that made these results disagree.
func (r *Result) differs(other *Result) bool {
	return r.Kind != other.Kind || r.Kind == Done && r.digest != other.digest
}

// Headers of messages.
const (
	headerKind      = "Tritonc-Kind"
	headerWorker    = "Tritonc-Worker"
	headerDigest    = "Tritonc-Digest"
	headerSignature = "Tritonc-Signature"
	headerObject    = "Tritonc-Object" // the body is an object, whose name is the digest
	headerNot       = "Tritonc-Not"    // of a task that another worker than this is to do
	headerParent    = span.ParentHeader
)

func digestOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// A Signer signs the statements of a worker.
type Signer interface {
	Sign(statement []byte) (signature string)
}

// A Verifier checks who signed a statement. The error says why it is not trusted.
type Verifier interface {
	Verify(statement []byte, signature string) error
}

// statement is what the signature of a result says.
func statement(class, key string, r *Result) []byte {
	return []byte(strings.Join([]string{"tritonc farm result 1", class, key, string(r.Kind), r.digest, r.Worker}, "\n"))
}

// header makes the header of a result.
func (r *Result) header(class, key string, s Signer) nats.Header {
	h := nats.Header{}
	h.Set(headerKind, string(r.Kind))
	h.Set(headerWorker, r.Worker)
	h.Set(headerDigest, r.digest)
	if s != nil {
		h.Set(headerSignature, s.Sign(statement(class, key, r)))
	}
	return h
}

// resultOf reads the header of a result, whose body is not checked yet.
func resultOf(h nats.Header) *Result {
	return &Result{Kind: Kind(h.Get(headerKind)), Worker: h.Get(headerWorker), digest: h.Get(headerDigest)}
}

// UntrustedError is that of a result which is not what its signature says, or that
// nobody who is trusted has signed.
type UntrustedError struct {
	Worker string
	Reason string
}

func (e *UntrustedError) Error() string {
	return fmt.Sprintf("a result of the worker %s is refused: %s", e.Worker, e.Reason)
}

// check checks a result that was read under a class and key.
func (r *Result) check(class, key, signature string, v Verifier) error {
	if got := digestOf(r.Body); got != r.digest {
		return &UntrustedError{r.Worker, "its bytes are not those that were sent"}
	}
	if v == nil {
		return nil
	}
	if err := v.Verify(statement(class, key, r), signature); err != nil {
		return &UntrustedError{r.Worker, err.Error()}
	}
	return nil
}
