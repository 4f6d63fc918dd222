package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// Config says how to start a program and what it must become. Kind to Plugin,
// Logger and StartTimeout are required.
type Config struct {
	// Kind is what messages call such programs: "backend".
	Kind string
	// Handshake is that of the protocol.
	Handshake goplugin.HandshakeConfig
	// Versions are those of the protocol that the host speaks, each with the plugin
	// of it. The program takes the highest that it speaks, too.
	Versions map[int]goplugin.Plugin
	// PluginName is the name that the plugins are served under.
	PluginName string
	// Env is the program's environment besides go-plugin's own variables.
	Env []string
	// Logger shows the program's lines.
	Logger hclog.Logger
	// StartTimeout bounds the time to the handshake.
	StartTimeout time.Duration
	// AutoMTLS encrypts the connection.
	AutoMTLS bool
	// Dir is the folder that it runs in; empty means that of this process.
	Dir string
	// TempDir holds the socket's folder; empty means the system's.
	TempDir string
	// Confine says under which limits it runs.
	Confine Confine
	// HangTime is how long it may leave a ping unanswered while a call is under
	// way; 0 means ten seconds.
	HangTime time.Duration
}

// Process is one run of a plugin's program.
type Process struct {
	plugin   *goplugin.Client
	rpc      atomic.Pointer[goplugin.ClientProtocol] // once there is a connection
	remote   any
	child    *child
	hangTime time.Duration
	watched  watched
}

// Start runs the program up to an open connection. When ctx ends before that,
// the error is ctx's.
func Start(ctx context.Context, prog Found, cfg Config) (*Process, error) {
	who := fmt.Sprintf("%s %s (%s)", cfg.Kind, prog.Name, prog.Path)
	if prog.Problem != nil {
		return nil, fmt.Errorf("%s: %w", who, prog.Problem)
	}
	confine, err := cfg.Confine.feasible(cfg.Logger)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", who, err)
	}
	c := &child{path: prog.Path, dir: cfg.Dir, confine: confine, exited: make(chan struct{}), first: handshakeLine{log: cfg.Logger, kind: cfg.Kind}}
	p := &Process{child: c, hangTime: cmp.Or(cfg.HangTime, hangTime)}
	if c.file, err = openChecked(prog.Path, prog.Expected); err != nil {
		return nil, fmt.Errorf("%s: %w", who, err)
	}
	if err := c.makeFolders(&cfg); err != nil {
		c.cleanUp()
		return nil, fmt.Errorf("%s: a folder for its socket: %w", who, err)
	}
	said := func(stream string) io.Writer {
		return &lineLogger{log: cfg.Logger, what: "the " + cfg.Kind + " printed to its standard " + stream}
	}
	// A config is used up by its client: build one for each start.
	p.plugin = goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  cfg.Handshake,
		VersionedPlugins: cfg.versions(),
		RunnerFunc:       c.prepare,
		SkipHostEnv:      true,
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		AutoMTLS:         cfg.AutoMTLS,
		StartTimeout:     cfg.StartTimeout,
		Logger:           quietLogger{cfg.Logger, filepath.Base(c.Name())},
		SyncStdout:       said("output"),
		SyncStderr:       said("error"),
		GRPCDialOptions:  append(host.DialOptions(), grpc.WithChainUnaryInterceptor(p.killUnasked)),
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: c.base},
	})
	defer p.Begin()()
	stopWatch := context.AfterFunc(ctx, func() { c.Kill(context.Background()) })
	defer stopWatch()
	if _, err := p.plugin.Start(); err != nil {
		p.Stop()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, p.startError(who, &cfg, err)
	}
	if err := p.connect(cfg.PluginName); err != nil {
		p.Kill() // it may not understand that it should end
		p.Stop()
		return nil, fmt.Errorf("%s: %w", who, err)
	}
	return p, nil
}

// versions are the plugins as go-plugin wants them.
func (c *Config) versions() map[int]goplugin.PluginSet {
	sets := map[int]goplugin.PluginSet{}
	for version, p := range c.Versions {
		sets[version] = goplugin.PluginSet{c.PluginName: p}
	}
	return sets
}

func (p *Process) connect(name string) (err error) {
	if f := p.child.file; f != nil {
		if err := f.unchanged(p.child.path); err != nil {
			return err
		}
	}
	rpc, err := p.plugin.Client()
	if err != nil {
		return err
	}
	p.remote, err = rpc.Dispense(name)
	p.rpc.Store(&rpc)
	return err
}

// Client is what the plugin of the version agreed on makes of the connection.
func (p *Process) Client() any { return p.remote }

// Version is the one agreed on.
func (p *Process) Version() int { return p.plugin.NegotiatedVersion() }

// Stop ends the process and removes its socket. It may be called twice. The
// process is asked first; one that does not answer is killed.
func (p *Process) Stop() {
	impatient := time.AfterFunc(stopTime, p.Kill)
	defer impatient.Stop()
	p.plugin.Kill()
	p.child.cleanUp()
}

// killUnasked ends a program that cannot be asked to: go-plugin's shutdown service is
// optional, and go-plugin waits for the end of a program that lacks it, too.
func (p *Process) killUnasked(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, conn, opts...)
	if method == "/plugin.GRPCController/Shutdown" && status.Code(err) == codes.Unimplemented {
		p.Kill()
	}
	return err
}

// stopTime is how long a process may take to end by itself.
const stopTime = time.Second

// Kill ends the process at once; Stop must still be called.
func (p *Process) Kill() { p.child.Kill(context.Background()) }

// CutLifeline closes the pipe that tells the program that its host is gone, as the
// system does when a host is killed. A program that heeds it ends; Stop must still be
// called.
func (p *Process) CutLifeline() { p.child.lifeline.Close() }

