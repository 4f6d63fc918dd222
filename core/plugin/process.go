package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// process is one run of a backend's program.
type process struct {
	plugin *goplugin.Client
	client *sdk.Client
	child  *child
}

// start runs the backend's program up to an open connection.
func (b *Backend) start(ctx context.Context) (*process, error) {
	h := b.host
	if b.found.Problem != nil {
		return nil, fmt.Errorf("backend %s (%s): %w", b.found.Name, b.found.Path, b.found.Problem)
	}
	log := h.opts.Logger.Named(b.found.Name)
	c := &child{path: b.found.Path, env: h.env(), exited: make(chan struct{})}
	p := &process{child: c}
	// A config is used up by its client: build one for each start.
	p.plugin = goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig: sdk.Handshake,
		VersionedPlugins: map[int]goplugin.PluginSet{
			sdk.ProtocolVersion: {sdk.PluginName: &sdk.Plugin{}},
		},
		RunnerFunc:       c.prepare,
		SkipHostEnv:      true,
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		AutoMTLS:         h.opts.AutoMTLS,
		StartTimeout:     h.opts.StartTimeout,
		Logger:           quietLogger{log},
		Stderr:           &c.said,
		SyncStdout:       &lineLogger{log: log, what: "the backend printed to its standard output"},
		SyncStderr:       &lineLogger{log: log, what: "the backend printed to its standard error"},
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: socketBase(h.opts.TempDir)},
	})
	stopWatch := context.AfterFunc(ctx, func() { c.Kill(context.Background()) })
	defer stopWatch()
	if _, err := p.plugin.Start(); err != nil {
		p.stop()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, b.startError(c, err)
	}
	rpc, err := p.plugin.Client()
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("backend %s (%s): %w", b.found.Name, b.found.Path, err)
	}
	raw, err := rpc.Dispense(sdk.PluginName)
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("backend %s (%s): %w", b.found.Name, b.found.Path, err)
	}
	p.client = raw.(*sdk.Client)
	return p, nil
}

// stop ends the process and removes its socket. It may be called twice. The
// process is asked first; one that does not answer is killed.
func (p *process) stop() {
	impatient := time.AfterFunc(stopTime, func() { p.child.Kill(context.Background()) })
	defer impatient.Stop()
	p.plugin.Kill()
	p.child.cleanUp()
}

// stopTime is how long a process may take to end by itself.
const stopTime = time.Second

// hasExited reports whether the process has ended.
func (p *process) hasExited() bool {
	select {
	case <-p.child.exited:
		return true
	default:
		return false
	}
}

// socketBase is the folder for the sockets' private folders. The path of a Unix
// socket may have 104 bytes on the narrowest system; go-plugin adds some 45.
func socketBase(dir string) string {
	if dir == "" {
		dir = os.TempDir()
	}
	if runtime.GOOS != "windows" && len(dir) > 50 {
		return "/tmp"
	}
	return dir
}

// child runs the program for go-plugin. Unlike go-plugin's own runner it gives
// the program no stdin of ours, holds its lifeline, and remembers its first
// words, so that a failed start can be explained.
type child struct {
	path string
	env  []string

	// Set by prepare, before go-plugin uses the child.
	cmd            *exec.Cmd
	stdout, stderr *outlet
	socketDir      string
	lifelineRead   *os.File // until the program has its own copy
	// lifeline is the write end of the pipe whose end tells the plugin that we
	// are gone. It must stay referenced: a collected file is a closed one.
	lifeline *os.File

	mu      sync.Mutex
	running *os.Process // nil before Start
	killed  bool

	first  firstLine     // what came on stdout
	said   tail          // what came on stderr
	exited chan struct{} // closed when the process has ended
	state  *os.ProcessState
	clean  sync.Once
}

var _ runner.Runner = (*child)(nil)

// prepare is go-plugin's RunnerFunc: spec carries the variables of its protocol.
func (c *child) prepare(_ hclog.Logger, spec *exec.Cmd, tmpDir string) (runner.Runner, error) {
	c.socketDir = tmpDir
	var err error
	if c.lifelineRead, c.lifeline, err = os.Pipe(); err != nil {
		return nil, err
	}
	c.cmd = &exec.Cmd{Path: c.path, Args: []string{c.path}, Env: append(c.env, spec.Env...)}
	if runtime.GOOS == "windows" { // inherits no other descriptor than the standard ones
		c.cmd.Stdin = c.lifelineRead
		c.cmd.Env = append(c.cmd.Env, sdk.EnvLifeline+"=0")
	} else {
		c.cmd.ExtraFiles = []*os.File{c.lifelineRead}
		c.cmd.Env = append(c.cmd.Env, sdk.EnvLifeline+"=3")
	}
	if c.stdout, err = newOutlet(&c.cmd.Stdout, &c.first); err != nil {
		return nil, err
	}
	if c.stderr, err = newOutlet(&c.cmd.Stderr, io.Discard); err != nil {
		return nil, err
	}
	return c, nil
}

// cleanUp closes what only the host holds, also after a failed prepare.
func (c *child) cleanUp() {
	c.clean.Do(func() {
		for _, f := range []*os.File{c.lifelineRead, c.lifeline} {
			if f != nil {
				f.Close() // the read end is closed already after a Start
			}
		}
		for _, o := range []*outlet{c.stdout, c.stderr} {
			if o != nil {
				o.write.Close()
				o.read.Close()
			}
		}
		if c.socketDir != "" {
			os.RemoveAll(c.socketDir)
		}
	})
}

