package deploy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tritonc/tritonc/core/cache"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/bench"
	"github.com/tritonc/tritonc/driver/tune"
	"github.com/tritonc/tritonc/farm/bus"
	"github.com/tritonc/tritonc/farm/measure"
	"github.com/tritonc/tritonc/farm/remote"
	"github.com/tritonc/tritonc/farm/sign"
	"github.com/tritonc/tritonc/farm/times"
	"github.com/tritonc/tritonc/farm/work"
	"github.com/tritonc/tritonc/internal/fakedevice"
	"github.com/tritonc/tritonc/internal/natstest"
	"github.com/tritonc/tritonc/plugin-sdk/target"
)

// files is the folder that is tested.
const files = "../../deploy"

// farm is a server by deploy/nats.conf, or three by deploy/cluster.conf.
type farm struct {
	*testing.T
	servers []*natstest.Server
	urls    []string
	certs   string
}

func newFarm(t *testing.T, servers int) *farm {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("certificates.sh is for sh")
	}
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("certificates are made by openssl, which is not here")
	}
	certs := filepath.Join(t.TempDir(), "certs")
	if out, err := exec.Command(filepath.Join(files, "certificates.sh"), certs).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, value := range map[string]string{
		"NATS_NAME": "test", "NATS_STORE": t.TempDir(), "NATS_STORE_SIZE": "64GB",
		"NATS_CERT": filepath.Join(certs, "server.pem"), "NATS_KEY": filepath.Join(certs, "server-key.pem"), "NATS_CA": filepath.Join(certs, "ca.pem"),
	} {
		t.Setenv(name, value)
	}
	f := &farm{T: t, certs: certs}
	if servers == 1 {
		f.servers = []*natstest.Server{natstest.RunFile(t, filepath.Join(files, "nats.conf"))}
	} else {
		f.servers = natstest.ClusterFile(t, filepath.Join(files, "cluster.conf"), servers, func(i int) {
			t.Setenv("NATS_NAME", fmt.Sprintf("nats-%d", i))
			t.Setenv("NATS_STORE", t.TempDir())
		})
	}
	for _, url := range natstest.URLs(f.servers) {
		f.urls = append(f.urls, strings.Replace(url, "nats://", "tls://", 1))
	}
	return f
}

// options are those of a role.
func (f *farm) options(role string) bus.Options {
	at := func(name string) string { return filepath.Join(f.certs, name) }
	return bus.Options{
		URLs: f.urls, Replicas: len(f.servers), CA: at("ca.pem"), Cert: at(role + ".pem"), Key: at(role + "-key.pem"),
		Name: role, Timeout: 20 * time.Second, Stay: true,
	}
}

func (f *farm) connect(role string) *bus.Bus {
	f.Helper()
	b, err := bus.Connect(f.Context(), f.options(role))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := b.Conn().LastError(); err != nil {
			f.Errorf("%s: %v", role, err)
		}
		b.Close()
	})
	return b
}

// quick are settings with which a test need not wait.
var quick = work.Config{AckWait: 2 * time.Second, Beat: 200 * time.Millisecond, MaxBytes: small}

func (f *farm) queue(b *bus.Bus) *work.Queue {
	f.Helper()
	q, err := work.Open(f.Context(), b, quick)
	if err != nil {
		f.Fatal(err)
	}
	return q
}

func (f *farm) contents(b *bus.Bus) *measure.Contents {
	f.Helper()
	c, err := measure.OpenContents(f.Context(), b, measure.ContentsConfig{MaxBytes: small})
	if err != nil {
		f.Fatal(err)
	}
	return c
}

func (f *farm) times(b *bus.Bus) *times.Store {
	f.Helper()
	s, err := times.Open(f.Context(), b, times.Config{})
	if err != nil {
		f.Fatal(err)
	}
	return s
}

// run runs a worker until the test ends.
func (f *farm) run(role string, q *work.Queue, h work.Handler) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w := &work.Worker{ID: role, Host: "test", Jobs: 1, Handler: h, TaskTimeout: time.Minute, Log: f.Logf}
		if err := w.Run(ctx, context.Background(), q); err != nil {
			f.Error(err)
		}
	}()
	f.Cleanup(func() { cancel(); <-ended })
}

