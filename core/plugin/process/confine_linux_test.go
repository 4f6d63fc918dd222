package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"
)

// probeVar makes the tests' program one that tries what the variable says and
// tells how that ended.
const probeVar = "TRITONC_TEST_PROBE"

func TestMain(m *testing.M) {
	Trampoline()
	if what, ok := os.LookupEnv(probeVar); ok {
		name, arg, _ := strings.Cut(what, " ")
		err := probes[name](arg)
		var errno syscall.Errno
		switch {
		case err == nil:
			fmt.Println("fine")
		case errors.As(err, &errno):
			fmt.Println(unix.ErrnoName(errno))
		default:
			fmt.Println(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var probes = map[string]func(arg string) error{
	"read":        func(path string) error { _, err := os.ReadFile(path); return err },
	"list":        func(path string) error { _, err := os.ReadDir(path); return err },
	"write":       func(path string) error { return os.WriteFile(path, []byte("new"), 0o600) },
	"remove":      os.Remove,
	"truncate":    func(path string) error { return os.Truncate(path, 0) },
	"chmod":       func(path string) error { return os.Chmod(path, 0o644) },
	"chown":       func(path string) error { return os.Chown(path, 1, 1) },
	"touch":       func(path string) error { return os.Chtimes(path, time.Now(), time.Now()) },
	"link":        func(path string) error { return os.Link(path, path+"-2") },
	"rename":      func(path string) error { return os.Rename(path, path+"-2") },
	"run":         func(path string) error { return exec.Command(path).Run() },
	"dial":        func(addr string) error { _, err := net.Dial("tcp", addr); return err },
	"dial-unix":   func(path string) error { _, err := net.Dial("unix", path); return err },
	"listen-tcp":  func(addr string) error { _, err := net.Listen("tcp", addr); return err },
	"listen-udp":  func(addr string) error { _, err := net.ListenPacket("udp", addr); return err },
	"listen-unix": func(path string) error { _, err := net.Listen("unix", path); return err },
	"datagram":    func(string) error { _, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0); return err },
	"datagram-pair": func(string) error {
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		return err
	},
	"pair": func(string) error {
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		return err
	},
	"netlink":  func(string) error { _, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, 0); return err },
	"io_uring": func(string) error { _, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0); return errno },
	"new-user": func(string) error {
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
		return cmd.Run()
	},
	"terminal": func(path string) error { // opens and controls a device
		f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPTN)
		return err
	},
	"shared-memory": func(string) error {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600)
		if err == nil {
			_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		}
		return err
	},
	"signal": func(pid string) error {
		n, err := strconv.Atoi(pid)
		if err != nil {
			return err
		}
		return unix.Kill(n, 0)
	},
	"ptrace": func(pid string) error {
		n, err := strconv.Atoi(pid)
		if err != nil {
			return err
		}
		return unix.PtraceAttach(n)
	},
	"environ": func(pid string) error { _, err := os.ReadFile("/proc/" + pid + "/environ"); return err },
	"shell": func(script string) error {
		out, err := exec.Command("sh", "-c", script).CombinedOutput()
		fmt.Print(string(out))
		return err
	},
	"capabilities": func(string) error {
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(status)) {
			if key, value, _ := strings.Cut(line, ":"); key == "CapEff" || key == "CapPrm" || key == "CapBnd" || key == "NoNewPrivs" {
				fmt.Println(key, strings.TrimSpace(value))
			}
		}
		return nil
	},
	"allocate": func(mib string) error {
		n, err := strconv.Atoi(mib)
		if err != nil {
			return err
		}
		block := make([]byte, n<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		runtime.KeepAlive(block)
		return nil
	},
	"collect": func(mib string) error { // little is alive at any time
		n, err := strconv.Atoi(mib)
		if err != nil {
			return err
		}
		for i := range n {
			block := make([]byte, 1<<20)
			block[n] = 1
			if i%32 == 31 { // on a busy machine the collector may come too late by itself
				runtime.GC()
			}
		}
		return nil
	},
}

// confined runs a probe under limits and returns what it says.
func confined(t testing.TB, c Confine, writable []string, probe string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), probeVar+"="+probe)
	if err := c.trampoline(cmd, writable, nil); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return strings.TrimSpace(string(out)) + " (" + err.Error() + ")"
	}
	return strings.TrimSpace(string(out))
}

func needSandbox(t testing.TB) {
	t.Helper()
	if err := confineLacks(true); err != nil {
		t.Skip(err)
	}
}

