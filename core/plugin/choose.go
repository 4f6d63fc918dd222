package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/plugin/manifest"
	"github.com/tritonc/tritonc/core/plugin/wire"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// Choice says which backend to take for some targets.
type Choice struct {
	// Target is a pattern over "backend:arch"; empty for all targets.
	Target string
	Ref    manifest.Ref
	// From is where it was said: "--backend", or a file with its line.
	From string
}

// choice is the first of Options.Choices for t, or nil.
func (h *Host) choice(t sdk.Target) *Choice {
	for i := range h.opts.Choices {
		if c := &h.opts.Choices[i]; c.Target == "" || t.Matches(c.Target) {
			return c
		}
	}
	return nil
}

// Select is the Select of core.Options: SelectBackend for a compile.
func (h *Host) Select(ctx context.Context, t sdk.Target) (wire.Backend, sdk.Target, error) {
	b, full, err := h.SelectBackend(ctx, t)
	if err != nil {
		return nil, full, err // b would be an interface that is not nil
	}
	return b, full, nil
}

// SelectBackend returns the backend that supports t, and t with what it left open
// filled in. Where several do, one of Options.Choices decides; without one it is an
// error that lists them. A backend that is known to have no pattern for t is not
// started, and one that is broken costs no more than DescribeTimeout, once.
func (h *Host) SelectBackend(ctx context.Context, t sdk.Target) (*Backend, sdk.Target, error) {
	c, err := h.candidates(ctx, t)
	if err != nil {
		return nil, t, err
	}
	if len(c.list) == 1 && wire.Starts(ctx) {
		c.list[0].StartAhead(ctx)
	}
	var able []*Backend
	var answers []sdk.SupportsTargetResponse
	for _, b := range c.list {
		resp, err := h.ask(ctx, b, t, len(c.list) > 1)
		switch {
		case ctx.Err() != nil:
			return nil, t, ctx.Err()
		case err != nil:
			c.broken = append(c.broken, trouble{b, err})
			if len(c.list) > 1 {
				b.giveUp(err, 0) // the others need not wait for it again
			}
		case resp.Supported:
			able, answers = append(able, b), append(answers, resp)
		default:
			c.useless = append(c.useless, b.line(resp.Reason))
		}
	}
	switch len(able) {
	case 0:
		return nil, t, h.nothingFor(t, c)
	case 1:
		// Only now is the trouble with others worth a word of its own.
		h.warn(c.broken)
		return able[0], answers[0].Target, nil
	}
	return nil, t, ambiguous(t, able)
}

// ask asks one candidate whether it supports t. One of several is not waited for
// longer than another that nobody asked for.
func (h *Host) ask(ctx context.Context, b *Backend, t sdk.Target, several bool) (sdk.SupportsTargetResponse, error) {
	if !several {
		return b.supportsTarget(ctx, t, false)
	}
	bounded, cancel := context.WithTimeout(ctx, DescribeTimeout)
	defer cancel()
	resp, err := b.supportsTarget(bounded, t, true)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("backend %s (%s) did not say within %s whether it supports %s", b.found.Name, b.found.Path, DescribeTimeout, t)
	}
	return resp, err
}

// SelectForPasses is SelectBackend for a run of single passes, of which a backend may know more
// targets than those that it compiles for. Where none supports t, the first that runs
// passes and has a target of the same kind (cuda in cuda:100) is asked; its RunPasses
// says if it does not know t.
func (h *Host) SelectForPasses(ctx context.Context, t sdk.Target) (*Backend, sdk.Target, error) {
	b, full, err := h.SelectBackend(ctx, t)
	if err == nil || ctx.Err() != nil || errors.As(err, new(*AmbiguousError)) {
		return b, full, err
	}
	pool, errPool := h.pool(ctx, t)
	if errPool != nil {
		return nil, t, err
	}
	for _, b := range pool {
		d, errDescribe := b.Describe(ctx)
		if errDescribe != nil || !d.Facts.Has(host.CapRunPasses) {
			continue
		}
		if slices.ContainsFunc(d.brief().Patterns, func(p string) bool { return strings.HasPrefix(p, t.Backend+":") }) {
			return b, t, nil
		}
	}
	return nil, t, err
}

// candidates are the backends that may answer for a target.
type candidates struct {
	list    []*Backend
	useless []string // a line for each of those that do not
	broken  []trouble
	choice  *Choice // that left only these, or nil
}