// AwaitExit waits at most d for the process to end, and reports whether it has.
func (p *Process) AwaitExit(d time.Duration) bool { return p.child.awaitExit(d) }

// DrainLog waits until what the program wrote to its log has been logged, but not for
// long.
func (p *Process) DrainLog() { p.child.stderr.drain(drainTime) }

// HasExited reports whether the process has ended.
func (p *Process) HasExited() bool {
	select {
	case <-p.child.exited:
		return true
	default:
		return false
	}
}

// End is how a process ended.
type End struct {
	How    string // "signal: killed", "exit status 2", or why we killed it
	Killed bool   // by SIGKILL or SIGTERM, which it does not get of itself
	Said   string // its last words on standard error, each line after a newline
}

// PID is the number of the process.
func (p *Process) PID() int {
	p.child.mu.Lock()
	defer p.child.mu.Unlock()
	return p.child.running.Pid
}

// Died reports whether err, which a call returned, came of the process's end, and if
// so how it ended.
func (p *Process) Died(err error) (End, bool) {
	if !Broken(err) || !p.child.awaitExit(500*time.Millisecond) {
		return End{}, false
	}
	end := End{How: p.child.ended(), Killed: p.child.wasKilled(), Said: p.child.said.String()}
	if why := p.reason(); why != "" {
		end.How = why
	}
	return end, true
}

// LastWords are all that the process wrote to standard error until its end, in
// the form of End. It waits for the end: call it after Kill.
func (p *Process) LastWords() string {
	p.child.ended()
	return p.child.said.String()
}

// Broken reports whether err, of a call whose context lives, means that the
// connection is gone.
func Broken(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.Canceled
}

// Ended reports whether ctx is what ended a call that returned err. The plugin's
// process has a clock of its own for the deadline, which may be ahead of ours.
func Ended(ctx context.Context, err error) bool {
	if _, has := ctx.Deadline(); has && status.Code(err) == codes.DeadlineExceeded {
		<-ctx.Done()
	}
	return ctx.Err() != nil
}

// socketBase is the folder for the sockets' private folders where dir is for
// temporary files. The path of a Unix socket may have 104 bytes on the narrowest
// system; go-plugin adds some 40, and our own folder's name 20.
func socketBase(dir string) string {
	if runtime.GOOS != "windows" && len(dir) > 45 {
		return "/tmp"
	}
	return dir
}

// makeFolders makes the folders for the socket and for the program's temporary
// files, which go with the process however it ends. The next host removes those of
// one that is killed.
func (c *child) makeFolders(cfg *Config) error {
	temp := cmp.Or(cfg.TempDir, os.TempDir())
	socket := socketBase(temp)
	base, remove, err := host.TempDirIn(socket, "p")
	if err != nil {
		return err
	}
	c.base = base
	c.removeFolders = append(c.removeFolders, remove)
	if socket != temp {
		// What tools write may be too much for the folder that has a short name.
		if c.tempDir, remove, err = host.TempDirIn(temp, "t"); err != nil {
			return err
		}
		c.removeFolders = append(c.removeFolders, remove)
	} else {
		c.tempDir = base
	}
	c.env = withTemp(cfg.Env, c.tempDir)
	return nil
}

// child runs the program for go-plugin. Unlike go-plugin's own runner it gives
// the program no stdin of ours, holds its lifeline, and remembers its first
// words, so that a failed start can be explained.
type child struct {
	path    string
	dir     string // that it runs in
	env     []string
	file    *checkedFile // nil where nobody expects anything of it
	confine Confine      // what is feasible of it

	// Set by prepare, before go-plugin uses the child.
	cmd            *exec.Cmd
	stdout, stderr *outlet
	socketDir      string
	base           string   // that socketDir is in
	tempDir        string   // for the program's own files
	removeFolders  []func() // base and tempDir
	lifelineRead   *os.File // until the program has its own copy
	// lifeline is the write end of the pipe whose end tells the plugin that we
	// are gone. It must stay referenced: a collected file is a closed one.
	lifeline *os.File

	mu      sync.Mutex
	running *os.Process // nil before Start
	killed  bool

	first  handshakeLine // what came on stdout
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
	keepDescriptors()
	c.cmd = &exec.Cmd{Path: c.path, Dir: c.dir, Args: []string{c.path}, Env: append(c.env, spec.Env...)}
	if runtime.GOOS == "windows" { // inherits no other descriptor than the standard ones
		c.cmd.Stdin = c.lifelineRead
		c.cmd.Env = append(c.cmd.Env, host.EnvLifeline+"=0")
	} else {
		c.cmd.ExtraFiles = []*os.File{c.lifelineRead}
		c.cmd.Env = append(c.cmd.Env, host.EnvLifeline+"=3")
	}
	if c.confine.Memory > 0 || c.confine.Sandbox != nil {
		if err := c.confine.trampoline(c.cmd, []string{c.base, c.tempDir}, c.file); err != nil {
			return nil, err
		}
	} else if c.file != nil {
		c.cmd.Path = c.file.execPath(c.path)
	}
	if c.stdout, err = newOutlet(&c.cmd.Stdout, c.first.take); err != nil {
		return nil, err
	}
	if c.stderr, err = newOutlet(&c.cmd.Stderr, c.said.take); err != nil {
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
		for _, remove := range c.removeFolders {
			remove()
		}
		if c.file != nil {
			c.file.file.Close()
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

// stateNow is that of the program's process.
func (c *child) stateNow() state {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == nil {
		return running
	}
	return stateOf(c.running.Pid)
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

// wasKilled reports whether the process, which has ended, was ended by others.
func (c *child) wasKilled() bool { return c.state != nil && wasKilled(c.state) }

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
