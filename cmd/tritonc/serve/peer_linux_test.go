package serve

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// asStranger runs do on a thread that is another user, and ends that thread.
func asStranger(t *testing.T, do func() error) {
	t.Helper()
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocks it
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), strangerID, ^uintptr(0)); errno != 0 {
			failed <- errno
			return
		}
		failed <- do()
	}()
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
}

// TestPeers: even through a folder that lets everybody in, neither end speaks with
// another user's process.
func TestPeers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	dir := shortDir(t)
	socket := filepath.Join(dir, "s")
	said := make(chan string, 1)
	l, err := listen(socket, func(format string, args ...any) { said <- args[0].(error).Error() })
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for path, mode := range map[string]os.FileMode{dir: 0o755, socket: 0o777} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	accepted := make(chan net.Conn)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	var stranger net.Conn
	asStranger(t, func() (err error) { stranger, err = net.Dial("unix", socket); return err })
	if text := <-said; !strings.Contains(text, "another user's (65534)") {
		t.Errorf("the server says %q", text)
	}
	if n, err := stranger.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("the stranger read %d bytes, %v", n, err)
	}
	own, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkPeer(own); err != nil {
		t.Error(err)
	}
	(<-accepted).Close()

	// And a server that is another user's.
	var foreign net.Listener
	at := filepath.Join(dir, "foreign")
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	asStranger(t, func() (err error) { foreign, err = net.Listen("unix", at); return err })
	defer foreign.Close()
	c, err := net.Dial("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkPeer(c); err == nil || !strings.Contains(err.Error(), "another user's (65534)") {
		t.Errorf("a server of another user: %v", err)
	}
}