// trouble is a backend that cannot be used, and why.
type trouble struct {
	*Backend
	err error
}

// error adds to what an earlier process found out how to ask again.
func (t trouble) error() error {
	if !errors.As(t.err, new(*troubleError)) {
		return t.err
	}
	return fmt.Errorf("%w\n(that was before; it is asked again by: tritonc backend describe %s)", t.err, t.found.Name)
}

// candidates finds those whose patterns match t. One that gave trouble is asked
// again only where no other is there for t, and unless it hangs.
func (h *Host) candidates(ctx context.Context, t sdk.Target) (*candidates, error) {
	pool, err := h.pool(ctx, t)
	if err != nil {
		return nil, err
	}
	h.describeAll(ctx, pool)
	c := h.sort(pool, t, func(b *Backend) (*brief, error) { return b.briefly(ctx) })
	if len(c.list) == 0 && len(c.broken) > 0 && ctx.Err() == nil {
		again := (*Backend).describeAlone
		if h.choice(t) != nil {
			again = (*Backend).DescribeAgain // it is asked for by name
		}
		c = h.sort(pool, t, func(b *Backend) (*brief, error) { return briefOf(again(b, ctx)) })
	}
	c.choice = h.choice(t)
	return c, ctx.Err()
}

// sort parts backends by what is known of them. Of several with one name and
// version the first counts.
func (h *Host) sort(pool []*Backend, t sdk.Target, describe func(*Backend) (*brief, error)) *candidates {
	c := &candidates{}
	seen := map[[2]string]bool{}
	for _, b := range pool {
		d, err := describe(b)
		if err != nil {
			c.broken = append(c.broken, trouble{b, err})
			continue
		}
		id := [2]string{b.found.Name, d.Version}
		if seen[id] {
			continue
		}
		seen[id] = true
		if d.supports(t) {
			c.list = append(c.list, b)
		} else {
			c.useless = append(c.useless, b.line(""))
		}
	}
	return c
}

// pool is the backends to choose from for t: all that are not hidden, or those that
// a choice names.
func (h *Host) pool(ctx context.Context, t sdk.Target) ([]*Backend, error) {
	choice := h.choice(t)
	if choice == nil {
		return h.visible(), nil
	}
	return h.Named(ctx, choice.Ref, choice.From)
}

func (h *Host) visible() []*Backend {
	return slices.DeleteFunc(slices.Clone(h.backends), func(b *Backend) bool { return b.hidden })
}

// Named returns the backends that ref means. A version or a sum finds hidden ones,
// too, and of several that have it the first. from says in errors who asks for them.
func (h *Host) Named(ctx context.Context, ref manifest.Ref, from string) ([]*Backend, error) {
	var named, found []*Backend
	for _, b := range h.backends {
		if b.found.Name == ref.Name {
			named = append(named, b)
		}
	}
	if ref.Version == "" && ref.SHA256 == "" {
		found = slices.DeleteFunc(named, func(b *Backend) bool { return b.hidden })
		if len(found) == 0 {
			return nil, h.unknown(fmt.Sprintf("there is no backend %q, which %s asks for", ref.Name, from), h.visible())
		}
		return found, nil
	}
	for _, b := range named {
		d, err := b.DescribeAgain(ctx)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil && (ref.Version == "" || ref.Version == d.Facts.Version) && (ref.SHA256 == "" || ref.SHA256 == d.SHA256):
			return []*Backend{b}, nil
		}
	}
	what := "there is no backend " + ref.String()
	if ref.SHA256 != "" {
		what += " with the SHA-256 " + ref.SHA256
	}
	what += ", which " + from + " asks for"
	if len(named) == 0 {
		named = h.visible()
	}
	return nil, h.unknown(what, named)
}

// unknown is the error for a name that nobody has, with a list of what there is.
func (h *Host) unknown(message string, list []*Backend) error {
	var lines []string
	for _, b := range list {
		lines = append(lines, b.nameLine())
	}
	return h.noBackend(message, lines)
}

// nameLine is name, version and path, as far as they are known.
func (b *Backend) nameLine() string {
	n, ok := b.noted()
	switch {
	case b.found.Problem != nil:
		return fmt.Sprintf("%s: cannot be used: %v", b.found.Name, b.found.Problem)
	case ok && n.Brief != nil:
		return fmt.Sprintf("%s: %s", b.identifier(), b.found.Path)
	case ok:
		return fmt.Sprintf("%s: cannot be used: %s", b.found.Name, n.Trouble)
	}
	return b.found.Name + ": " + b.found.Path
}

