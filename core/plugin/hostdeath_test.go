package plugin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// actAsHost is the test binary as a host to be killed: it starts the backend in
// dir, prints the plugin's process number and socket folder, and runs a tool
// that never ends.
func actAsHost(args []string) {
	h := New(Options{Dirs: args[:1], LookupEnv: homeless})
	b, err := h.Backend("works")
	if err != nil {
		panic(err)
	}
	pid, err := run(context.Background(), b, "pid", "")
	if err != nil {
		panic(err)
	}
	socket, err := run(context.Background(), b, "socket", "")
	if err != nil {
		panic(err)
	}
	fmt.Println(pid, socket)
	_, err = run(context.Background(), b, "tool", args[1])
	fmt.Println("BUG: the tool ended:", err)
}

// TestHostKilled: when the host dies by SIGKILL its plugin, the plugin's tool
// and the socket are gone within a second.
func TestHostKilled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("made for Unix")
	}
	toolFile := filepath.Join(t.TempDir(), "pid")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := exec.Command(self, "act-as-host", testBackend(t, "works"), toolFile)
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	host.Stderr = os.Stderr
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pidText, socket, _ := strings.Cut(strings.TrimSpace(line), " ")
	pid, err := strconv.Atoi(pidText)
	if err != nil {
		t.Fatal(err)
	}
	tool := awaitPid(t, toolFile)
	if !alive(pid) || !alive(tool) {
		t.Fatal("the plugin or the tool is not there to be killed")
	}
	if _, err := os.Stat(socket); err != nil {
		t.Fatal(err)
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	host.Wait()
	start := time.Now()
	await(t, time.Second, func() bool {
		_, err := os.Stat(socket)
		return !alive(pid) && !alive(tool) && os.IsNotExist(err)
	})
	t.Logf("all gone after %s", time.Since(start).Round(time.Millisecond))
}

// TestPluginKilledTakesTool: a plugin killed by SIGKILL cannot end its tool; on
// Linux the kernel does.
func TestPluginKilledTakesTool(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("made for Linux")
	}
	_, b := testHost(t, "works", Options{})
	pid, _ := strconv.Atoi(mustRun(t, b, "pid", ""))
	file := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := run(ctx, b, "tool", file)
		done <- err
	}()
	tool := awaitPid(t, file)
	kill(t, pid)
	await(t, time.Second, func() bool { return !alive(tool) })
	cancel() // another one has been started meanwhile
	if err := <-done; err == nil {
		t.Error("no error")
	}
}

// TestCloseStopped: a plugin that does not react at all is killed.
func TestCloseStopped(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("made for Unix")
	}
	h, b := testHost(t, "works", Options{})
	pid, _ := strconv.Atoi(mustRun(t, b, "pid", ""))
	if err := exec.Command("sh", "-c", "kill -STOP "+strconv.Itoa(pid)).Run(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	h.Close()
	if d := time.Since(start); d > 3*time.Second {
		t.Errorf("closing took %s", d)
	}
	if alive(pid) {
		t.Error("it is still there")
	}
}

// TestInheritedOutputs: something that a backend left behind holds its outputs
// open; neither its crash nor Close waits for that.
func TestInheritedOutputs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("made for Unix")
	}
	h, b := testHost(t, "works", Options{})
	file := filepath.Join(t.TempDir(), "pid")
	mustRun(t, b, "leave-behind", file)
	left := awaitPid(t, file)
	defer kill(t, left)
	start := time.Now()
	_, err := run(t.Context(), b, "exit", "")
	var crash *CrashError
	if !errors.As(err, &crash) {
		t.Errorf("got %v", err)
	}
	if d := time.Since(start); d > time.Second {
		t.Errorf("the error took %s", d)
	}
	mustRun(t, b, "echo", "anew")
	start = time.Now()
	h.Close()
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("closing took %s", d)
	}
	if !alive(left) {
		t.Error("what was left behind is gone, so nothing was tested")
	}
}

// alive reports whether a process runs. One that has ended but that nobody has
// waited for (its parent was killed and there may be no init) does not.
func alive(pid int) bool {
	if runtime.GOOS == "linux" {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
	}
	p, err := os.FindProcess(pid)
	return err == nil && (runtime.GOOS == "windows" || p.Signal(syscall.Signal(0)) == nil)
}

// kill ends a process without a word: SIGKILL where there are signals.
func kill(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
}

// TestShutdown: a plugin that was asked to end leaves no folder behind, even if
// its host does not come to that any more.
func TestShutdown(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("made for Unix")
	}
	dir := filepath.Join(t.TempDir(), "sockets")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(testBackend(t, "works"), Prefix+"works"))
	cmd.Env = append(os.Environ(),
		host.Handshake.MagicCookieKey+"="+host.Handshake.MagicCookieValue,
		fmt.Sprintf("PLUGIN_PROTOCOL_VERSIONS=%d", host.ProtocolVersion), goplugin.EnvUnixSocketDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient("unix:"+strings.Split(line, "|")[3], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// Its answer may be lost with the process.
	err = conn.Invoke(t.Context(), "/plugin.GRPCController/Shutdown", &emptypb.Empty{}, &emptypb.Empty{})
	if code := status.Code(err); code != codes.OK && code != codes.Unavailable {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of its socket: %v", err)
	}
}
