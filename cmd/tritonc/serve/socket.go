package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/tritonc/tritonc/core/trust"
)

// socketName is that of the socket in its folder.
const socketName = "serve.sock"

// longestPath is how long the path of a socket may be on the narrowest system, less its
// end.
const longestPath = 103

// SocketPath is where a user's server listens whom nobody tells otherwise: in the folder
// of what runs for the user, else in the one of caches. It is empty for a user who has
// neither.
func SocketPath(lookupEnv func(string) (string, bool)) string {
	dir := func(name string) string {
		if d, _ := lookupEnv(name); filepath.IsAbs(d) {
			return d
		}
		return ""
	}
	if d := dir("XDG_RUNTIME_DIR"); d != "" {
		return filepath.Join(d, "tritonc", socketName)
	}
	if d := dir("XDG_CACHE_HOME"); d != "" {
		return filepath.Join(d, "tritonc", "serve", socketName)
	}
	if d := dir("HOME"); d != "" {
		return filepath.Join(d, ".cache", "tritonc", "serve", socketName)
	}
	return ""
}

// checkFolder refuses a folder that others may enter, or that is another user's.
func checkFolder(dir string) error {
	if err := trust.Dir(dir); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return &trust.Error{Path: dir, Reason: fmt.Sprintf("others may enter it (mode %#o)", mode), Help: "make it private with: chmod 700 " + dir}
	}
	return nil
}

// listener is a socket that only its user's processes get through to.
type listener struct {
	net.Listener
	lock *flock.Flock
	log  func(format string, args ...any)
}

// ErrRunning is the error of Listen where a server listens already.
var ErrRunning = errors.New("a server is there already")

// listen makes the socket at path, and its folder if need be. What a server that was
// killed has left there is replaced.
func listen(path string, log func(format string, args ...any)) (*listener, error) {
	if !supported {
		return nil, errors.New("a server needs sockets that tell whose process is at the other end, which this system lacks")
	}
	if len(path) > longestPath {
		return nil, fmt.Errorf("%s: the path of a socket may have %d bytes\n  help: name a shorter one with --socket", path, longestPath)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := checkFolder(dir); err != nil {
		return nil, withHelp(err)
	}
	// Who holds the lock may take a socket away: the system lets go of it when its
	// process ends, however that does.
	lock := flock.New(path + ".lock")
	held, err := lock.TryLock()
	if err != nil {
		return nil, err
	}
	if !held {
		pid, _ := os.ReadFile(lock.Path())
		return nil, fmt.Errorf("%w: process %s, at %s\n  help: tritonc serve --stop ends it", ErrRunning, strings.TrimSpace(string(pid)), path)
	}
	l, err := bind(path)
	if err == nil {
		err = os.WriteFile(lock.Path(), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &listener{l, lock, log}, nil
}

// bind makes the socket, in the place of one that nobody listens to.
func bind(path string) (net.Listener, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s is there, and is not a socket\n  help: remove it, or name another place with --socket", path)
	default:
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	return net.Listen("unix", path)
}

// Accept waits for a client that is the same user.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if err := checkPeer(c); err != nil {
			l.log("a connection is refused: %v", err)
			c.Close()
			continue
		}
		return c, nil
	}
}

// Close takes the socket away before anybody else may make one there.
func (l *listener) Close() error { return errors.Join(l.Listener.Close(), l.lock.Close()) }

// checkPeer refuses a connection with another user's process.
func checkPeer(c net.Conn) error {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("BUG: a connection is a %T", c)
	}
	uid, err := peerUser(uc)
	if err != nil {
		return fmt.Errorf("whose process is at the other end is not known: %w", err)
	}
	if uid != os.Geteuid() {
		return fmt.Errorf("the process at the other end is another user's (%d)", uid)
	}
	return nil
}

// withHelp puts the next step of a *trust.Error into its text.
func withHelp(err error) error {
	var bad *trust.Error
	if errors.As(err, &bad) && bad.Help != "" {
		return fmt.Errorf("%w\n  help: %s", err, bad.Help)
	}
	return err
}

// ErrNoServer is the error of Dial where nobody listens.
var ErrNoServer = errors.New("no server is running")

// connect opens a connection with the server at path.
func connect(path string) (net.Conn, error) {
	if _, err := os.Lstat(path); err != nil || !supported {
		return nil, ErrNoServer // no folder is looked at for what is not there
	}
	if err := checkFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		return nil, ErrNoServer // nobody listens any more
	}
	if err := checkPeer(c); err != nil {
		return nil, errors.Join(&trust.Error{Path: path, Reason: err.Error(), Help: "remove it"}, c.Close())
	}
	return c, nil
}

// awaitEnd waits until the server that listened at path does no more.
func awaitEnd(ctx context.Context, path string) error {
	lock := flock.New(path + ".lock")
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return err
	}
	return lock.Close()
}