// identifier is NAME@VERSION as far as that is known.
func (b *Backend) identifier() string {
	if n, ok := b.noted(); ok && n.Brief != nil && n.Brief.Version != "" {
		return b.found.Name + "@" + n.Brief.Version
	}
	return b.found.Name
}

// shownTargets are how many targets of a backend a list shows. A family of chips may have
// dozens, which would hide what the message is about.
const shownTargets = 8

// line tells of the backend in a list of what there is.
func (b *Backend) line(reason string) string {
	s := b.found.Name + ": "
	if n, ok := b.noted(); ok && n.Brief != nil {
		patterns := n.Brief.Patterns
		more := len(patterns) - shownTargets
		if more > 0 {
			patterns = patterns[:shownTargets]
		}
		s += strings.Join(patterns, " ")
		if more > 0 {
			s += fmt.Sprintf(" and %d more (tritonc backend describe %s)", more, b.found.Name)
		}
	}
	if reason != "" {
		s += " (" + reason + ")"
	}
	return s
}

// AmbiguousError says that several backends support a target and none was chosen.
type AmbiguousError struct{ *diag.Diagnostic }

func (e *AmbiguousError) Unwrap() error { return e.Diagnostic }

func ambiguous(t sdk.Target, able []*Backend) error {
	var lines strings.Builder
	for _, b := range able {
		fmt.Fprintf(&lines, "\n  %s\t%s", b.identifier(), b.found.Path)
	}
	d := diag.Errorf(diag.Pos{}, "several backends support the target %s, and none is chosen", t)
	return &AmbiguousError{d.WithHelp("choose one with --backend NAME[@VERSION], TRITONC_BACKEND, or for a project with: tritonc backend pin %s:%s %s\nthere are:%s",
		t.Backend, t.Arch, able[0].identifier(), lines.String())}
}

// nothingFor is the error for a target that no candidate supports.
func (h *Host) nothingFor(t sdk.Target, c *candidates) error {
	list := c.useless
	var broken []string
	for _, b := range c.broken {
		broken = append(broken, b.found.Name)
		list = append(list, fmt.Sprintf("%s: cannot be used: %v", b.found.Name, b.error()))
	}
	message := fmt.Sprintf("no backend supports the target %s", t)
	if c.choice != nil {
		message = fmt.Sprintf("the backend %s, which %s asks for, does not support the target %s", c.choice.Ref, c.choice.From, t)
	}
	if len(broken) > 0 {
		message += ", and " + strings.Join(broken, ", ") + " cannot be used"
		if c.choice != nil {
			message = fmt.Sprintf("the backend %s, which %s asks for, cannot be used", c.choice.Ref, c.choice.From)
		}
	}
	err := h.noBackend(message, list)
	if d := (*diag.Diagnostic)(nil); errors.As(err, &d) {
		if near := h.nearest(t); near != "" {
			d.Help = "did you mean " + near + "? " + d.Help
		}
	}
	return err
}

// nearest is the target that t is probably a slip of, or "": the same with the warp size
// that it has, one of the same backend whose architecture is written nearly so, or the
// architecture of another backend.
func (h *Host) nearest(t sdk.Target) string {
	var archs []string
	for _, b := range h.visible() {
		n, ok := b.noted()
		if !ok || n.Brief == nil {
			continue
		}
		for _, p := range n.Brief.Patterns {
			backend, arch, _ := strings.Cut(p, ":")
			switch {
			case p == t.Backend+":"+t.Arch:
				return p
			case strings.ContainsAny(p, `*?[\`):
			case backend == t.Backend:
				archs = append(archs, arch)
			case arch == t.Arch:
				return p
			}
		}
	}
	if arch := diag.Closest(t.Arch, archs); arch != "" {
		return t.Backend + ":" + arch
	}
	return ""
}

// warn tells of backends that were passed over, of each once.
func (h *Host) warn(broken []trouble) {
	for _, b := range broken {
		if b.warned.Swap(true) {
			continue
		}
		args := []any{"backend", b.found.Name, "error", b.err}
		if errors.As(b.err, new(*troubleError)) {
			args = append(args, "help", "it is not started again until its file changes, or for: tritonc backend describe "+b.found.Name)
		}
		h.opts.Logger.Warn("a backend cannot be used", args...)
	}
}
