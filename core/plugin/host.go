package plugin

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/filememo"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

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
	// stands in a folder that only this user may enter.
	AutoMTLS bool
	// TempDir holds the sockets' folders; empty means the system's.
	TempDir string
}

// Host holds the backends of a session. Its methods may be called from several
// goroutines.
type Host struct {
	opts     Options
	backends []*Backend // as Find ordered them, unusable ones too

	stopping sync.WaitGroup // processes that were dropped

	// targets remembers each program's target patterns, so that those for
	// other devices need not be started.
	targets *filememo.Memo[[]string]

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
	h := &Host{opts: opts, targets: filememo.New[[]string](memoFile(opts.LookupEnv))}
	for _, f := range Find(opts.Dirs) {
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
	return nil, diag.Errorf(diag.Pos{}, "there is no backend %q", name).WithHelp("%s", h.inventory(context.Background(), nil))
}

// Select returns the first backend that supports t, and t with what it left
// open filled in. Its error lists the backends and their targets. A backend
// that cannot be started is passed over with a warning in the log; one that is
// known to have no pattern for t is not started.
func (h *Host) Select(ctx context.Context, t sdk.Target) (*Backend, sdk.Target, error) {
	problems := map[*Backend]string{}
	for _, b := range h.backends {
		if b.knownNotToMatch(t) {
			continue
		}
		resp, err := b.SupportsTarget(ctx, t)
		switch {
		case ctx.Err() != nil:
			return nil, t, ctx.Err()
		case err != nil:
			h.opts.Logger.Warn("a backend cannot be used", "backend", b.found.Name, "error", err)
			problems[b] = err.Error()
		case resp.Supported:
			return b, resp.Target, nil
		case resp.Reason != "":
			problems[b] = resp.Reason
		}
	}
	msg := fmt.Sprintf("no backend supports the target %s", t)
	if len(h.backends) == 0 {
		msg += ": none was found"
	}
	return nil, t, diag.Errorf(diag.Pos{}, "%s", msg).WithHelp("%s", h.inventory(ctx, problems))
}

// inventory lists the backends, their targets and what is wrong with them.
func (h *Host) inventory(ctx context.Context, problems map[*Backend]string) string {
	var b strings.Builder
	if len(h.backends) == 0 {
		b.WriteString("searched for " + Prefix + "<name> in:")
		for _, d := range h.opts.Dirs {
			b.WriteString("\n  " + d)
		}
		return b.String()
	}
	b.WriteString("the backends here are:")
	for _, be := range h.backends {
		fmt.Fprintf(&b, "\n  %s:", be.found.Name)
		f, err := be.Facts(ctx)
		if err != nil {
			b.WriteString(" cannot be used: " + strings.ReplaceAll(err.Error(), "\n", "\n    "))
			continue
		}
		for i := range f.Targets {
			b.WriteString(" " + f.Targets[i].Pattern)
		}
		if p := problems[be]; p != "" {
			b.WriteString(" (" + p + ")")
		}
	}
	return b.String()
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

func (h *Host) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

// passedEnv names the variables that a plugin sees: enough to find and run
// tools. Locale variables are absent so that tools speak one language.
var passedEnv = []string{
	"PATH", "HOME", "TMPDIR", "XDG_CACHE_HOME",
	// Windows.
	"SystemRoot", "USERPROFILE", "LOCALAPPDATA", "TEMP", "TMP", "PATHEXT",
}

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
func (h *Host) settings(f *sdk.Facts) map[string]string {
	out := map[string]string{}
	for i := range f.Settings {
		spec := &f.Settings[i]
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
