package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tritonc/tritonc/farm/bus"
	"github.com/tritonc/tritonc/internal/natstest"
)

// newSharer is a machine whose project names a server: its files, its cache, its home and
// its copies of the backends are its own. With a key it gives kernels, too.
func newSharer(t *testing.T, url, key, table string) *farmTest {
	t.Helper()
	f := newFarmTest(t)
	backends := filepath.Join(f.dir, "programs")
	if err := os.Mkdir(backends, 0o700); err != nil {
		t.Fatal(err)
	}
	const nvidia = "tritonc-backend-nvidia"
	program, err := os.ReadFile(filepath.Join(buildBackends(t), nvidia))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(backends, nvidia), program, 0o700); err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir() // which has the toolchain
	if err != nil {
		t.Fatal(err)
	}
	f.env = append(f.env, backendPathVar+"="+backends, "HOME="+f.dir, "XDG_CACHE_HOME="+cache, farmKeyVar+"="+key)
	f.project(fmt.Sprintf("[farm]\nnats = %q\nwait = \"30s\"\ncache_size = 64\n%s", url, table))
	return f
}

func (f *farmTest) project(text string) {
	f.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, "tritonc.toml"), []byte(text), 0o600); err != nil {
		f.Fatal(err)
	}
}

// cacheKey makes a key, and the table that has others believe it.
func cacheKey(t *testing.T) (path, table string) {
	f := newFarmTest(t)
	path = filepath.Join(f.dir, "farm.key")
	public, _ := f.run(0, "cache", "key", path)
	return path, fmt.Sprintf("[farm.trusted]\nci = %q\n", strings.TrimSpace(public))
}

var compiledHere = regexp.MustCompile(`ms +ttgir`)

// compileOne compiles a kernel into a folder, and says where it came from.
func (f *farmTest) compileOne(out string, args ...string) (from, said string) {
	f.Helper()
	_, said = f.run(0, append([]string{"-t", "cuda:80", "--emit", "ttgir,llir,json", "--time", "-o", out, "k.py"}, args...)...)
	switch {
	case compiledHere.MatchString(said):
		return "here", said
	case strings.Contains(said, "shared cache"):
		return "shared", said
	case strings.Contains(said, "ms  cache"):
		return "cache", said
	}
	f.Fatalf("it is not said where the kernel comes from:\n%s", said)
	return "", ""
}

func (f *farmTest) wantFrom(want, out string, args ...string) string {
	f.Helper()
	from, said := f.compileOne(out, args...)
	if from != want {
		f.Errorf("the kernel comes from %s, want %s:\n%s", from, want, said)
	}
	return said
}

