package sdk_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/sdktest"
)

// TestCancelStopsTools: within 200 ms of a call's end its tool is gone, and so is what
// the tool started in the background.
func TestCancelStopsTools(t *testing.T) {
	const bound = 200 * time.Millisecond
	best := time.Hour
	for range 5 { // a machine that does other things may be late
		file := filepath.Join(t.TempDir(), "pids")
		c := sdktest.Start(t, staged{func(ctx context.Context, in *sdk.StageInput) ([]byte, error) {
			_, err := in.RunTool(ctx, sdk.Command{Path: "sh", Args: []string{
				"-c", `trap "" TERM INT; sh -c 'trap "" TERM INT; sleep 60' & sleep 60 & echo $$ $! > "$0.new" && mv "$0.new" "$0"; wait`, file,
			}}, "")
			return nil, err
		}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := c.RunStages(ctx, stagedRequest("third", "third"))
			done <- err
		}()
		var pids []int
		for deadline := time.Now().Add(10 * time.Second); len(pids) == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the tool did not start")
			}
			text, err := os.ReadFile(file)
			if err != nil {
				continue
			}
			for _, n := range strings.Fields(string(text)) {
				pid, _ := strconv.Atoi(n)
				pids = append(pids, pid)
			}
		}
		for deadline := time.Now().Add(10 * time.Second); len(groupOf(t, pids[0])) < 4; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the tool's group is %v", groupOf(t, pids[0]))
			}
		}
		start := time.Now()
		cancel()
		for ; len(groupOf(t, pids[0])) > 0; time.Sleep(time.Millisecond) {
			if time.Since(start) > 10*time.Second {
				t.Fatalf("%v live on", groupOf(t, pids[0]))
			}
		}
		best = min(best, time.Since(start))
		if err := <-done; err == nil {
			t.Error("a cancelled call succeeded")
		}
		if best <= bound {
			return
		}
	}
	t.Errorf("the tools were gone after %s, want %s", best, bound)
}

// groupOf lists the living processes of a process group.
func groupOf(t *testing.T, group int) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if g, err := syscall.Getpgid(pid); err != nil || g != group {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err == nil && !strings.Contains(string(stat), ") Z ") { // dead, and not waited for yet
			pids = append(pids, pid)
		}
	}
	return pids
}
