package process

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// handshakeLine keeps the first line that a program prints to its standard output. What
// follows is a mistake of the program: it is logged, at first as a warning, and kept from
// go-plugin, which would stop reading at a line that is too long for it.
type handshakeLine struct {
	log  hclog.Logger
	kind string // of program

	mu     sync.Mutex
	buf    []byte
	ended  bool
	warned bool
}

func (h *handshakeLine) take(p []byte) (forPlugin int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		forPlugin = len(p)
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			forPlugin, h.ended = i+1, true
		}
		if room := 4096 - len(h.buf); room > 0 {
			h.buf = append(h.buf, p[:min(room, forPlugin)]...)
		}
	}
	if forPlugin < len(p) && bytes.HasPrefix(h.buf, []byte("1|")) { // else the start fails and says why
		h.noise(p[forPlugin:])
	}
	return forPlugin
}

func (h *handshakeLine) noise(p []byte) {
	level := hclog.Warn
	if h.warned {
		level = hclog.Debug
	}
	h.warned = true
	h.log.Log(level, "the "+h.kind+" printed to its standard output after the handshake", "text", shorten(strings.TrimSpace(string(p)), 200))
}

// line is the first line, or ok false when nothing came.
func (h *handshakeLine) line() (s string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.TrimRight(string(h.buf), "\r\n"), len(h.buf) > 0
}

// outlet is a pipe that the program writes and go-plugin reads.
type outlet struct {
	read, write *os.File
	take        func(p []byte) (forPlugin int) // sees what is read
	ended       chan struct{}
	once        sync.Once

	mu      sync.Mutex
	waiting bool          // for what the program writes next, all before having been shown
	changed chan struct{} // closed when waiting becomes true; nil while nobody drains
}

func newOutlet(end *io.Writer, take func([]byte) int) (*outlet, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	*end = w
	return &outlet{read: r, write: w, take: take, ended: make(chan struct{})}, nil
}

func (o *outlet) Read(p []byte) (int, error) {
	for {
		n, err := o.readPipe(p)
		n = o.take(p[:n])
		if err != nil {
			o.once.Do(func() { close(o.ended) })
			return n, io.EOF // a closed pipe is nothing to log
		}
		if n > 0 {
			return n, nil
		}
	}
}

func (o *outlet) Close() error { return o.read.Close() }

// drain waits until what the program has written is read, and shown by who reads it: that
// asks for more then. It waits at most d.
func (o *outlet) drain(d time.Duration) {
	limit := time.After(d)
	for {
		o.mu.Lock()
		if o.waiting && !readable(o.read) {
			o.mu.Unlock()
			return
		}
		if o.changed == nil {
			o.changed = make(chan struct{})
		}
		changed := o.changed
		o.mu.Unlock()
		select {
		case <-changed:
		case <-o.ended:
			return
		case <-limit:
			return
		}
	}
}

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

func (t *tail) take(p []byte) (forPlugin int) {
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
	return len(p)
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
	if len(bytes.TrimSpace(t.part)) > 0 { // a last line without its end
		b.WriteString("\n  | " + string(t.part))
	}
	return b.String()
}

// quietLogger shows go-plugin's own lines under debug only: what it has to say
// of a failing plugin reaches the user as an error already.
type quietLogger struct {
	hclog.Logger
	program string // its file's name
}

func (l quietLogger) Error(msg string, args ...any) { l.Logger.Debug(msg, args...) }
func (l quietLogger) Warn(msg string, args ...any)  { l.Logger.Debug(msg, args...) }
func (l quietLogger) Info(msg string, args ...any)  { l.Logger.Debug(msg, args...) }

// Named is the logger of the program's own lines, under the program's name, or of a
// part of go-plugin.
func (l quietLogger) Named(name string) hclog.Logger {
	named := l.Logger.Named(name)
	if name == l.program {
		return panicLogger{named}
	}
	return quietLogger{named, l.program}
}

// panicLogger shows the lines of a panic under debug only: the error of the call that
// died has them.
type panicLogger struct{ hclog.Logger }

func (l panicLogger) Error(msg string, args ...any) {
	if len(args) == 0 && !strings.HasPrefix(msg, "[ERROR]") { // neither a log entry nor marked as one
		l.Logger.Debug(msg)
		return
	}
	l.Logger.Error(msg, args...)
}

// lineLogger logs what a plugin printed as warnings.
type lineLogger struct {
	log  hclog.Logger
	what string
}

func (l *lineLogger) Write(p []byte) (int, error) {
	l.log.Warn(l.what, "text", strings.TrimRight(string(p), "\n"))
	return len(p), nil
}
