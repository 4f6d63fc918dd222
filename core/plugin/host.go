package plugin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/filememo"
	"github.com/tritonc/tritonc/core/plugin/process"
	"github.com/tritonc/tritonc/core/plugin/wire"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Prefix starts the file name of every backend: tritonc-backend-<name>.
const Prefix = "tritonc-backend-"

// DefaultStartTimeout is how long a plugin may take to its handshake.
const DefaultStartTimeout = 10 * time.Second

// Options of a Host. The zero value finds nothing.
type Options struct {
	// Dirs are searched for backends, first to last.
	Dirs []string
	// LookupEnv reads the environment (os.LookupEnv in cmd); nil: it is empty.
	LookupEnv func(key string) (string, bool)
	// Settings are knobs of the machine by SettingSpec.Name, such as a tool's
	// path; they go before the environment. A backend sees those it declares.
	Settings map[string]string
	// Logger shows the host's and the plugins' lines; nil: nothing is shown.
	Logger hclog.Logger
	// StartTimeout bounds a plugin's start; 0 means DefaultStartTimeout.
	StartTimeout time.Duration
	// AutoMTLS encrypts the connection, for 15 ms a start. The socket already
	// is in a folder that only this user may enter.
	AutoMTLS bool
	// TempDir holds the sockets' folders; empty means the system's.
	TempDir string
	// MaxBytes bounds what a compile may answer, all artifacts and metadata
	// together; 0 means sdk.DefaultMaxBytes.
	MaxBytes int64
}

// Host holds the backends of a session. Its methods may be called from several
// goroutines.
type Host struct {
	opts     Options
	backends []*Backend // as Find ordered them, unusable ones too

	stopping sync.WaitGroup // processes that were dropped

	// memo remembers what must be known of each program before it is started:
	// those for other devices need not be, nor those whose work is in a cache.
	memo *filememo.Memo[remembered]

	mu     sync.Mutex
	closed bool
}

// New looks for backends and starts none.
func New(opts Options) *Host {
	if opts.Logger == nil {
		opts.Logger = hclog.NewNullLogger()
	}
	if opts.LookupEnv == nil {
		opts.LookupEnv = func(string) (string, bool) { return "", false }
	}
	if opts.StartTimeout == 0 {
		opts.StartTimeout = DefaultStartTimeout
	}
	h := &Host{opts: opts, memo: filememo.New[remembered](memoFile(opts.LookupEnv))}
	for _, f := range process.Find(opts.Dirs, Prefix) {
		h.backends = append(h.backends, &Backend{host: h, found: f})
	}
	return h
}

// memoFile is where what is known of the backends' programs is kept between
// processes; empty for a user without a home.
func memoFile(lookupEnv func(string) (string, bool)) string {
	base, _ := lookupEnv("XDG_CACHE_HOME")
	if !filepath.IsAbs(base) {
		home, _ := lookupEnv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		base = filepath.Join(home, ".cache")
	}
	return filepath.Join(base, "tritonc", "backends.json")
}

// Backends lists every backend found, usable or not.
func (h *Host) Backends() []*Backend { return h.backends }

// Backend returns the backend of that name.
func (h *Host) Backend(name string) (*Backend, error) {
	for _, b := range h.backends {
		if b.found.Name == name {
			return b, nil
		}
	}
	var list []string
	for _, b := range h.backends {
		list = append(list, b.found.Name+": "+b.found.Path)
	}
	return nil, h.noBackend(fmt.Sprintf("there is no backend %q", name), list, nil)
}

// Select is the Select of core.Options: SelectBackend for a compile.
func (h *Host) Select(ctx context.Context, t sdk.Target) (wire.Backend, sdk.Target, error) {
	b, full, err := h.SelectBackend(ctx, t)
	if err != nil {
		return nil, full, err // b would be an interface that is not nil
	}
	return b, full, nil
}

