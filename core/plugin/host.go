package plugin

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/filememo"
	"github.com/tritonc/tritonc/core/plugin/manifest"
	"github.com/tritonc/tritonc/core/plugin/process"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// Prefix starts the file name of every backend: tritonc-backend-<name>.
const Prefix = manifest.ProgramPrefix

// DefaultStartTimeout is how long a plugin may take to its handshake.
const DefaultStartTimeout = 10 * time.Second

// Options of a Host. The zero value finds nothing.
type Options struct {
	// Override are folders whose backends hide those of the same name in Dirs, and
	// of several there the first hides the rest.
	Override []string
	// Dirs are the other folders to search for backends, first to last.
	Dirs []string
	// Choices say which backend to take where several support a target. The first
	// whose pattern matches counts.
	Choices []Choice
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
	// Dir is the folder that backends run in; empty means that of this process.
	Dir string
	// CallTimeout bounds a call; 0: nothing does.
	CallTimeout time.Duration
	// Confine says under which limits backends run. A sandbox's Read need not list
	// the folders of PATH, nor what the backend's settings name.
	Confine process.Confine
	// Lock lists the programs that may run; nil: any may. LockFile is its file, for
	// messages.
	Lock     *manifest.Lock
	LockFile string
	// MaxBytes bounds what a compile may answer, all artifacts and metadata
	// together; 0 means host.DefaultMaxBytes.
	MaxBytes int64
	// Afresh: what programs said of themselves in other sessions does not count, nor is
	// it kept for them.
	Afresh bool
}

// Host holds the backends of a session. Its methods may be called from several
// goroutines.
type Host struct {
	opts     Options
	backends []*Backend // as Find ordered them, unusable ones too

	stopping sync.WaitGroup // processes that were dropped

	// memo remembers what each program said of itself: those for other devices
	// need not be started, nor those whose work is in a cache.
	memo      *filememo.Memo[noted]
	factsMemo *filememo.Memo[*sdk.Facts]

	hangTime time.Duration // of process.Config; tests have less of it

	mu      sync.Mutex
	closed  bool
	closing chan struct{} // closed by Close
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
	h := &Host{
		opts: opts, closing: make(chan struct{}),
		memo: filememo.New[noted](opts.memoFile()), factsMemo: filememo.New[*sdk.Facts](opts.factsFile()),
	}
	h.find(opts.Override, true)
	h.find(opts.Dirs, false)
	return h
}

// find adds the backends in dirs. Those of a folder that is listed twice are there
// once; with hide, one hides those of its name in later folders.
func (h *Host) find(dirs []string, hide bool) {
	for _, dir := range dirs {
		for _, f := range process.Find([]string{dir}, Prefix) {
			if slices.ContainsFunc(h.backends, func(b *Backend) bool { return b.found.Path == f.Path }) {
				continue
			}
			hidden := slices.ContainsFunc(h.backends, func(b *Backend) bool { return b.hides && b.found.Name == f.Name })
			h.backends = append(h.backends, &Backend{host: h, found: f, hidden: hidden, hides: hide})
		}
	}
}

// cacheFolder is tritonc's part of the user's cache folder; empty for a user without
// a home.
func cacheFolder(lookupEnv func(string) (string, bool)) string {
	base, _ := lookupEnv("XDG_CACHE_HOME")
	if !filepath.IsAbs(base) {
		home, _ := lookupEnv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		base = filepath.Join(home, ".cache")
	}
	return filepath.Join(base, "tritonc")
}

// memoFile is where what is known of the backends' programs is kept between
// processes; empty where nothing is.
func (o *Options) memoFile() string {
	if cache := cacheFolder(o.LookupEnv); cache != "" && !o.Afresh {
		return filepath.Join(cache, "backends.json")
	}
	return ""
}

// factsFile is memoFile for the backends' facts.
func (o *Options) factsFile() string {
	if memo := o.memoFile(); memo != "" {
		return filepath.Join(filepath.Dir(memo), "facts.json")
	}
	return ""
}

// Backends lists every backend found, usable or not, hidden ones too.
func (h *Host) Backends() []*Backend { return h.backends }

// Backend returns the first backend of that name.
func (h *Host) Backend(name string) (*Backend, error) {
	for _, b := range h.backends {
		if b.found.Name == name {
			return b, nil
		}
	}
	return nil, h.unknown(fmt.Sprintf("there is no backend %q", name), h.backends)
}

// Dialect returns the backend that declares a dialect, with the declaration. Of
// several it is the first one that supports t, else the first; where one is chosen
// for t, that one goes first. A nil backend says that none declares it; the error
// then tells of those that cannot be asked. None is started whose declarations are
// known.
func (h *Host) Dialect(ctx context.Context, name string, t sdk.Target) (declarer *Backend, declaration string, err error) {
	var unusable []error
	for _, b := range h.forDialects(ctx, t) {
		known, err := b.Describe(ctx)
		switch {
		case ctx.Err() != nil:
			return nil, "", ctx.Err()
		case err != nil:
			unusable = append(unusable, err)
			continue
		case !slices.Contains(known.Facts.Dialects, name):
			continue
		}
		if declarer == nil || known.supports(t) {
			declarer = b
		}
		if known.supports(t) {
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

// forDialects lists the backends that may declare a dialect for t, described if that
// can be. The one that is chosen for t stands for others of its name.
func (h *Host) forDialects(ctx context.Context, t sdk.Target) []*Backend {
	list := h.visible()
	if choice := h.choice(t); choice != nil {
		if named, err := h.Named(ctx, choice.Ref, choice.From); err == nil {
			list = slices.DeleteFunc(list, func(b *Backend) bool { return b.found.Name == choice.Ref.Name })
			list = slices.Concat(named, list)
		}
	}
	h.describeAll(ctx, list)
	return list
}

// noBackend is the error for a target or a name that nobody answers to.
func (h *Host) noBackend(message string, list []string) error {
	if len(h.backends) == 0 {
		return diag.Errorf(diag.Pos{}, "%s: none was found", message).
			WithHelp("searched for %s<name> in:\n  %s", Prefix, strings.Join(slices.Concat(h.opts.Override, h.opts.Dirs), "\n  "))
	}
	for i := range list {
		list[i] = strings.ReplaceAll(list[i], "\n", "\n    ")
	}
	return diag.Errorf(diag.Pos{}, "%s", message).WithHelp("the backends here are:\n  %s", strings.Join(list, "\n  "))
}

// Close ends every plugin. Calls under way fail. The Host stays closed.
func (h *Host) Close() error {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		close(h.closing)
	}
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

// searchEnv is the one of them that lists folders of programs.
const searchEnv = "PATH"

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
	return append(env, host.EnvLogLevel+"="+h.opts.Logger.GetLevel().String())
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
