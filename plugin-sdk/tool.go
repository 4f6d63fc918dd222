package sdk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/tritonc/tritonc/plugin-sdk/internal/wire"
)

// Command is one run of a child tool (an assembler, a linker). The tool gets
// its own process group, never the plugin's standard output, and ends when its
// time or ctx does, or when the plugin loses its host.
type Command struct {
	Path  string   // of the program; looked up in PATH when it has no slash
	Args  []string // without the program's own name
	Stdin []byte
	Dir   string
	Env   []string // nil: the plugin's own environment
	// Timeout is the wall time allowed; 0 means DefaultTimeout.
	Timeout time.Duration
	// MemoryLimit bounds the address space in bytes where the system can
	// (Linux); 0 means no bound beside the plugin's own (ulimit -v), which
	// counts where it is lower.
	MemoryLimit int64
}

// DefaultTimeout is the wall time of a Command that names none.
const DefaultTimeout = 2 * time.Minute

// maxToolOutput bounds what is kept of each of a tool's two outputs.
const maxToolOutput = wire.MaxMessageBytes

// Result is a tool's ended run. A tool that fails in its own way (a non-zero
// exit, a crash) is a Result too.
type Result struct {
	Stdout, Stderr []byte
	ExitCode       int    // -1 when a signal ended it
	Signal         string // "segmentation fault", or empty
	Start          time.Time
	Wall, CPU      time.Duration
	// MemoryLimit is the bound of its address space in bytes: the Command's or
	// the plugin's own, whichever is lower. 0 means that there was none.
	MemoryLimit int64
}

// OK reports whether the tool ended with exit code 0.
func (r *Result) OK() bool { return r.ExitCode == 0 }

// Status says how the tool ended: "exit status 1", "signal: killed".
func (r *Result) Status() string {
	if r.Signal != "" {
		return "signal: " + r.Signal
	}
	return fmt.Sprintf("exit status %d", r.ExitCode)
}

// TimeoutError says that a tool was stopped because it took too long.
type TimeoutError struct {
	Command string
	Limit   time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("%s was stopped after %s, its time limit", e.Command, e.Limit)
}

// String gives the command as a person would type it in a shell.
func (c Command) String() string {
	var b strings.Builder
	b.WriteString(shellQuote(c.Path))
	for _, a := range c.Args {
		b.WriteByte(' ')
		b.WriteString(shellQuote(a))
	}
	return b.String()
}

func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_=./:,+@%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Run runs the tool to its end. The error is non-nil when it could not be
// started, ran out of its time (*TimeoutError) or ctx ended (ctx's error).
func (c Command) Run(ctx context.Context) (*Result, error) {
	limit := c.Timeout
	if limit == 0 {
		limit = DefaultTimeout
	}
	tctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(tctx, c.Path, c.Args...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	if len(c.Stdin) > 0 {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	var stdout, stderr cappedBuffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	cmd.WaitDelay = time.Second // a grandchild that keeps the pipes open does not keep us
	setGroup(cmd)

	start := time.Now()
	memory := lowerLimit(c.MemoryLimit, ownMemoryLimit())
	err := runOnOneThread(func() error { return tools.run(cmd, memory) })
	res := &Result{Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), Start: start, Wall: time.Since(start), MemoryLimit: memory}
	if s := cmd.ProcessState; s != nil {
		res.ExitCode, res.CPU, res.Signal = s.ExitCode(), s.UserTime()+s.SystemTime(), signalName(s)
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return res, ctx.Err()
	case tctx.Err() != nil:
		return res, &TimeoutError{Command: c.Path, Limit: limit}
	case err == nil || errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay):
		return res, nil
	default:
		return res, fmt.Errorf("cannot run %s: %w", c.Path, err)
	}
}

// lowerLimit returns the lower of two limits of which 0 means none.
func lowerLimit(a, b int64) int64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// runOnOneThread runs f on a thread that lives as long as f does: Linux's
// parent-death signal follows the thread that started a child, not the process.
func runOnOneThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		done <- f()
	}()
	return <-done
}

// tools are the children that run now.
var tools toolSet

type toolSet struct {
	mu      sync.Mutex
	running map[*os.Process]bool
	closed  bool
}

// errClosing is given to a tool that would start while the plugin ends.
var errClosing = errors.New("the plugin is ending")

// run starts cmd, keeps it in the set while it runs, and waits for it.
func (s *toolSet) run(cmd *exec.Cmd, memory int64) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errClosing
	}
	if err := cmd.Start(); err != nil {
		s.mu.Unlock()
		return err
	}
	if s.running == nil {
		s.running = map[*os.Process]bool{}
	}
	s.running[cmd.Process] = true
	s.mu.Unlock()

	err := limitMemory(cmd.Process.Pid, memory)
	if err != nil {
		killGroup(cmd.Process)
	}
	werr := cmd.Wait()
	s.mu.Lock()
	delete(s.running, cmd.Process)
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("limit its memory to %d bytes: %w", memory, err)
	}
	return werr
}

// killAll ends every running tool and lets no other start.
func (s *toolSet) killAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for p := range s.running {
		killGroup(p)
	}
}

// cappedBuffer keeps the first maxToolOutput bytes and drops the rest, so that
// a tool gone wild does not take the plugin's memory.
type cappedBuffer struct{ bytes.Buffer }

func (b *cappedBuffer) Write(p []byte) (int, error) {
	if room := maxToolOutput - b.Len(); room < len(p) {
		b.Buffer.Write(p[:max(room, 0)])
		return len(p), nil
	}
	return b.Buffer.Write(p)
}

// ReadFrom hides bytes.Buffer's own, which knows no cap.
func (b *cappedBuffer) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{b}, r)
}