// SelectBackend returns the first backend that supports t, and t with what it left
// open filled in. Its error lists the backends and their targets. A backend
// that cannot be started is passed over; one that is known to have no pattern
// for t is not started.
func (h *Host) SelectBackend(ctx context.Context, t sdk.Target) (*Backend, sdk.Target, error) {
	list := make([]string, 0, len(h.backends)) // a line for each that is of no use
	var broken []string
	var problems []error
	for _, b := range h.backends {
		if known, ok := b.remembered(); ok && !slices.ContainsFunc(known.Targets, t.Matches) {
			list = append(list, b.line(known.Targets, ""))
			continue
		}
		resp, err := b.SupportsTarget(ctx, t)
		switch {
		case ctx.Err() != nil:
			return nil, t, ctx.Err()
		case err != nil:
			broken, problems = append(broken, b.found.Name), append(problems, err)
			list = append(list, fmt.Sprintf("%s: cannot be used: %v", b.found.Name, err))
		case resp.Supported:
			// Only now is the trouble with others worth a word of its own.
			for i, name := range broken {
				h.opts.Logger.Warn("a backend cannot be used", "backend", name, "error", problems[i])
			}
			return b, resp.Target, nil
		default:
			f, err := b.Facts(ctx)
			if err != nil {
				return nil, t, err
			}
			list = append(list, b.line(patternsOf(f), resp.Reason))
		}
	}
	return nil, t, h.noBackend(fmt.Sprintf("no backend supports the target %s", t), list, broken)
}

// SelectForPasses is SelectBackend for a run of single passes, of which a backend may know more
// targets than those that it compiles for. Where none supports t, the first that runs
// passes and has a target of the same kind (cuda in cuda:100) is asked; its RunPasses
// says if it does not know t.
func (h *Host) SelectForPasses(ctx context.Context, t sdk.Target) (*Backend, sdk.Target, error) {
	b, full, err := h.SelectBackend(ctx, t)
	if err == nil || ctx.Err() != nil {
		return b, full, err
	}
	for _, b := range h.backends {
		f, errFacts := b.Facts(ctx)
		if errFacts != nil || !f.Has(sdk.CapRunPasses) {
			continue
		}
		if slices.ContainsFunc(patternsOf(f), func(p string) bool { return strings.HasPrefix(p, t.Backend+":") }) {
			return b, t, nil
		}
	}
	return nil, t, err
}

// Dialect returns the backend that declares a dialect, with the declaration. Of
// several it is the first one that supports t, else the first. A nil backend says
// that none declares it; the error then tells of those that cannot be asked. One
// that is known not to declare it is not started.
func (h *Host) Dialect(ctx context.Context, name string, t sdk.Target) (declarer *Backend, declaration string, err error) {
	var unusable []error
	for _, b := range h.backends {
		if known, ok := b.remembered(); ok && known.Dialects != nil && !slices.Contains(known.Dialects, name) {
			continue
		}
		facts, err := b.Facts(ctx)
		switch {
		case ctx.Err() != nil:
			return nil, "", ctx.Err()
		case err != nil:
			unusable = append(unusable, err)
			continue
		}
		if !slices.Contains(facts.Dialects, name) {
			continue
		}
		_, supported := facts.For(t)
		if supported || declarer == nil {
			declarer = b
		}
		if supported {
			break
		}
	}
	if declarer == nil {
		return nil, "", errors.Join(unusable...)
	}
	dialects, err := declarer.LoadDialects(ctx)
	if err != nil {
		return nil, "", err
	}
	for _, d := range dialects {
		if d.Name == name {
			return declarer, d.Declaration, nil
		}
	}
	return nil, "", fmt.Errorf("backend %s names the dialect %s and does not declare it", declarer.found.Name, name)
}

