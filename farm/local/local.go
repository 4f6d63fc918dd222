package local

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/tritonc/tritonc/core/filememo"
	"github.com/tritonc/tritonc/core/trust"
)

// Program is the name of the server's program.
const Program = "tritonc-nats"

// UntilEOF is the program's flag that has it end with its standard input.
const UntilEOF = "until-eof"

// Folder is where a server keeps its files.
type Folder string

// Note is what a server that runs says of itself.
type Note struct {
	URL string `json:"url"` // with the token
	PID int    `json:"pid"`
}

// Store is where the server keeps what it is given.
func (f Folder) Store() string { return filepath.Join(string(f), "store") }

func (f Folder) note() string { return filepath.Join(string(f), "server.json") }

// ErrRuns is the error of Lock where a server runs.
var ErrRuns = errors.New("another server runs in this folder")

// Lock makes the folder, and has it for the caller until unlock.
func (f Folder) Lock() (unlock func(), err error) {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return nil, err
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	// Who looks whether a server runs has the lock for a moment.
	lock := f.lock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	ok, err := lock.TryLockContext(ctx, 5*time.Millisecond)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, ErrRuns
	case err != nil:
		return nil, err
	case !ok:
		return nil, ErrRuns
	}
	return func() { _ = lock.Unlock() }, nil // which the end of the process does, too
}

func (f Folder) lock() *flock.Flock { return flock.New(filepath.Join(string(f), "lock")) }

// check refuses a folder that others may enter.
func (f Folder) check() error {
	if err := trust.Dir(string(f)); err != nil {
		return err
	}
	info, err := os.Stat(string(f))
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); os.PathSeparator == '/' && mode&0o077 != 0 {
		return &trust.Error{Path: string(f), Reason: fmt.Sprintf("others may enter it (mode %#o)", mode), Help: "make it private with: chmod 700 " + string(f)}
	}
	return nil
}

// Announce says that a server runs; the caller has the lock.
func (f Folder) Announce(n Note) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return filememo.Replace(f.note(), text)
}

// Withdraw says that the server has ended.
func (f Folder) Withdraw() { _ = os.Remove(f.note()) }

// Running is what the server that runs in the folder says of itself; false where none
// does.
func (f Folder) Running() (Note, bool) {
	var n Note
	if err := f.check(); err != nil {
		return n, false
	}
	text, err := trust.ReadFile(f.note())
	if err != nil || json.Unmarshal(text, &n) != nil {
		return n, false
	}
	return n, f.held()
}

// held reports whether a server has the folder's lock: one that was killed does not.
func (f Folder) held() bool {
	lock := f.lock()
	free, err := lock.TryRLock()
	if free {
		_ = lock.Unlock()
	}
	return err == nil && !free
}

// starting bounds how long a server may take to start. It reads what it was given before.
const starting = 20 * time.Second

// Start starts the program, unless a server runs, and returns what it says of itself. The
// server ends with this process.
func (f Folder) Start(ctx context.Context, program string) (Note, error) {
	if n, ok := f.Running(); ok {
		return n, nil
	}
	cmd := exec.Command(program, "--dir", string(f), "--"+UntilEOF)
	var said strings.Builder
	cmd.Stderr = &said
	lifeline, err := cmd.StdinPipe()
	if err != nil {
		return Note{}, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return Note{}, err
	}
	if err := cmd.Start(); err != nil {
		return Note{}, err
	}
	ready, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		line, err := bufio.NewReader(out).ReadString('\n')
		isReady := err == nil && line == "ready\n"
		if isReady {
			ready <- nil
		}
		_, _ = io.Copy(io.Discard, out)
		err = cmd.Wait()
		if !isReady {
			ready <- fmt.Errorf("%s ended: %w\n%s", program, err, strings.TrimSpace(said.String()))
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case err = <-ready:
		case <-ctx.Done():
			err = fmt.Errorf("%s: %w", program, ctx.Err())
			_ = cmd.Process.Kill()
		case <-look.C:
		}
		if n, ok := f.Running(); ok {
			keep(lifeline, ended)
			return n, nil // of another who was faster, perhaps: ours has ended then
		}
		if err != nil && (ctx.Err() != nil || !f.held()) {
			lifeline.Close()
			return Note{}, err
		}
	}
}
