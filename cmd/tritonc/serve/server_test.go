package serve

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tritonc/tritonc/core/plugin"
	"github.com/tritonc/tritonc/core/trust"
)

// shortDir is a folder of the test with a name that leaves room for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	if !supported {
		t.Skip("this system has no such sockets")
	}
	dir, err := os.MkdirTemp("", "serve")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// testServer is a server whose Serve gives its error to over.
func testServer(t *testing.T, cfg Config) (socket string, over chan error) {
	t.Helper()
	cfg.Socket, cfg.Build, cfg.Jobs = filepath.Join(shortDir(t), "s"), "b", 1
	cfg.Backends, cfg.Log = func() []plugin.Running { return nil }, t.Logf
	s, err := Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	over = make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() { over <- s.Serve(ctx) }()
	return cfg.Socket, over
}

// noSink takes nothing.
type noSink struct{}

func (noSink) Stdout([]byte) error             { return nil }
func (noSink) Stderr([]byte) error             { return nil }
func (noSink) WriteFiles(string, []File) error { return nil }
func (noSink) Progress(int, int)               {}

func dial(t *testing.T, socket string) *Client {
	t.Helper()
	c, err := Dial(socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestStopLetsCallsEnd: what is under way ends as ever, and nobody is served after it.
func TestStopLetsCallsEnd(t *testing.T) {
	began, goOn := make(chan bool), make(chan bool)
	socket, over := testServer(t, Config{Handle: func(context.Context, *Call) int {
		began <- true
		<-goOn
		return 7
	}})
	caller := dial(t, socket)
	code := make(chan int, 1)
	go func() {
		n, err := caller.Compile(t.Context(), &Request{Build: "b", Dir: "/"}, noSink{})
		if err != nil {
			t.Error(err)
		}
		code <- n
	}()
	<-began
	if err := dial(t, socket).Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(socket); !errors.Is(err, ErrNoServer) {
		t.Errorf("after a stop: %v", err)
	}
	select {
	case err := <-over:
		t.Fatalf("it ended before its call: %v", err)
	default:
	}
	close(goOn)
	if n := <-code; n != 7 {
		t.Errorf("code %d", n)
	}
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// TestIdleCountsCalls: a server with a call under way is not idle.
func TestIdleCountsCalls(t *testing.T) {
	const idle = time.Millisecond
	socket, over := testServer(t, Config{Idle: time.Hour, Handle: func(context.Context, *Call) int { return 0 }})
	caller := dial(t, socket)
	if _, err := caller.Compile(t.Context(), &Request{Build: "b", Dir: "/"}, noSink{}); err != nil {
		t.Fatal(err)
	}
	if err := caller.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-over
	var began bool
	socket, over = testServer(t, Config{Idle: idle, Handle: func(ctx context.Context, _ *Call) int {
		began = true
		select { // many times as long
		case <-ctx.Done():
			return 1
		case <-time.After(20 * idle):
			return 0
		}
	}})
	// It may have ended before anybody came.
	if c, err := Dial(socket); err == nil {
		code, err := c.Compile(t.Context(), &Request{Build: "b", Dir: "/"}, noSink{})
		if err != nil && began || code != 0 {
			t.Errorf("code %d, %v", code, err)
		}
		c.Close()
	}
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// TestRefusals: a request from elsewhere is told why it is not served.
func TestRefusals(t *testing.T) {
	socket, _ := testServer(t, Config{Handle: func(context.Context, *Call) int { return 0 }})
	for want, req := range map[string]*Request{
		"another build":             {Build: "other", Dir: "/"},
		"no such file or directory": {Build: "b", Dir: filepath.Join(filepath.Dir(socket), "none")},
	} {
		_, err := dial(t, socket).Compile(t.Context(), req, noSink{})
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(refused.Reason, want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	status, err := dial(t, socket).Status(t.Context())
	if err != nil || status.Requests[resultRefused] != 1 { // the other one its client knew
		t.Errorf("%+v, %v", status, err)
	}
}

// TestForeignFolder: neither end uses a folder that is another user's or open to others.
func TestForeignFolder(t *testing.T) {
	dir := shortDir(t)
	socket := filepath.Join(dir, "s")
	quiet := func(string, ...any) {}
	l, err := listen(socket, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	refused := func(want string) {
		t.Helper()
		var bad *trust.Error
		if _, err := Dial(socket); !errors.As(err, &bad) || !strings.Contains(bad.Reason, want) || bad.Help == "" {
			t.Errorf("the client: %v, want %s", err, want)
		}
		if _, err := listen(filepath.Join(dir, "other"), quiet); !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("the server: %v, want %s", err, want)
		}
	}
	for _, mode := range []os.FileMode{0o710, 0o755, 0o777} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		refused(map[bool]string{true: "may be written by others", false: "others may enter it"}[mode == 0o777])
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 && runtime.GOOS != "windows" {
		if err := os.Chown(dir, strangerID, -1); err != nil {
			t.Fatal(err)
		}
		refused("belongs to another user")
	}
}

// strangerID is a user that the test is not.
const strangerID = 65534