// TestSharedCache: a kernel that one machine has compiled another takes, with its own
// paths, and who is not believed gives nobody anything.
func TestSharedCache(t *testing.T) {
	url := natstest.Run(t).URL()
	key, trusted := cacheKey(t)
	a, b := newSharer(t, url, key, trusted), newSharer(t, url, "", trusted)
	a.wantFrom("here", "a")
	said := b.wantFrom("shared", "b")
	if strings.Contains(said, "warning") || !regexp.MustCompile(`(?m)^ +shared: 2 hits, 0 misses, \d+\.\d KiB read$`).MatchString(said) {
		t.Errorf("said %s", said)
	}
	b.wantFrom("cache", "b2")
	if err := os.Rename(filepath.Join(a.dir, "a"), filepath.Join(b.dir, "a")); err != nil {
		t.Fatal(err)
	}
	b.same("a", "b", 6)
	b.same("a", "b2", 6)

	// The user's way of naming the file is not part of what is the same.
	whole := newSharer(t, url, "", trusted)
	if _, said := whole.run(0, "-t", "cuda:80", "--emit", "ttgir,llir,json", "--time", "-o", "out", filepath.Join(whole.dir, "k.py")); strings.Count(said, "shared cache") != 2 {
		t.Errorf("by its whole path the kernel does not come from the cache:\n%s", said)
	}

	text, _ := b.run(0, "cache", "--remote")
	for _, want := range []string{"kernels  2, kept for 720h0m0s, the oldest since ", "of 64 MiB on 1 server", "trusted  ci ", "signs    nothing"} {
		if !strings.Contains(text, want) {
			t.Errorf("the cache lacks %q:\n%s", want, text)
		}
	}
	object, _ := a.run(0, "cache", "info", "--remote", "--json")
	var row remoteRow
	if err := json.Unmarshal([]byte(object), &row); err != nil || row.Kernels != 2 || row.Limit != 64<<20 || row.Signs == "" {
		t.Errorf("%v: %s", err, object)
	}
	if text, _ := b.run(0, "cache", "verify"); !strings.HasSuffix(text, " are good, 0 are refused\n") || strings.HasPrefix(text, "0 ") {
		t.Errorf("of its own cache it says\n%s", text)
	}
	if text, _ := b.run(0, "cache", "verify", "--remote"); text != "4 are good, 0 are refused\n" {
		t.Errorf("verify says %q", text)
	}

	// Of a damaged entry of its own it tells the path.
	kernels, err := filepath.Glob(filepath.Join(filepath.Join(b.dir, "cache"), "*", strings.Repeat("?", 64)))
	if err != nil || len(kernels) == 0 {
		t.Fatalf("no entries are in %s: %v", filepath.Join(b.dir, "cache"), err)
	}
	if err := os.WriteFile(kernels[0], []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, _ := b.run(1, "cache", "verify"); !strings.Contains(text, "entry "+kernels[0]+": its bytes are not those that were written\n") || !strings.HasSuffix(text, ", 1 are refused\n") {
		t.Errorf("of a damaged entry it says\n%s", text)
	}

	// A machine that believes somebody else takes nothing, and says once why.
	other, others := cacheKey(t)
	c := newSharer(t, url, "", others)
	said = c.wantFrom("here", "c")
	if strings.Count(said, "who is not trusted") != 1 || !strings.Contains(said, "[farm.trusted]") {
		t.Errorf("said\n%s", said)
	}
	if text, _ := c.run(1, "cache", "verify", "--remote"); strings.Count(text, "who is not trusted") != 4 || !strings.HasSuffix(text, "0 are good, 4 are refused\n") {
		t.Errorf("verify says %q", text)
	}
	// What came from somebody is not taken from the local cache once they are not believed.
	b.project(fmt.Sprintf("[farm]\nnats = %q\nwait = \"30s\"\n%s", url, others))
	b.wantFrom("here", "b3")
	b.project("")
	b.wantFrom("cache", "b4")

	a.run(0, "cache", "clean", "--remote")
	if text, _ := a.run(0, "cache", "--remote"); !strings.Contains(text, "kernels  0, ") {
		t.Errorf("after cleaning:\n%s", text)
	}
	newSharer(t, url, other, others).wantFrom("here", "d")
}

// TestSharedCacheOnce: of processes that want the same kernels at once, one compiles each.
func TestSharedCacheOnce(t *testing.T) {
	url := natstest.Run(t).URL()
	key, trusted := cacheKey(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	here, shared := 0, 0
	for range 6 {
		f := newSharer(t, url, key, trusted)
		wg.Go(func() {
			_, said := f.run(0, "-t", "cuda:80", "--emit", "llir", "--time", "-o", "out", "k.py")
			mu.Lock()
			defer mu.Unlock()
			here += len(compiledHere.FindAllString(said, -1))
			shared += strings.Count(said, "shared cache")
		})
	}
	wg.Wait()
	if here != 2 || shared != 10 {
		t.Errorf("%d kernels were compiled and %d taken, want 2 and 10", here, shared)
	}
}

// TestSharedCacheBad: whatever is wrong with the server or with what lies there, one
// message says so, and the kernel is compiled; a setting that makes no sense is an error.
func TestSharedCacheBad(t *testing.T) {
	key, trusted := cacheKey(t)
	s := natstest.Run(t)
	url := s.URL()
	for what, tt := range map[string]struct{ url, wait, want string }{
		"no server": {"nats://127.0.0.1:1", "30s", "warning: the shared cache is not used: there is no NATS server at nats://127.0.0.1:1"},
		"stalled":   {natstest.Stalled(t), "50ms", "did not answer within 50ms"},
	} {
		f := newSharer(t, tt.url, key, trusted)
		f.project(fmt.Sprintf("[farm]\nnats = %q\nwait = %q\n%s", tt.url, tt.wait, trusted))
		said := f.wantFrom("here", "out")
		if strings.Count(said, tt.want) != 1 || strings.Count(said, "help:") != 1 || !strings.Contains(said, "tritonc.toml:2:8") || !strings.Contains(said, "2 | nats = ") {
			t.Errorf("%s: want %q once, got\n%s", what, tt.want, said)
		}
		if _, said := f.run(0, "-t", "cuda:80", "--emit", "ptx", "-o", "out", "--no-cache", "k.py"); said != "" {
			t.Errorf("%s: without a cache it says\n%s", what, said)
		}
		if _, said := f.run(0, "-t", "cuda:90", "--emit", "llir", "-o", "out", "k.py"); said != "" {
			t.Errorf("%s: the next process says\n%s", what, said)
		}
		if _, said := f.run(1, "cache", "--remote"); !strings.Contains(said, "help:") {
			t.Errorf("%s: who asks is told\n%s", what, said)
		}
	}
	// Somebody without a key has written to the buckets.
	f := newSharer(t, url, key, trusted)
	f.wantFrom("here", "out")
	b, err := bus.Connect(t.Context(), bus.Options{URLs: []string{url}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	index, err := b.JetStream().KeyValue(t.Context(), "tritonc_v1_index")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := index.Keys(t.Context())
	if err != nil || len(keys) != 2 {
		t.Fatalf("there are %q: %v", keys, err)
	}
	for _, k := range keys {
		if _, err := index.PutString(t.Context(), k, `{"sets":[{"modules":[],"files":[]}]}`); err != nil {
			t.Fatal(err)
		}
	}
	said := newSharer(t, url, "", trusted).wantFrom("here", "out")
	if strings.Count(said, "is refused: it is not signed") != 1 {
		t.Errorf("said\n%s", said)
	}
	// The bucket is of another version.
	if err := b.JetStream().DeleteKeyValue(t.Context(), "tritonc_v1_index"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.JetStream().CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "tritonc_v1_index", Metadata: map[string]string{"tritonc.version": "1", "tritonc.form": "index 9"}}); err != nil {
		t.Fatal(err)
	}
	said = newSharer(t, url, "", trusted).wantFrom("here", "out")
	if strings.Count(said, "tritonc_v1_index on the NATS server "+url+" is of another version") != 1 {
		t.Errorf("said\n%s", said)
	}

	text, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		code                 int
		table, args, message string
	}{
		{1, "sign = \"open.key\"\n", "-t cuda:80 k.py", "tritonc.toml:5:8: error: the key"},
		{1, "sign = \"none.key\"\n", "-t cuda:80 k.py", "no such file"},
		{1, "[farm.trusted]\nci = \"AAAA\"\n", "-t cuda:80 k.py", "tritonc.toml:6:6: error: this is not a public key"},
		{2, "", "cache info --remote", "nothing is shared here"},
		{2, "", "cache key", "no FILE given"},
		{1, "", "cache key k.py", "file exists"},
		{2, "", "-t cuda:80 --nats nats://127.0.0.1:1 k.py", "--nats is for --farm, or for a shared cache"},
	} {
		f := newSharer(t, url, "", tt.table)
		if tt.table == "sign = \"open.key\"\n" {
			if err := os.WriteFile(filepath.Join(f.dir, "open.key"), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, said := f.run(tt.code, strings.Fields(tt.args)...); !strings.Contains(said, tt.message) || !strings.Contains(said, "help:") && tt.args != "cache key k.py" {
			t.Errorf("%s with %q: want %q, got\n%s", tt.args, tt.table, tt.message, said)
		}
	}
}

// TestSharedCacheServed: a server takes and gives kernels for its clients, each with what
// their project and their environment say, and tells them what is wrong.
func TestSharedCacheServed(t *testing.T) {
	url := natstest.Run(t).URL()
	key, trusted := cacheKey(t)
	socket := filepath.Join(t.TempDir(), "s.sock")
	if err := os.Chmod(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	a, b := newSharer(t, url, key, trusted), newSharer(t, url, "", trusted)
	away := newSharer(t, "nats://127.0.0.1:1", "", trusted)
	for _, f := range []*farmTest{a, b, away} {
		f.env = append(f.env, socketVar+"="+socket)
	}
	server := a.command("serve", "--socket", socket)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		a.run(0, "serve", "--stop", "--socket", socket)
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
	}()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Lstat(socket); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("no server listens")
		}
	}
	a.wantFrom("here", "a")
	b.wantFrom("shared", "b")
	said := away.wantFrom("here", "c")
	if strings.Count(said, "there is no NATS server at nats://127.0.0.1:1") != 1 {
		t.Errorf("said\n%s", said)
	}
	text, _ := a.run(0, "serve", "--status", "--socket", socket)
	if !strings.Contains(text, "kernels              6, of which the cache had 2") || !strings.Contains(text, "shared cache         2 hits, 2 misses, ") {
		t.Errorf("the server says\n%s", text)
	}
	text, _ = a.run(0, "serve", "--metrics", "--socket", socket)
	wantMetrics(t, text, `lookups_total{result="hit"} 2`, `lookups_total{result="miss"} 2`, "kept_total 2", "refused_total 0", "off_total 1", "away 1")
}

// wantMetrics fails unless a text for Prometheus has these lines of the shared cache.
func wantMetrics(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, "\ntritonc_shared_cache_"+line+"\n") {
			t.Errorf("there is no %s in\n%s", line, text)
		}
	}
}