// compiles is the class of the stub's tasks.
var compiles = work.Class{Target: "any:1", Compiler: "test"}

// compiler is a stub that compiles: it fails at a task the first time, and its results are
// too large for a message.
type compiler struct {
	mu    sync.Mutex
	tried int
}

func (c *compiler) Class(_ context.Context, name string) (*work.Class, error) {
	if name != compiles.Target {
		return nil, work.ErrOther
	}
	return &compiles, nil
}

func (c *compiler) Do(_ context.Context, t *work.Task) (work.Kind, []byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tried++; c.tried < 3 {
		return "", nil, errors.New("not now")
	}
	return work.Done, bytes.Repeat(t.Body, 100_000), nil
}

// timed is a device whose launches take a microsecond.
type timed struct{ *fakedevice.Device }

func (timed) Time(_ context.Context, _ driver.Kernel, _ driver.Launch, t driver.Timing) ([]time.Duration, error) {
	return slices.Repeat([]time.Duration{time.Microsecond}, max(t.Runs, 1)), nil
}

// small is the size of buckets in which room must be made.
const small = 4 << 20

// setUp makes all streams and buckets, as the administrator does.
func (f *farm) setUp() {
	f.Helper()
	b := f.connect("admin")
	f.queue(b)
	f.contents(b)
	f.times(b)
	if _, err := (remote.Options{Bus: f.options("admin"), MaxBytes: small}).Usage(f.Context()); err != nil {
		f.Fatal(err)
	}
}

// TestRoles: with the permissions that it has each role does all of its work.
func TestRoles(t *testing.T) { newFarm(t, 1).useAll() }

// TestCluster: the roles do so on three servers that replicate.
func TestCluster(t *testing.T) { newFarm(t, 3).useAll() }

