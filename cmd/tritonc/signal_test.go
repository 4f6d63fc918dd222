package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// deafVar makes the test binary a program that goes on after the first signal.
const deafVar = "TRITONC_TEST_DEAF"

// deaf hears the first signal, says so, and does not end.
func deaf() {
	ctx, stop := untilSignal()
	defer stop()
	fmt.Println("ready")
	<-ctx.Done()
	fmt.Println("stopping")
	time.Sleep(time.Hour)
}

// needSignals skips a test that ends a program by a signal where there are none.
func needSignals(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no signals to send")
	}
}

// What does not end at the first signal ends at the second.
func TestSecondSignalEnds(t *testing.T) {
	needSignals(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := exec.CommandContext(t.Context(), exe)
		cmd.Env = append(os.Environ(), deafVar+"=1")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		expect := func(want string) {
			if !lines.Scan() || lines.Text() != want {
				t.Fatalf("%v: got %q, want %q", sig, lines.Text(), want)
			}
		}
		expect("ready")
		cmd.Process.Signal(sig)
		expect("stopping")
		// The signals' default action may be back a moment later.
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		deadline := time.After(30 * time.Second)
		for over := false; !over; {
			cmd.Process.Signal(sig)
			select {
			case <-ended:
				over = true
			case <-time.After(20 * time.Millisecond):
			case <-deadline:
				cmd.Process.Kill()
				t.Fatalf("%v: it does not end", sig)
			}
		}
		if s := cmd.ProcessState.Sys().(syscall.WaitStatus); !s.Signaled() || s.Signal() != sig {
			t.Errorf("%v: ended by %v", sig, cmd.ProcessState)
		}
	}
}