// Identity tells in one text all that a compile for t depends on besides what it
// is given: the programs of the backends that may answer for t, and what they see
// of the machine. Tools are not in it: a compile says which it used. Neither are
// limits, which change nothing in a compile that succeeds. It is empty when there is
// no such backend. Only a program that has never been seen is
// started for it.
func (h *Host) Identity(ctx context.Context, t sdk.Target) (string, error) {
	var text strings.Builder
	add := func(what, s string) { fmt.Fprintf(&text, "%s %q\n", what, s) }
	for _, b := range h.backends {
		if b.found.Problem != nil {
			continue
		}
		known, ok := b.remembered()
		if !ok {
			facts, err := b.Facts(ctx)
			switch {
			case ctx.Err() != nil:
				return "", ctx.Err()
			case err != nil:
				continue // it answers for nothing
			}
			known = whatToRemember(facts)
		}
		if !slices.ContainsFunc(known.Targets, t.Matches) {
			continue
		}
		add("backend", b.found.Name)
		add("hash", known.Hash)
		settings := h.settings(slices.DeleteFunc(slices.Clone(known.Settings), func(s sdk.SettingSpec) bool { return s.Limit }))
		for _, name := range slices.Sorted(maps.Keys(settings)) {
			add("setting "+name, settings[name])
		}
	}
	if text.Len() == 0 {
		return "", nil
	}
	for _, key := range passedEnv {
		if v, ok := h.opts.LookupEnv(key); ok && !slices.Contains(temporaryEnv, key) {
			add("environment "+key, v)
		}
	}
	return text.String(), nil
}

// noBackend is the error for a target or a name that nobody answers to.
func (h *Host) noBackend(message string, list, broken []string) error {
	if len(h.backends) == 0 {
		return diag.Errorf(diag.Pos{}, "%s: none was found", message).
			WithHelp("searched for %s<name> in:\n  %s", Prefix, strings.Join(h.opts.Dirs, "\n  "))
	}
	if len(broken) > 0 {
		message += ", and " + strings.Join(broken, ", ") + " cannot be used"
	}
	for i := range list {
		list[i] = strings.ReplaceAll(list[i], "\n", "\n    ")
	}
	return diag.Errorf(diag.Pos{}, "%s", message).WithHelp("the backends here are:\n  %s", strings.Join(list, "\n  "))
}

// Close ends every plugin. Calls under way fail. The Host stays closed.
func (h *Host) Close() error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	var wg sync.WaitGroup
	for _, b := range h.backends {
		wg.Go(b.stop)
	}
	wg.Wait()
	h.stopping.Wait()
	return nil
}

// beginStop has Close wait for one more process that was dropped, until
// h.stopping.Done; false once the Host is closed.
func (h *Host) beginStop() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.stopping.Add(1)
	}
	return !h.closed
}

func (h *Host) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

// passedEnv names the variables that a backend sees: enough to find and run
// tools. Locale variables are absent so that tools speak one language.
var passedEnv = []string{
	"PATH", "HOME", "TMPDIR", "XDG_CACHE_HOME",
	// Windows.
	"SystemRoot", "USERPROFILE", "LOCALAPPDATA", "TEMP", "TMP", "PATHEXT",
}

// temporaryEnv are those of them that no output depends on.
var temporaryEnv = []string{"TMPDIR", "TEMP", "TMP"}

// env is the plugin's environment besides go-plugin's own variables.
func (h *Host) env() []string {
	var env []string
	for _, key := range passedEnv {
		if v, ok := h.opts.LookupEnv(key); ok {
			env = append(env, key+"="+v)
		}
	}
	return append(env, sdk.EnvLogLevel+"="+h.opts.Logger.GetLevel().String())
}

// settings are the knobs that a backend declares, as far as they are set.
func (h *Host) settings(specs []sdk.SettingSpec) map[string]string {
	out := map[string]string{}
	for i := range specs {
		spec := &specs[i]
		if v := h.opts.Settings[spec.Name]; v != "" {
			out[spec.Name] = v
			continue
		}
		for _, key := range spec.Env {
			if v, _ := h.opts.LookupEnv(key); v != "" {
				out[spec.Name] = v
				break
			}
		}
	}
	return out
}