// useAll has each role do what it is for.
func (f *farm) useAll() {
	t := f.T
	f.setUp()

	f.run("compiler", f.queue(f.connect("compiler")), &compiler{})
	on := f.connect("device")
	dev := timed{fakedevice.New("cubin")}
	dev.Props.Target = target.Target{Backend: "cuda", Arch: "90", WarpSize: 32}
	kind := &measure.Type{Properties: dev.Props, Driver: "fake 1"}
	handler := &measure.Handler{
		Type: kind, Contents: f.contents(on), On: "test", Lost: func(err error) { t.Error(err) },
		Open: func(context.Context) (driver.Device, error) { return dev, nil },
	}
	devices := f.queue(on)
	if err := handler.Announce(t.Context(), devices); err != nil {
		t.Fatal(err)
	}
	f.run("device", devices, handler)

	b := f.connect("client")
	q := f.queue(b)
	connect := func(sample int) *work.Client {
		c, err := work.Connect(t.Context(), q, work.ClientConfig{Grace: 20 * time.Second, Recheck: 500 * time.Millisecond, Patience: 30 * time.Second, Sample: sample, Log: t.Logf})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		if err := c.Announce(t.Context(), &compiles); err != nil {
			t.Fatal(err)
		}
		return c
	}
	checking, c := connect(1), connect(0)
	for i := range 5 { // results, and the first once more, of which the bucket holds three
		by := c
		if i == 0 {
			by = checking
		}
		r, err := by.Do(t.Context(), &work.Task{Class: compiles.ID(), Body: fmt.Appendf(nil, "%d123456789", i)})
		if err != nil || r.Kind != work.Done || len(r.Body) != 1_000_000 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Do(stopped, &work.Task{Class: compiles.ID(), Body: []byte("withdrawn")}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}

	far, err := measure.Open(t.Context(), c, f.contents(b), kind)
	if err != nil {
		t.Fatal(err)
	}
	var buffers []any
	for i := range byte(5) { // of which the bucket holds three
		buffer, err := far.Alloc("x", 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, 1<<20)
		data[5] = i + 1
		if err := buffer.Write(0, data); err != nil {
			t.Fatal(err)
		}
		buffers = append(buffers, buffer)
	}
	k, err := far.Load(driver.Binary{Name: "k.cubin", Code: bytes.Repeat([]byte("code and more"), 10_000)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range buffers {
		trial, err := far.Trial(t.Context(), k, driver.Launch{Grid: [3]int{1, 1, 1}, Args: buffers[i : i+1]})
		if err != nil {
			t.Fatal(err)
		}
		outcomes, err := far.Measure(t.Context(), []tune.Trial{trial}, 1, bench.Options{Rep: time.Millisecond})
		if err != nil || len(outcomes) != 1 || outcomes[0].Failure != "" {
			t.Fatalf("%+v, %v", outcomes, err)
		}
	}

	s := f.times(b)
	for range 2 {
		e := &tune.Entry{Kernel: "k", Source: "5", Device: "fake", Target: "cuda:90", Measure: "do_bench", Configs: []tune.Measured{{Config: tune.Config{{Name: "B", Value: int64(64)}}, Time: 1}}}
		if _, err := s.Add(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if found, _, err := s.Kernel(t.Context(), "k"); err != nil || len(found.Entries) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	if _, err := q.Status(t.Context()); err != nil {
		t.Error(err)
	}
	for _, role := range []string{"client", "compiler"} {
		f.useCache(role)
	}
}

// useCache has a role keep a kernel in the shared cache, and read it.
func (f *farm) useCache(role string) {
	f.Helper()
	key, err := sign.Create(filepath.Join(f.TempDir(), "key"))
	if err != nil {
		f.Fatal(err)
	}
	trusted, err := sign.ParseTrusted(role, key.Public())
	if err != nil {
		f.Fatal(err)
	}
	s := remote.New(remote.Options{
		Bus: f.options(role), Wait: 2 * time.Second, Sign: key, Trusted: trusted,
		Log: func(m string) { f.Log(role, m) },
	})
	defer s.Close()
	for i := range byte(6) { // of which the bucket holds three
		f.keepOne(s, role, cache.Key(sha256.Sum256([]byte{i})))
	}
}

func (f *farm) keepOne(s *remote.Store, role string, at cache.Key) {
	f.Helper()
	at[0] ^= role[0]
	claim, waited := s.Claim(f.Context(), at)
	if claim == nil || waited {
		f.Fatalf("%s cannot claim a kernel", role)
	}
	claim.Keep([]byte("index"), at, bytes.Repeat([]byte(role), 1_000_000/len(role)))
	if err := s.Flush(f.Context()); err != nil {
		f.Fatal(err)
	}
	var index, data []byte
	for try := 0; try < 1000 && (len(index) == 0 || len(data) == 0); try++ { // another server may learn of it a moment later
		index = s.Index(f.Context(), at)
		data, _ = s.Entry(f.Context(), at)
	}
	if string(index) != "index" || len(data) != 1_000_000/len(role)*len(role) {
		f.Errorf("%s reads the index %q and %d bytes", role, index, len(data))
	}
}

// allowed matches the subjects of a role in permissions.conf.
var allowed = regexp.MustCompile(`(?m)^ +"([^"]+)"$`)

// TestNothingElse: what another role may do, and a role itself may not, the server
// refuses; so it does with what is for the administrator alone, and with strangers.
func TestNothingElse(t *testing.T) {
	f := newFarm(t, 1)
	f.setUp()
	text, err := os.ReadFile(filepath.Join(files, "permissions.conf"))
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string][]string{}
	for _, part := range strings.Split(string(text), "\n}\n") {
		for _, role := range []string{"client", "compiler", "device"} {
			if strings.Contains(part, "\n"+strings.ToUpper(role)+" {") || strings.HasPrefix(part, strings.ToUpper(role)+" {") {
				for _, m := range allowed.FindAllStringSubmatch(part, -1) {
					lists[role] = append(lists[role], m[1])
				}
			}
		}
	}
	if len(lists) != 3 || len(lists["client"]) < 20 || len(lists["device"]) < 10 {
		t.Fatalf("permissions.conf is not understood: %v", lists)
	}
	never := []string{
		"$JS.API.STREAM.CREATE.x", "$JS.API.STREAM.CREATE.tritonc_v1_tasks", "$JS.API.STREAM.DELETE.tritonc_v1_tasks", "$JS.API.STREAM.UPDATE.tritonc_v1_tasks",
		"$JS.API.STREAM.PURGE.tritonc_v1_results", "$JS.API.STREAM.PURGE.KV_tritonc_v1_times", "$JS.API.STREAM.MSG.DELETE.KV_tritonc_v1_times",
		"$JS.API.CONSUMER.DELETE.tritonc_v1_tasks.x", "$JS.API.STREAM.SNAPSHOT.tritonc_v1_tasks", "$JS.API.STREAM.MSG.GET.tritonc_v1_tasks",
		"$JS.API.DIRECT.GET.tritonc_v1_tasks.x", "$JS.API.SERVER.REMOVE", "$SYS.REQ.SERVER.PING", "anything",
	}
	own := map[string][]string{ // the point of the roles, in words
		"client":   {"tritonc.v1.result.c.k", "$JS.API.CONSUMER.MSG.NEXT.tritonc_v1_tasks.c", "$JS.ACK.tritonc_v1_tasks.c.1", "$KV.tritonc_v1_workers.w", "$O.tritonc_v1_objects.x"},
		"compiler": {"tritonc.v1.task.c.k", "$KV.tritonc_v1_times.k", "$O.tritonc_v1_contents.x", "$JS.API.DIRECT.GET.OBJ_tritonc_v1_contents.x"},
		"device":   {"tritonc.v1.task.c.k", "$KV.tritonc_v1_times.k", "$O.tritonc_v1_contents.x", "$KV.tritonc_v1_index.k", "$O.tritonc_v1_kernels.x", "$KV.tritonc_v1_claims.k"},
	}
	for role, list := range lists {
		refused := slices.Concat(never, own[role])
		for _, others := range lists {
			for _, subject := range others {
				if !slices.Contains(list, subject) {
					refused = append(refused, strings.NewReplacer("*", "x", ">", "x").Replace(subject))
				}
			}
		}
		f.refuses(role, refused)
	}

	for name, change := range map[string]func(o *bus.Options){
		"nobody": func(o *bus.Options) { o.Cert, o.Key = "", "" },
		"unknown": func(o *bus.Options) {
			o.Cert, o.Key = filepath.Join(f.certs, "server.pem"), filepath.Join(f.certs, "server-key.pem")
		},
	} {
		o := f.options("client")
		change(&o)
		if b, err := bus.Connect(t.Context(), o); err == nil {
			b.Close()
			t.Errorf("%s is let in", name)
		}
	}
	operator := f.connect("operator")
	if _, err := operator.JetStream().AccountInfo(t.Context()); !errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) && err == nil {
		t.Error("the operator sees the farm")
	}
}

// refuses checks that the server lets a role publish to no subject of a list, nor listen
// to what is not its own.
func (f *farm) refuses(role string, subjects []string) {
	f.Helper()
	o := f.options(role)
	refused := make(chan error, 2*len(subjects)+8)
	conn, err := nats.Connect(f.urls[0], nats.RootCAs(o.CA), nats.ClientCert(o.Cert, o.Key), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	if err != nil {
		f.Fatal(err)
	}
	defer conn.Close()
	ask := func(what string, do func() error) {
		if err := errors.Join(do(), conn.Flush()); err != nil {
			f.Errorf("%s, %s: %v", role, what, err)
			return
		}
		select {
		case err := <-refused:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				f.Errorf("%s, %s: %v", role, what, err)
			}
		case <-time.After(5 * time.Second):
			f.Errorf("%s may publish to or read %s", role, what)
		}
	}
	slices.Sort(subjects)
	for _, subject := range slices.Compact(subjects) {
		ask(subject, func() error { return conn.Publish(subject, nil) })
	}
	for _, subject := range []string{">", "tritonc.v1.task.>", "tritonc.v1.result.>", "$KV.>", "$O.>", "$JS.>"} {
		ask("listening to "+subject, func() error {
			_, err := conn.SubscribeSync(subject)
			return err
		})
	}
}