// TestSandbox: what may be done inside and what not. Each is done without it, too,
// for what fails there says nothing.
func TestSandbox(t *testing.T) {
	if underRace {
		t.Skip("the race detector does not fit within the limits that this tests")
	}
	needSandbox(t)
	dir := t.TempDir()
	path := func(elem ...string) string { return filepath.Join(append([]string{dir}, elem...)...) }
	for _, d := range []string{"home", "tools", "temp"} {
		if err := os.Mkdir(path(d), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path(d, "file"), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path(d, "program"), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	socket, err := net.Listen("unix", path("temp", "other"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	abstract, err := net.Listen("unix", "@tritonc-test-"+strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	sleeper := exec.Command("sleep", "60")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { sleeper.Process.Kill(); sleeper.Wait() }()
	pid := strconv.Itoa(sleeper.Process.Pid)

	box := Confine{Sandbox: &Sandbox{Read: []string{path("tools"), path("none")}}}
	for _, tt := range []struct{ probe, want string }{
		{"read " + path("home", "file"), "EACCES"},
		{"list " + path("home"), "EACCES"},
		{"run " + path("home", "program"), "EACCES"},
		{"write " + path("home", "file"), "EACCES"},
		{"write " + path("home", "new"), "EACCES"},
		{"remove " + path("home", "new"), "EACCES"},
		{"truncate " + path("home", "file"), "EACCES"},
		{"link " + path("home", "file"), "EACCES"},
		{"rename " + path("home", "file-2"), "EACCES"},
		{"chmod " + path("home", "file"), "EPERM"},
		{"chown " + path("home", "file"), "EPERM"},
		{"touch " + path("home", "file"), "EPERM"},

		{"read " + path("tools", "file"), "fine"},
		{"list " + path("tools"), "fine"},
		{"run " + path("tools", "program"), "fine"},
		{"write " + path("tools", "file"), "EACCES"},

		{"read " + path("temp", "file"), "fine"},
		{"list " + path("temp"), "fine"},
		{"write " + path("temp", "new"), "fine"},
		{"truncate " + path("temp", "new"), "fine"},
		{"rename " + path("temp", "new"), "fine"},
		{"remove " + path("temp", "new-2"), "fine"},
		{"chmod " + path("temp", "file"), "EPERM"},
		{"listen-unix " + path("temp", "mine"), "fine"},

		{"read /proc/self/status", "fine"},
		{"write /dev/full", "ENOSPC"},
		{"environ " + pid, "EACCES"},
		{"shell exit 0", "fine"},

		{"dial " + tcp.Addr().String(), "EACCES"},
		{"dial-unix " + path("temp", "other"), "EPERM"},
		{"dial-unix " + abstract.Addr().String(), "EPERM"},
		{"listen-tcp 127.0.0.1:0", "EACCES"},
		{"listen-udp 127.0.0.1:0", "EACCES"},
		{"datagram", "EACCES"},
		{"datagram-pair", "EACCES"},
		{"pair", "fine"},
		{"netlink", "EACCES"},
		{"io_uring", "EPERM"},
		{"new-user", "EPERM"},
		{"shared-memory", "EPERM"},
		{"signal " + pid, "EPERM"},
		{"ptrace " + pid, "EPERM"},
	} {
		if strings.HasPrefix(tt.probe, "signal") && landlockVersion() < 6 {
			continue
		}
		if got := confined(t, box, []string{path("temp")}, tt.probe); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.probe, got, tt.want)
		}
		if tt.want == "EACCES" || tt.want == "EPERM" {
			if got := probe(t, tt.probe); got == tt.want && tt.probe != "io_uring" {
				t.Errorf("%s: %s also without a sandbox, so nothing was tested", tt.probe, got)
			}
		}
	}
	if got := confined(t, box, nil, "capabilities"); os.Geteuid() == 0 && strings.Count(got, " 0000000000000000") != 3 || !strings.Contains(got, "NoNewPrivs 1") {
		t.Errorf("got\n%s", got)
	}
}

// probe is what a probe says without limits.
func probe(t testing.TB, what string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), probeVar+"="+what)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// TestSandboxDevices: of devices, those that are listed can be opened and controlled.
func TestSandboxDevices(t *testing.T) {
	needSandbox(t)
	const device = "/dev/ptmx"
	probe := "terminal " + device
	if got := confined(t, Confine{}, nil, probe); got != "fine" {
		t.Skipf("%s: %s", device, got)
	}
	for _, dir := range []string{device, "/dev"} {
		if got := confined(t, Confine{Sandbox: &Sandbox{Devices: []string{dir}}}, nil, probe); got != "fine" {
			t.Errorf("with %s: %s", dir, got)
		}
	}
	if got := confined(t, Confine{Sandbox: &Sandbox{}}, nil, probe); got != "EACCES" {
		t.Errorf("without it: %s", got)
	}
}

// TestMemory: a process gets no more than its bound, and all that is below it.
func TestMemory(t *testing.T) {
	if underRace {
		t.Skip("the race detector does not fit within the limits that this tests")
	}
	c := Confine{Memory: 256 << 20}
	if got := confined(t, c, nil, "allocate 128"); got != "fine" {
		t.Errorf("half of it: %s", got)
	}
	if got := confined(t, c, nil, "collect 1000"); got != "fine" {
		t.Errorf("garbage: %s", got)
	}
	// Go's runtime ends by a message or, where its collector gets none, by a fault.
	if got := confined(t, c, nil, "allocate 512"); !strings.HasSuffix(got, "(exit status 2)") {
		t.Errorf("twice as much: %s", got)
	}
	// A process that it starts has the bound, too.
	if got := confined(t, c, nil, "shell ulimit -d"); got != "262144\nfine" {
		t.Errorf("its child's bound: %s", got)
	}
}

// TestFeasible: what the system or the program lacks is an error, or with Try a
// warning.
func TestFeasible(t *testing.T) {
	var log strings.Builder
	logger := hclog.New(&hclog.LoggerOptions{Output: &log})
	trampolineReady.Store(false)
	_, err := Confine{Memory: 1}.feasible(logger)
	trampolineReady.Store(true)
	if !errors.Is(err, errNoTrampoline) {
		t.Errorf("a main without the call: %v", err)
	}
	if c, err := (Confine{Try: true}).feasible(logger); err != nil || c.Memory != 0 || c.Sandbox != nil || log.Len() > 0 {
		t.Errorf("nothing: %+v, %v, %s", c, err, log.String())
	}
}

// TestScriptByDescriptor: an interpreter reads the script that was checked.
func TestScriptByDescriptor(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "script")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho checked\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	sum, err := FileSum(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []Expected{{By: "a list", Sums: []string{strings.ToUpper(sum)}}}
	for _, memory := range []int64{0, 1 << 30} {
		file, err := openChecked(path, want)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(path)
		if memory > 0 {
			if err := (Confine{Memory: memory}).trampoline(cmd, nil, file); err != nil {
				t.Fatal(err)
			}
		} else {
			cmd.Path = file.execPath(path)
		}
		// Somebody is quick.
		if err := os.Rename(path, path+".old"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho swapped\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != "checked\n" {
			t.Errorf("memory %d: got %q, %v", memory, out, err)
		}
		if err := file.unchanged(path); err == nil {
			t.Error("its name's change is a change of the file, and was not seen")
		}
		file.file.Close()
		if err := os.Rename(path+".old", path); err != nil {
			t.Fatal(err)
		}
	}
	_, err = openChecked(path, []Expected{{By: "tritonc.lock", Sums: []string{"00"}}})
	if err == nil || !strings.Contains(err.Error(), sum) || !strings.Contains(err.Error(), "tritonc.lock has 00") {
		t.Errorf("another sum: %v", err)
	}
	if _, err := openChecked(path+"-none", want); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestBounceSpec: what the trampoline is told survives the way.
func TestBounceSpec(t *testing.T) {
	cmd := exec.Command("/bin/true")
	c := Confine{Memory: 5, Sandbox: &Sandbox{Read: []string{"tools"}, Write: []string{"/w"}}}
	if err := c.trampoline(cmd, []string{"/t"}, nil); err != nil {
		t.Fatal(err)
	}
	var spec bounceSpec
	if err := json.Unmarshal([]byte(cmd.Args[2]), &spec); err != nil {
		t.Fatal(err)
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	read, write := strings.Join(spec.Sandbox.Read, " "), strings.Join(spec.Sandbox.Write, " ")
	if spec.Path != "/bin/true" || spec.Memory != 5 || !strings.HasPrefix(read, "/bin "+filepath.Join(wd, "tools")) || write != "/t /w" {
		t.Errorf("got %+v", spec)
	}
}

// BenchmarkTrampoline is a program's start and end, bare, with a limit of memory,
// and in a sandbox.
func BenchmarkTrampoline(b *testing.B) {
	needSandbox(b)
	for _, c := range []struct {
		name    string
		confine *Confine
	}{
		{"bare", nil}, {"memory", &Confine{Memory: 1 << 30}}, {"sandbox", &Confine{Sandbox: &Sandbox{}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command("/bin/true")
				if c.confine != nil {
					if err := c.confine.trampoline(cmd, nil, nil); err != nil {
						b.Fatal(err)
					}
				}
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