func (c *child) Start(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.killed {
		return context.Canceled
	}
	err := c.cmd.Start()
	c.lifelineRead.Close()
	c.stdout.write.Close()
	c.stderr.write.Close()
	if err != nil {
		return err
	}
	c.running = c.cmd.Process
	go c.watch()
	return nil
}

// watch waits for the process to end. Something that it started may have
// inherited its outputs and hold them open: they are read for a moment more, and
// then given up.
func (c *child) watch() {
	state, err := c.running.Wait()
	if err == nil {
		c.state = state
	}
	close(c.exited)
	for _, o := range []*outlet{c.stdout, c.stderr} {
		o.awaitEnd(drainTime)
		o.read.Close()
	}
}

// drainTime is how long a dead process's outputs are still read.
const drainTime = 200 * time.Millisecond

func (c *child) Wait(context.Context) error {
	<-c.exited
	if c.state == nil || !c.state.Success() {
		return errors.New(c.ended())
	}
	return nil
}

func (c *child) Kill(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.killed = true
	if c.running == nil {
		return nil
	}
	if err := c.running.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// ID is the process number, or empty when the program never ran.
func (c *child) ID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == nil {
		return ""
	}
	return strconv.Itoa(c.running.Pid)
}

func (c *child) Stdout() io.ReadCloser           { return c.stdout }
func (c *child) Stderr() io.ReadCloser           { return c.stderr }
func (c *child) Name() string                    { return c.path }
func (c *child) Diagnose(context.Context) string { return "" } // startError explains

func (c *child) PluginToHost(network, addr string) (string, string, error) { return network, addr, nil }

func (c *child) HostToPlugin(network, addr string) (string, string, error) { return network, addr, nil }

// awaitExit waits a little for the process to end and reports whether it has.
func (c *child) awaitExit(d time.Duration) bool {
	select {
	case <-c.exited:
		return true
	case <-time.After(d):
		return false
	}
}

// ended says how the process ended, after its last words have been read.
func (c *child) ended() string {
	if !c.awaitExit(time.Second) {
		return "it does not end"
	}
	c.stderr.awaitEnd(drainTime)
	if c.state == nil {
		return "nobody knows how"
	}
	return c.state.String()
}

// firstLine keeps the start of what is written to it.
type firstLine struct {
	mu  sync.Mutex
	buf []byte
}

func (f *firstLine) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if room := 4096 - len(f.buf); room > 0 {
		f.buf = append(f.buf, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

// line is the first line, or ok false when nothing came.
func (f *firstLine) line() (s string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, _, _ = strings.Cut(string(f.buf), "\n")
	return strings.TrimRight(s, "\r"), len(f.buf) > 0
}

// outlet is a pipe that the program writes and go-plugin reads.
type outlet struct {
	read, write *os.File
	copy        io.Writer // sees what is read
	ended       chan struct{}
	once        sync.Once
}

func newOutlet(end *io.Writer, tee io.Writer) (*outlet, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	*end = w
	return &outlet{read: r, write: w, copy: tee, ended: make(chan struct{})}, nil
}

func (o *outlet) Read(p []byte) (int, error) {
	n, err := o.read.Read(p)
	o.copy.Write(p[:n])
	if err != nil {
		o.once.Do(func() { close(o.ended) })
		err = io.EOF // a closed pipe is no trouble to log
	}
	return n, err
}

func (o *outlet) Close() error { return o.read.Close() }

// awaitEnd waits a little for everything to be read.
func (o *outlet) awaitEnd(d time.Duration) {
	select {
	case <-o.ended:
	case <-time.After(d):
	}
}

// tail keeps what a plugin wrote to stderr besides its structured log: from the
// first sign of a Go panic on, else the last lines.
type tail struct {
	mu    sync.Mutex
	part  []byte
	lines []string
	panic bool
}

const tailLines = 12

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.part = append(t.part, p...)
	for {
		i := bytes.IndexByte(t.part, '\n')
		if i < 0 {
			break
		}
		t.add(string(t.part[:i]))
		t.part = t.part[i+1:]
	}
	if len(t.part) > 4096 {
		t.add(string(t.part[:4096]))
		t.part = nil
	}
	return len(p), nil
}

func (t *tail) add(line string) {
	if strings.HasPrefix(line, `{"@`) || strings.TrimSpace(line) == "" {
		return
	}
	if !t.panic && (strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "SIG")) {
		t.panic, t.lines = true, nil
	}
	if len(t.lines) == tailLines {
		if t.panic {
			return
		}
		t.lines = t.lines[1:]
	}
	t.lines = append(t.lines, line)
}

// String gives the lines, indented, each after a newline.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, l := range t.lines {
		b.WriteString("\n  | " + l)
	}
	return b.String()
}

// quietLogger shows go-plugin's own lines under debug only: what it has to say
// of a failing plugin reaches the user as an error already. The lines of the
// plugin itself come through Named and keep their level.
type quietLogger struct{ hclog.Logger }

func (l quietLogger) Error(msg string, args ...any) { l.Logger.Debug(msg, args...) }
func (l quietLogger) Warn(msg string, args ...any)  { l.Logger.Debug(msg, args...) }
func (l quietLogger) Info(msg string, args ...any)  { l.Logger.Debug(msg, args...) }

// lineLogger turns what a plugin printed into warnings.
type lineLogger struct {
	log  hclog.Logger
	what string
}

func (l *lineLogger) Write(p []byte) (int, error) {
	l.log.Warn(l.what, "text", strings.TrimRight(string(p), "\n"))
	return len(p), nil
}