// checked reads in the log of a command how many of its kernels the farm compiled twice to
// compare them: which ones these are their keys say, and so the build of tritonc.
func checked(t *testing.T, log string) (n int) {
	t.Helper()
	_, rest, _ := strings.Cut(log, " checked=")
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatalf("it is not said how many were checked: %v\n%s", err, log)
	}
	return n
}

// TestWorkerMetrics: a worker tells Prometheus what the shared cache had for it.
func TestWorkerMetrics(t *testing.T) {
	needSignals(t)
	url := natstest.Run(t).URL()
	key, trusted := cacheKey(t)
	f := newSharer(t, url, key, trusted)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	f.startWorker(url, "--metrics", address)
	// Without a module, for which a worker would ask and be asked once more.
	plain := strings.NewReplacer("from scale import FACTOR", "", "FACTOR", "3").Replace(farmKernels)
	if err := os.WriteFile(filepath.Join(f.dir, "plain.py"), []byte(plain), 0o600); err != nil {
		t.Fatal(err)
	}
	done := 0
	for _, args := range [][]string{{"--no-cache", "--emit", "ttgir"}, {"--emit", "llir"}} {
		_, said := f.run(0, append([]string{"compile", "-v", "--farm", "-t", "cuda:80", "-o", "out", "plain.py"}, args...)...)
		done += 2 + checked(t, said)
	}
	resp, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("\ntritonc_worker_done_tasks_total %d\n", done); !strings.Contains(string(text), want) {
		t.Errorf("there is no %s in\n%s", strings.TrimSpace(want), text)
	}
	// What --no-cache asks for is compiled whatever there is.
	wantMetrics(t, string(text), `lookups_total{result="hit"} 0`, `lookups_total{result="miss"} 2`, "kept_total 2", "away 0")
}
