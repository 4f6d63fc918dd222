//go:build unix

package sdk

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

func sh(script string, args ...string) Command {
	return Command{Path: "sh", Args: append([]string{"-c", script}, args...)}
}

func TestCommand(t *testing.T) {
	c := sh("cat; echo err >&2; exit 3")
	c.Stdin = []byte("text")
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if string(r.Stdout) != "text" || string(r.Stderr) != "err\n" || r.ExitCode != 3 || r.OK() || r.Status() != "exit status 3" {
		t.Errorf("got %+v, %s", r, r.Status())
	}
	if r.Wall <= 0 {
		t.Errorf("wall time %v", r.Wall)
	}
	r, err = sh("kill -SEGV $$").Run(t.Context())
	if err != nil || r.OK() || r.Status() != "signal: segmentation fault" {
		t.Errorf("got %+v, %v", r, err)
	}
	if _, err = (Command{Path: "/no/such/tool"}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "/no/such/tool") {
		t.Errorf("got %v", err)
	}
}

func TestCommandString(t *testing.T) {
	c := Command{Path: "/usr/bin/as", Args: []string{"-o", "a b", "", "it's", "--gpu-name=sm_90a"}}
	if got, want := c.String(), `/usr/bin/as -o 'a b' '' 'it'\''s' --gpu-name=sm_90a`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	out, err := exec.Command("sh", "-c", "printf '%s|' "+c.String()).Output()
	if err != nil || string(out) != "/usr/bin/as|-o|a b||it's|--gpu-name=sm_90a|" {
		t.Errorf("the shell reads %q, %v", out, err)
	}
}

// TestCommandTimeout: the tool and what it started are ended.
func TestCommandTimeout(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	c := sh(`sleep 60 & echo $! > "$0"; wait`, file)
	c.Timeout = 300 * time.Millisecond
	start := time.Now()
	_, err := c.Run(t.Context())
	var timeout *TimeoutError
	if !errors.As(err, &timeout) || !strings.Contains(err.Error(), "300ms") {
		t.Errorf("got %v", err)
	}
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("it took %s", d)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Second); running(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the tool's child lives on")
		}
	}
}

func running(pid int) bool {
	if runtime.GOOS == "linux" {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err == nil && !strings.Contains(string(stat), ") Z ")
	}
	return exec.Command("sh", "-c", "kill -0 "+strconv.Itoa(pid)).Run() == nil
}

func TestCommandCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := sh("sleep 60").Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestCommandMemoryLimit(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("made for Linux")
	}
	// The shell waits a little, for the limit comes just after its start, and
	// then doubles a string beyond it.
	c := sh(`sleep 0.1; s=xxxxxxxxxxxxxxxx; i=0; while [ $i -lt 26 ]; do s=$s$s; i=$((i+1)); done; echo ${#s}`)
	c.MemoryLimit = 64 << 20
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.OK() {
		t.Errorf("a string of 1 GiB under a limit of 64 MiB: %s", r.Stdout)
	}
}

// TestKillAll: what the lifeline's end does to tools, in a set of its own.
func TestKillAll(t *testing.T) {
	var set toolSet
	cmd := exec.Command("sleep", "60")
	setGroup(cmd)
	done := make(chan error)
	go func() { done <- runOnOneThread(func() error { return set.run(cmd, 0) }) }()
	for {
		set.mu.Lock()
		n := len(set.running)
		set.mu.Unlock()
		if n == 1 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	set.killAll()
	if err := <-done; err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("got %v", err)
	}
	if err := set.run(exec.Command("true"), 0); !errors.Is(err, errClosing) {
		t.Errorf("a tool after the end: %v", err)
	}
}
