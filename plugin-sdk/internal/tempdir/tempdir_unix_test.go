//go:build unix

package tempdir

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sweepHelper makes the test's program one that makes a folder, says its name and
// waits to be killed.
const sweepHelper = "TRITONC_TEST_SWEEP"

func TestMain(m *testing.M) {
	if base := os.Getenv(sweepHelper); base != "" {
		dir, err := temps.make(base, "tool")
		if err != nil {
			panic(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "kernel.ptx"), []byte("text"), 0o600); err != nil {
			panic(err)
		}
		os.Stdout.WriteString(dir + "\n")
		time.Sleep(time.Minute)
	}
	os.Exit(m.Run())
}

// TestSweep: folders of processes that are gone go, and no others.
func TestSweep(t *testing.T) {
	if thisMachine() == "" {
		t.Skip("the system has no name of its run, without which nothing is swept")
	}
	base := t.TempDir()
	start := func() (dir string, kill func()) {
		t.Helper()
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), sweepHelper+"="+base)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill = func() { cmd.Process.Kill(); cmd.Wait() }
		t.Cleanup(kill)
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(line), kill
	}
	live, _ := start()
	dead, kill := start()
	kill()

	machine := ownerMagic + thisMachine() + "\n"
	folder := func(name, owner string, mode os.FileMode) string {
		t.Helper()
		dir := filepath.Join(base, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if owner != "" {
			if err := os.WriteFile(filepath.Join(dir, ownerFile), []byte(owner), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	old := func(dir string) string {
		long := time.Now().Add(-2 * emptyAfter)
		if err := os.Chtimes(dir, long, long); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	keep := []string{
		live,
		folder("other-1", machine, 0o700),
		folder("tritonc-for-all", machine, 0o755),
		folder("tritonc-of-another-machine", ownerMagic+"0123\n", 0o700),
		folder("tritonc-more", machine+"x", 0o700),
		folder("tritonc-just-made", "", 0o700),
		old(folder("tritonc-user", "the user's own", 0o700)),
	}
	full := folder("tritonc-full", "", 0o700)
	if err := os.WriteFile(filepath.Join(full, "thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	keep = append(keep, old(full))
	link := filepath.Join(base, "tritonc-link")
	if err := os.Symlink(keep[1], link); err != nil {
		t.Fatal(err)
	}
	fifo := folder("tritonc-pipe", "", 0o700)
	if err := syscall.Mkfifo(filepath.Join(fifo, ownerFile), 0o600); err != nil {
		t.Fatal(err)
	}
	keep = append(keep, link, fifo)
	gone := []string{dead, folder("tritonc-dead", machine, 0o700), old(folder("tritonc-empty", "", 0o700))}
	if os.Geteuid() == 0 {
		foreign := folder("tritonc-foreign", machine, 0o700)
		if err := os.Chown(foreign, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		keep = append(keep, foreign)
	} else {
		t.Log("not root: no folder of another user is tried")
	}

	var s tempSet
	mine, err := s.make(base, "tool")
	if err != nil {
		t.Fatal(err)
	}
	sweep(base) // another process's
	for _, dir := range append(keep, mine) {
		if _, err := os.Lstat(dir); err != nil {
			t.Errorf("%s is gone: %v", filepath.Base(dir), err)
		}
	}
	for _, dir := range gone {
		if _, err := os.Lstat(dir); err == nil {
			t.Errorf("%s is still there", filepath.Base(dir))
		}
	}
	s.remove(mine)
	if _, err := os.Lstat(mine); err == nil {
		t.Error("remove left the folder")
	}
}

// TestInside: a folder in one of ours needs no owner, and is swept with it.
func TestInside(t *testing.T) {
	if thisMachine() == "" {
		t.Skip("the system has no name of its run, without which nothing is swept")
	}
	base := t.TempDir()
	var host, plugin tempSet
	outer, err := host.make(base, "p")
	if err != nil {
		t.Fatal(err)
	}
	inner, err := plugin.make(outer, "tool")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(outer, ownerFile)); err != nil {
		t.Error(err)
	}
	if files, err := os.ReadDir(inner); err != nil || len(files) > 0 {
		t.Errorf("in it are %v, %v", files, err)
	}
	host.dirs[outer].release() // as when the process is killed
	sweep(base)
	if left, err := os.ReadDir(base); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
