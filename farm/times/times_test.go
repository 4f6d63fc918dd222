package times

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/driver/tune"
	"github.com/tritonc/tritonc/farm/bus"
	"github.com/tritonc/tritonc/farm/sign"
	"github.com/tritonc/tritonc/internal/natstest"
	"github.com/tritonc/tritonc/internal/testseed"
)

func open(t testing.TB, url string, change ...func(*Config)) *Store {
	t.Helper()
	b, err := bus.Connect(t.Context(), bus.Options{URLs: []string{url}, Name: t.Name(), Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	cfg := Config{MaxBytes: 64 << 20}
	for _, f := range change {
		f(&cfg)
	}
	s, err := Open(t.Context(), b, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// block is a configuration.
func block(n int) tune.Config {
	return tune.Config{{Name: "BLOCK", Value: int64(n)}, {Name: "num_warps", Value: int64(4), Option: true}}
}

func entry(kernel string, configs ...tune.Measured) *tune.Entry {
	return &tune.Entry{
		Kernel: kernel, Source: "5c", Key: tune.Key{int64(65536), 0.5, "torch.float32"}, Device: "fake", Target: "cuda:90",
		Measure: "do_bench", Tritonc: "1", Backend: "nvidia 1", Configs: configs,
	}
}

func measured(n int, us float64) tune.Measured {
	return tune.Measured{Config: block(n), Time: us, Low: us, High: us}
}

// TestWriters: many writers that add to one entry at once lose nothing: each
// configuration has the time that was written last, for which a plain map is the
// reference.
func TestWriters(t *testing.T) {
	seed := testseed.Seed()
	t.Logf("%s=%d", testseed.Env, seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	url := natstest.Run(t).URL()
	const writers, each = 12, 8
	var wg sync.WaitGroup
	want := map[int]float64{}
	for w := range writers {
		s := open(t, url)
		var own []tune.Measured
		for range each {
			n := w*each + len(own)
			us := 1 + 100*rng.Float64()
			own, want[n] = append(own, measured(n, us)), us
		}
		shared := measured(-1, float64(1000+w)) // which all write
		wg.Go(func() {
			for i := range own {
				if _, err := s.Add(t.Context(), entry("k", own[i], shared)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	f, _, err := open(t, url).Kernel(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Entries) != 1 || len(f.Entries[0].Configs) != writers*each+1 {
		t.Fatalf("%d entries; %d configurations, want %d", len(f.Entries), len(f.Entries[0].Configs), writers*each+1)
	}
	for _, m := range f.Entries[0].Configs {
		n := int(m.Config[0].Value.(int64))
		if n >= 0 && m.Time != want[n] {
			t.Errorf("BLOCK=%d has %v, want %v", n, m.Time, want[n])
		}
		if n < 0 && (m.Time < 1000 || m.Time >= 1000+writers) {
			t.Errorf("the shared configuration has %v", m.Time)
		}
	}
	if !slices.IsSortedFunc(f.Entries[0].Configs, func(a, b tune.Measured) int { return int(1e6 * (a.Time - b.Time)) }) {
		t.Error("the fastest is not the first")
	}
}

// TestKernel: what is kept is found by the kernel alone, and told apart by all else.
func TestKernel(t *testing.T) {
	s := open(t, natstest.Run(t).URL())
	change := []func(e *tune.Entry){
		func(*tune.Entry) {},
		func(e *tune.Entry) { e.Source = "6d" },
		func(e *tune.Entry) { e.Key = tune.Key{int64(64), 0.5, "torch.float32"} },
		func(e *tune.Entry) { e.Device = "other" },
		func(e *tune.Entry) { e.Target = "cuda:80" },
		func(e *tune.Entry) { e.Measure = "do_bench_cudagraph" },
	}
	for _, f := range change {
		for _, kernel := range []string{"k", "größe"} {
			e := entry(kernel, measured(rand.IntN(100), 5))
			f(e)
			if _, err := s.Add(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, kernel := range []string{"k", "größe"} {
		f, _, err := s.Kernel(t.Context(), kernel)
		if err != nil || len(f.Entries) != len(change) {
			t.Fatalf("%v: %d entries, want %d", err, len(f.Entries), len(change))
		}
		found, err := f.Find(tune.Want{Kernel: kernel, Source: "5c", Device: "fake", Target: "cuda:90", Key: entry("").Key})
		if err != nil || len(found) != 2 {
			t.Errorf("%v: %d entries of one launch, want those of two ways to measure", err, len(found))
		}
	}
	if f, _, err := s.Kernel(t.Context(), "other"); err != nil || len(f.Entries) != 0 {
		t.Errorf("%v: %d entries of a kernel that nobody tuned", err, len(f.Entries))
	}
}

// TestVersions: times of two versions of tritonc are two entries in the bucket, and one
// to who reads: of a configuration that both measured the newer time counts, whichever
// version it is of.
func TestVersions(t *testing.T) {
	s := open(t, natstest.Run(t).URL())
	for i, us := range []float64{3, 2, 9} {
		e := entry("k", measured(64, us), measured(100+i, 50))
		e.Tritonc = [...]string{"1", "2", "1"}[i]
		if _, err := s.Add(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	f, _, err := s.Kernel(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range f.Entries[0].Configs {
		all = append(all, fmt.Sprintf("%v: %v", m.Config[0].Value, m.Time))
	}
	if got := strings.Join(all, ", "); len(f.Entries) != 1 || len(all) != 4 || !strings.HasPrefix(got, "64: 9, ") {
		t.Errorf("%d entries, of which the first has %s", len(f.Entries), got)
	}
}

// TestForeign: what is not an entry is refused, with its key.
func TestForeign(t *testing.T) {
	s := open(t, natstest.Run(t, func(o *server.Options) { o.MaxPayload = 64 << 10 }).URL())
	e := entry("k", measured(64, 3))
	if _, err := s.Add(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	other, err := encode(&tune.File{Version: 1, Entries: []*tune.Entry{entry("other", measured(64, 3))}})
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range [][]byte{nil, []byte("x"), other, other[:len(other)/2]} {
		if _, err := s.kv.Put(t.Context(), keyOf(e)+".unsigned", value); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Kernel(t.Context(), "k"); err == nil || !strings.Contains(err.Error(), "the times under "+keyOf(e)) {
			t.Errorf("%q: %v", value, err)
		}
	}
	many := entry("many")
	for i := range 4000 {
		many.Configs = append(many.Configs, tune.Measured{
			Config: append(block(i), frontend.ConfigSetting{Name: "X", Value: rand.Int64()}), Time: rand.Float64() + 1,
		})
	}
	if _, err := s.Add(t.Context(), many); err == nil || !strings.Contains(err.Error(), "the times of 4000 configurations of 'many' are too many for one message") {
		t.Error(err)
	}
}

// key makes a key, and who trusts its signatures alone.
func key(t testing.TB, name string) (*sign.Key, sign.Trusted) {
	t.Helper()
	k, err := sign.Create(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	trusted, err := sign.ParseTrusted(name, k.Public())
	if err != nil {
		t.Fatal(err)
	}
	return k, trusted
}

// TestSigned: who trusts some takes their times alone, and is told why not others'; nobody's
// times come under another's signature, also where both measured the same.
func TestSigned(t *testing.T) {
	url := natstest.Run(t).URL()
	lab, labs := key(t, "lab")
	ci, cis := key(t, "ci")
	by := func(k *sign.Key) *Store { return open(t, url, func(c *Config) { c.Sign = k }) }
	at := map[*sign.Key]float64{nil: 1, lab: 2, ci: 3}
	for _, k := range []*sign.Key{nil, lab, ci} {
		for range 2 { // the second time into the entry that is there
			if _, err := by(k).Add(t.Context(), entry("k", measured(64, at[k]))); err != nil {
				t.Fatal(err)
			}
		}
	}
	read := func(trusted sign.Trusted) string {
		t.Helper()
		found, refused, err := open(t, url, func(c *Config) { c.Trusted = trusted }).Kernel(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, e := range found.Entries {
			for _, m := range e.Configs {
				all = append(all, fmt.Sprint(m.Time))
			}
		}
		for _, r := range refused {
			all = append(all, r.Error())
		}
		slices.Sort(all)
		return strings.Join(all, "; ")
	}
	strange := func(ids ...string) string {
		var list []string
		for _, id := range ids {
			list = append(list, "it is signed by "+id+", who is not trusted")
		}
		slices.Sort(list)
		return strings.Join(list, "; ")
	}
	_, others := key(t, "other")
	for _, tt := range []struct {
		trusted sign.Trusted
		want    string
	}{
		{nil, "3"}, // the newest counts
		{slices.Concat(labs, cis), "3; it is not signed"},
		{labs, "2; it is not signed; " + strange(ci.Public())},
		{others, "it is not signed; " + strange(lab.Public(), ci.Public())},
	} {
		if got := read(tt.trusted); got != tt.want {
			t.Errorf("by %d trusted: got %s, want %s", len(tt.trusted), got, tt.want)
		}
	}

	// Somebody without a key writes under the name of one who has: bytes of another entry
	// that is signed, bytes that were changed, and none.
	s := by(lab)
	own := keyOf(entry("k")) + "." + s.signer()
	good, err := s.kv.Get(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.seal("elsewhere", &tune.File{Version: 1, Entries: []*tune.Entry{entry("k", measured(64, 9))}})
	if err != nil {
		t.Fatal(err)
	}
	changed := slices.Clone(good.Value())
	changed[len(changed)-1] ^= 1
	for name, value := range map[string][]byte{"its signature is not that of its content": other, "its signature is not that of its content ": changed, "it is not signed": []byte("x")} {
		if _, err := s.kv.Put(t.Context(), own, value); err != nil {
			t.Fatal(err)
		}
		if got := read(labs); !strings.Contains(got, strings.TrimSpace(name)) || !strings.HasPrefix(got, "it is ") { // no time is taken
			t.Errorf("%q: got %s", value, got)
		}
		if !bytes.Equal(value, []byte("x")) {
			if _, refused, err := open(t, url).Kernel(t.Context(), "k"); err != nil || len(refused) != 1 {
				t.Errorf("who trusts anybody takes what was changed: %v, %v", refused, err)
			}
		}
	}
	if _, err := s.Add(t.Context(), entry("k", measured(64, 4))); err != nil {
		t.Fatal(err)
	}
	if got := read(labs); !strings.HasPrefix(got, "4; ") {
		t.Errorf("after its own times are written anew: %s", got)
	}
}
