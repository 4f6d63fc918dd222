package cache

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tritonc/tritonc/internal/testseed"
)

// workerVar makes a test process a user of the cache for TestKilled:
// "number share folder".
const workerVar = "TRITONC_TEST_CACHE_WORKER"

func TestMain(m *testing.M) {
	if text := os.Getenv(workerVar); text != "" {
		if err := work(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// hotKey is that of the entry that every worker uses before it writes another.
const hotKey = 0

// largest is the size of the largest entry of the workers.
const largest = 40_000

// sizeOf is the size of an entry: two writers of one entry agree about it.
func sizeOf(n int) int { return 1 + n*7919%largest }

// perWorker is more than a worker writes. Keys above are of its own.
const perWorker = 1 << 20

// work uses the cache until it is killed. It tells of each entry that it has stored,
// by its number and a newline.
func work(text string) error {
	var number, share int
	var dir string
	if _, err := fmt.Sscanf(text, "%d %d %s", &number, &share, &dir); err != nil {
		return err
	}
	s := Open(dir, int64(share)*folders)
	for i := 1; ; i++ {
		if got, err := s.Get(keyOf(hotKey)); err != nil || !bytes.Equal(got, contentOf(hotKey, sizeOf(hotKey))) {
			return fmt.Errorf("the entry that all use: %w", err)
		}
		n := number*perWorker + i
		if i%4 == 0 {
			n = 1 + i%8 // others write it, too
		}
		if err := s.Put(keyOf(n), contentOf(n, sizeOf(n))); err != nil {
			return err
		}
		if _, err := fmt.Println(n); err != nil {
			return err
		}
	}
}

// workers are 8 processes, one of which is killed now and then, and replaced.
type workers struct {
	t       *testing.T
	dir     string
	share   int
	started int
	running []*exec.Cmd
	readers sync.WaitGroup
	mu      sync.Mutex
	stored  map[int]bool // what they told of
}

const workerCount = 8

func (w *workers) start() {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %s", workerVar, w.started, w.share, w.dir))
	w.started++
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.readers.Go(func() {
		for in := bufio.NewReader(out); ; {
			line, err := in.ReadString('\n')
			if err != nil {
				return // a line that is cut off is of an entry that may be
			}
			n, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				w.t.Error(err)
				return
			}
			w.mu.Lock()
			w.stored[n] = true
			w.mu.Unlock()
		}
	})
	w.running = append(w.running, cmd)
}

// kill ends the i-th worker with SIGKILL.
func (w *workers) kill(i int) {
	cmd := w.running[i]
	w.running = append(w.running[:i], w.running[i+1:]...)
	cmd.Process.Kill()
	if cmd.Wait(); cmd.ProcessState.Exited() {
		w.t.Errorf("a worker ended by itself: %s", cmd.ProcessState)
	}
}

// run has the workers use a cache with a share for each folder, for some time.
func (w *workers) run(long time.Duration) {
	seed := testseed.Seed()
	w.t.Logf("%s=%d", testseed.Env, seed)
	random := rand.New(rand.NewPCG(seed, 1))
	w.stored = map[int]bool{}
	if err := w.store().Put(keyOf(hotKey), contentOf(hotKey, sizeOf(hotKey))); err != nil {
		w.t.Fatal(err)
	}
	for range workerCount {
		w.start()
	}
	enough := func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.stored) >= 300
	}
	// On a busy machine it takes them longer.
	for start := time.Now(); time.Since(start) < long || !enough() && time.Since(start) < time.Minute; {
		time.Sleep(time.Duration(random.IntN(20_000)) * time.Microsecond)
		w.kill(random.IntN(workerCount))
		w.start()
	}
	for range workerCount {
		w.kill(0)
	}
	w.readers.Wait()
	w.t.Logf("%d workers stored %d entries", w.started, len(w.stored))
	if !enough() {
		w.t.Errorf("they stored %d entries: that shows little", len(w.stored))
	}
}

func (w *workers) store() *Store { return Open(w.dir, int64(w.share)*folders) }

// folderBytes adds the files of the one folder that the workers write to up, each of
// them once: one may be renamed meanwhile.
func folderBytes(t *testing.T, dir string) int64 {
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Error(err)
	}
	var seen []os.FileInfo
	var total int64
next:
	for _, f := range files {
		info, err := f.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		for _, other := range seen {
			if os.SameFile(other, info) {
				continue next
			}
		}
		seen = append(seen, info)
		total += info.Size()
	}
	return total
}

// TestKilled: processes that use a cache at once, and are killed at any moment, lose
// nothing that they have stored where there is room for all.
func TestKilled(t *testing.T) {
	w := &workers{t: t, dir: t.TempDir(), share: 1 << 30}
	w.run(1500 * time.Millisecond)
	s := w.store()
	for n := range w.stored {
		if got, err := s.Get(keyOf(n)); err != nil || !bytes.Equal(got, contentOf(n, sizeOf(n))) {
			t.Fatalf("entry %d: got %d bytes, %v", n, len(got), err)
		}
	}
}

// TestKilledFull: the same where there is room for some. There is never more than the
// limit, what all use is not lost, and nothing but whole entries is seen.
func TestKilledFull(t *testing.T) {
	w := &workers{t: t, dir: t.TempDir(), share: 4 * workerCount * largest}
	limit := int64(w.share)
	part := filepath.Join(w.dir, folderName(0))
	if !canLock(t, part) {
		limit += workerCount * (largest + int64(headerSize))
	}
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		var most int64
		for {
			select {
			case <-done:
				t.Logf("at most %d of %d bytes", most, limit)
				if most < limit/2 {
					t.Errorf("at most %d of %d bytes: the test shows nothing", most, limit)
				}
				return
			default:
			}
			if most = max(most, folderBytes(t, part)); most > limit {
				t.Errorf("the folder holds %d bytes, more than %d", most, limit)
				return
			}
		}
	})
	w.run(1500 * time.Millisecond)
	close(done)
	watching.Wait()
	s, whole := w.store(), 0
	for n := range w.stored {
		got, err := s.Get(keyOf(n))
		switch {
		case errors.Is(err, ErrAbsent):
		case err != nil || !bytes.Equal(got, contentOf(n, sizeOf(n))):
			t.Errorf("entry %d: got %d bytes, %v", n, len(got), err)
		default:
			whole++
		}
	}
	if whole < workerCount || whole == len(w.stored) {
		t.Errorf("%d of %d entries are there", whole, len(w.stored))
	}
	mustPut(t, s, 1, 1)
	if _, unfinished, err := entries(part); err != nil || canLock(t, part) && len(unfinished) > 0 {
		t.Errorf("unfinished files are left: %v, %v", unfinished, err)
	}
}
