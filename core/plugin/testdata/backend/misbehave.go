//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// misbehave does what a mode has in store before the program becomes a plugin.
func misbehave(mode string) {
	switch mode {
	case "dies-at-start-once":
		if firstTime() {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	case "hangs-later": // once there is a file <program>.hang
		if _, err := os.Stat(os.Args[0] + ".hang"); err == nil {
			select {}
		}
	case "stops-at-start":
		syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case "rubbish":
		rubbish()
	}
}

// rawStdout is the standard output that the program was started with, which the SDK sets
// aside.
var rawStdout = func() *os.File {
	fd, err := syscall.Dup(1)
	if err != nil {
		panic(err)
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "stdout")
}()

// firstTime reports whether the program runs for the first time, as far as the file
// <program>.starts knows.
func firstTime() bool {
	text, err := os.ReadFile(os.Args[0] + ".starts")
	return err == nil && strings.Count(string(text), "\n") == 1
}

// rubbish is a handshake like any other, and then no gRPC.
func rubbish() {
	path := filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "socket")
	l, err := net.Listen("unix", path)
	if err != nil {
		panic(err)
	}
	fmt.Printf("1|%d|unix|%s|grpc|\n", host.ProtocolVersion, path)
	for {
		conn, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go conn.Write([]byte(strings.Repeat("rubbish ", 1000)))
	}
}

// misdo runs the stages that harm the process they are in. The input of most names
// a file that is written once they are under way.
func misdo(ctx context.Context, stage, input string) (answer string, known bool, err error) {
	wait := func() (string, bool, error) {
		if err := os.WriteFile(input, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			return "", true, err
		}
		<-ctx.Done()
		return "", true, ctx.Err()
	}
	switch stage {
	case "loop": // hears nothing of its end
		if err := os.WriteFile(input, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			return "", true, err
		}
		time.Sleep(time.Minute)
		return "", true, nil
	case "sleep": // the input is a number of milliseconds
		n, err := strconv.Atoi(input)
		time.Sleep(time.Duration(n) * time.Millisecond)
		return "slept", true, err
	case "stop":
		time.Sleep(50 * time.Millisecond) // so that what it said before is on its way
		syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		return wait()
	case "stall": // a heap dump stops all goroutines until somebody has read it
		time.Sleep(50 * time.Millisecond)
		_, w, err := os.Pipe()
		if err != nil {
			return "", true, err
		}
		debug.WriteHeapDump(w.Fd())
		return "", true, nil
	case "noise": // a line longer than go-plugin reads
		_, err := rawStdout.WriteString("rows: " + strings.Repeat("x", 300<<10))
		return "made", true, err
	case "leak":
		var all [][]byte
		for {
			block := make([]byte, 1<<20)
			for i := 0; i < len(block); i += 4096 {
				block[i] = 1
			}
			all = append(all, block)
			runtime.KeepAlive(all)
		}
	case "descriptors":
		return descriptors(), true, nil
	case "temp-file": // leaves one
		path := filepath.Join(os.TempDir(), "left")
		return path, true, os.WriteFile(path, []byte("text"), 0o600)
	case "read-file":
		text, err := os.ReadFile(input)
		return failure(string(text), err), true, nil
	case "cache-file":
		path := filepath.Join(sdk.CacheDir(), "memo")
		return failure(path, os.WriteFile(path, nil, 0o600)), true, nil
	}
	return "", false, nil
}

// failure is answer, or err if there is one.
func failure(answer string, err error) string {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return errno.Error()
	case err != nil:
		return err.Error()
	}
	return answer
}

// descriptors lists what the process has open, but for what Go's runtime and the
// plugin's own connection opened.
func descriptors() string {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err.Error()
	}
	var list []string
	for _, n := range names {
		to, err := os.Readlink("/proc/self/fd/" + n.Name())
		switch {
		case err != nil, strings.HasPrefix(to, "anon_inode:"), strings.HasPrefix(to, "socket:"), strings.HasPrefix(to, "pipe:"), strings.HasPrefix(to, "/sys/fs/cgroup/"), strings.HasSuffix(to, "/fd"):
			continue
		}
		list = append(list, n.Name()+" "+to)
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}
