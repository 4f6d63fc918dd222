package bus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/farm/bus"
	"github.com/tritonc/tritonc/internal/natstest"
)

func connect(t *testing.T, opts bus.Options) *bus.Bus {
	t.Helper()
	opts.Timeout = 20 * time.Second
	b, err := bus.Connect(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// wantKind checks that an error is of a kind, and one diagnostic with a next step.
func wantKind(t *testing.T, err error, kind bus.Kind, words ...string) {
	t.Helper()
	list := diag.All(err)
	if bus.KindOf(err) != kind || len(list) != 1 || list[0].Help == "" {
		t.Fatalf("got %v (%v), want one diagnostic of the kind %v, with a next step", err, bus.KindOf(err), kind)
	}
	for _, w := range words {
		if !strings.Contains(list[0].Message, w) {
			t.Errorf("%q does not say %q", list[0].Message, w)
		}
	}
}

// TestConnectFails: whatever is wrong has a kind, one message and a next step.
func TestConnectFails(t *testing.T) {
	locked := natstest.Run(t, func(o *server.Options) { o.Authorization = "secret"; o.JetStream = false })
	config, ca := natstest.Certificate(t, time.Now().Add(-time.Hour))
	secure := natstest.Run(t, func(o *server.Options) { o.TLS, o.TLSConfig, o.JetStream = true, config, false })
	early, earlyCA := natstest.Certificate(t, time.Now().Add(24*time.Hour))
	tomorrow := natstest.Run(t, func(o *server.Options) { o.TLS, o.TLSConfig, o.JetStream = true, early, false })
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		opts  bus.Options
		kind  bus.Kind
		words []string
	}{
		{"nobody there", bus.Options{URLs: []string{"nats://127.0.0.1:1"}}, bus.NoServer, []string{"there is no NATS server at nats://127.0.0.1:1"}},
		{"a server that says nothing", bus.Options{URLs: []string{natstest.Stalled(t)}, Timeout: 100 * time.Millisecond}, bus.Slow, []string{"did not answer within 100ms"}},
		{"no token", bus.Options{URLs: []string{locked.URL()}}, bus.Refused, []string{"refuses"}},
		{"a wrong token", bus.Options{URLs: []string{strings.Replace(locked.URL(), "//", "//wrong@", 1)}}, bus.Refused, []string{"xxxxx@"}},
		{"no such credentials", bus.Options{URLs: []string{locked.URL()}, Credentials: text + "2"}, bus.Setting, []string{"credentials", text + "2"}},
		{"an unknown certificate", bus.Options{URLs: []string{strings.Replace(secure.URL(), "nats:", "tls:", 1)}}, bus.TLS, []string{"certificate"}},
		{"a clock a day slow", bus.Options{URLs: []string{tomorrow.URL()}, CA: earlyCA}, bus.TLS, []string{"not yet valid"}},
		{"no certificates", bus.Options{URLs: []string{secure.URL()}, CA: text}, bus.Setting, []string{"holds no certificate"}},
		{"half a pair", bus.Options{URLs: []string{secure.URL()}, CA: ca, Cert: ca, Key: text}, bus.Setting, []string{"client's certificate"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.opts.From = diag.Pos{File: "tritonc.toml", Line: 2, Col: 8}
			about := tt.opts.From
			if tt.kind == bus.Setting { // of a file, whose own key is there, too
				about.Line = 3
				tt.opts.At = func(string) (diag.Pos, string) { return about, "its line" }
			}
			_, err := bus.Connect(t.Context(), tt.opts)
			wantKind(t, err, tt.kind, tt.words...)
			if list := diag.All(err); list[0].Pos != about {
				t.Errorf("the message is about %v", list[0].Pos)
			}
			if strings.Contains(err.Error(), "wrong@") {
				t.Errorf("the message tells the token: %v", err)
			}
		})
	}
	connect(t, bus.Options{URLs: []string{secure.URL()}, CA: ca})
	connect(t, bus.Options{URLs: []string{"nats://127.0.0.1:1", strings.Replace(locked.URL(), "//", "//secret@", 1)}})
}

// TestConnectEnds: a context that ends is enough for Connect to return.
func TestConnectEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := bus.Connect(ctx, bus.Options{URLs: []string{natstest.Stalled(t)}, Timeout: time.Hour})
	if err == nil {
		t.Fatal("a stalled server is connected with")
	}
}

func TestNoJetStream(t *testing.T) {
	b := connect(t, bus.Options{URLs: []string{natstest.Run(t, func(o *server.Options) { o.JetStream = false }).URL()}})
	wantKind(t, b.Check(t.Context()), bus.NoJetStream)
	_, err := b.KeyValue(t.Context(), bus.Spec{Name: "x", Form: "1"})
	wantKind(t, err, bus.NoJetStream)
}

// TestStores: what is made is found again, and what is another's is left alone.
func TestStores(t *testing.T) {
	ctx := t.Context()
	s := natstest.Run(t)
	b := connect(t, bus.Options{URLs: []string{s.URL()}})
	if err := b.Check(ctx); err != nil {
		t.Fatal(err)
	}
	spec := bus.Spec{Name: "keys", Form: "1", MaxBytes: 1 << 20, MaxAge: time.Hour, MarkerTTL: time.Second}
	kv, err := b.KeyValue(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.PutString(ctx, "a", "b"); err != nil {
		t.Fatal(err)
	}
	again, err := connect(t, bus.Options{URLs: []string{s.URL()}}).KeyValue(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := again.Get(ctx, "a"); err != nil || string(e.Value()) != "b" {
		t.Errorf("got %v, %v", e, err)
	}
	objects, err := b.Objects(ctx, bus.Spec{Name: "things", Form: "1", MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := objects.PutBytes(ctx, "a", []byte("b")); err != nil {
		t.Fatal(err)
	}
	stream := bus.Spec{Name: "work", Form: "1", Memory: true}
	for range 2 {
		w, err := b.Stream(ctx, stream, jetstream.StreamConfig{Subjects: []string{bus.Subject("work", ">")}, Retention: jetstream.WorkQueuePolicy})
		if err != nil {
			t.Fatal(err)
		}
		if c := w.CachedInfo().Config; c.Name != "tritonc_v1_work" || c.Retention != jetstream.WorkQueuePolicy || c.Storage != jetstream.MemoryStorage || c.Subjects[0] != "tritonc.v1.work.>" {
			t.Errorf("got %+v", c)
		}
	}

	spec.Form = "2"
	_, err = b.KeyValue(ctx, spec)
	wantKind(t, err, bus.Foreign, `its form is "1"`, `knows "2"`)
	if _, err := b.JetStream().CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "tritonc_v1_mine"}); err != nil {
		t.Fatal(err)
	}
	_, err = b.KeyValue(ctx, bus.Spec{Name: "mine", Form: "1"})
	wantKind(t, err, bus.Foreign, "not made by tritonc")
	for _, name := range []string{"tritonc_v0_old", "tritonc_v2_new"} {
		if _, err := b.JetStream().CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: name}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Objects(ctx, bus.Spec{Name: "old", Form: "1"}); err != nil {
		t.Errorf("beside an older bucket: %v", err)
	}
	_, err = b.Objects(ctx, bus.Spec{Name: "new", Form: "1"})
	wantKind(t, err, bus.Foreign, "tritonc_v2_new", "newer")
}

// TestNoRoom: a server without room says so, and more replicas than servers are told.
func TestNoRoom(t *testing.T) {
	ctx := t.Context()
	s := natstest.Run(t, func(o *server.Options) { o.JetStreamMaxStore = 1 << 20 })
	b := connect(t, bus.Options{URLs: []string{s.URL()}})
	_, err := b.Objects(ctx, bus.Spec{Name: "large", Form: "1", MaxBytes: 1 << 30})
	wantKind(t, err, bus.Full)
	store, err := b.Objects(ctx, bus.Spec{Name: "small", Form: "1", MaxBytes: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.PutBytes(ctx, "x", make([]byte, 512<<10))
	wantKind(t, b.Explain(err, "keeping a kernel"), bus.Full, "keeping a kernel")
	_, err = connect(t, bus.Options{URLs: []string{s.URL()}, Replicas: 3}).KeyValue(ctx, bus.Spec{Name: "three", Form: "1"})
	if err == nil {
		t.Fatal("one server keeps three replicas")
	}
}

// TestDenied: a user without the permission is told which server does not allow what.
func TestDenied(t *testing.T) {
	s := natstest.Run(t, func(o *server.Options) {
		account := server.NewAccount("A")
		o.Accounts = []*server.Account{account}
		o.Users = []*server.User{{
			Username: "reader", Password: "r", Account: account,
			Permissions: &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"$JS.API.>"}}},
		}}
	})
	account, err := s.LookupAccount("A")
	if err != nil {
		t.Fatal(err)
	}
	if err := account.EnableJetStream(nil, nil); err != nil {
		t.Fatal(err)
	}
	b := connect(t, bus.Options{URLs: []string{strings.Replace(s.URL(), "//", "//reader:r@", 1)}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
	defer cancel()
	_, err = b.KeyValue(ctx, bus.Spec{Name: "x", Form: "1"})
	wantKind(t, err, bus.Denied, "reader:xxxxx@")
}

// TestLost: a server that is killed ends what is under way, and one that comes back is
// found again by a connection that stays.
func TestLost(t *testing.T) {
	ctx := t.Context()
	s := natstest.Run(t)
	spec := bus.Spec{Name: "keys", Form: "1"}
	gone := connect(t, bus.Options{URLs: []string{s.URL()}})
	stays := connect(t, bus.Options{URLs: []string{s.URL()}, Stay: true})
	kv, err := stays.KeyValue(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.PutString(ctx, "a", "b"); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err = gone.KeyValue(short, spec)
	wantKind(t, err, bus.NoServer)
	s.Restart()
	for end := time.Now().Add(30 * time.Second); ; {
		if e, err := kv.Get(ctx, "a"); err == nil {
			if string(e.Value()) != "b" {
				t.Errorf("got %q", e.Value())
			}
			return
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestCluster: with three replicas a server may die, and nothing is lost.
func TestCluster(t *testing.T) {
	ctx := t.Context()
	list := natstest.Cluster(t, 3)
	b := connect(t, bus.Options{URLs: natstest.URLs(list), Replicas: 3, Stay: true})
	kv, err := b.KeyValue(ctx, bus.Spec{Name: "keys", Form: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.PutString(ctx, "a", "b"); err != nil {
		t.Fatal(err)
	}
	list[0].Stop()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		short, cancel := context.WithTimeout(ctx, time.Second)
		e, err := kv.Get(short, "a")
		cancel()
		if err == nil {
			if string(e.Value()) != "b" {
				t.Errorf("got %q", e.Value())
			}
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func TestParseURLs(t *testing.T) {
	got, err := bus.ParseURLs("nats://a:4222, tls://b")
	if err != nil || len(got) != 2 || got[1] != "tls://b" {
		t.Errorf("got %v, %v", got, err)
	}
	for _, text := range []string{"", "a:4222", "http://a", "nats://", "nats://a,", "nats://a b"} {
		if _, err := bus.ParseURLs(text); err == nil || diag.All(err)[0].Help == "" {
			t.Errorf("%q: got %v", text, err)
		}
	}
	if _, err := bus.ParseURLs("http://me:secret@a"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("the message tells the password: %v", err)
	}
	if bus.KindOf(errors.New("x")) != bus.Other {
		t.Error("any error has a kind")
	}
}

// TestObject: an object that was put by one server of a cluster is read whole by another,
// which learns of it, and of its bytes, a moment later.
func TestObject(t *testing.T) {
	list := natstest.Cluster(t, 3)
	var buses []*bus.Bus
	var stores []jetstream.ObjectStore
	for _, s := range list {
		b := connect(t, bus.Options{URLs: []string{s.URL()}, Replicas: 3})
		var store jetstream.ObjectStore
		for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) { // a new cluster may lack peers for a while
			var err error
			if store, err = b.Objects(t.Context(), bus.Spec{Name: "objects", Form: "1", MaxBytes: 64 << 20}); err == nil {
				break
			}
			if time.Now().After(end) {
				t.Fatal(err)
			}
		}
		buses, stores = append(buses, b), append(stores, store)
	}
	for i := range 24 {
		name, data := fmt.Sprint(i), bytes.Repeat([]byte{byte(i), 1}, 150_000)
		if _, err := stores[i%3].PutBytes(t.Context(), name, data); err != nil {
			t.Fatal(err)
		}
		other := (i + 1) % 3
		if got, err := buses[other].Object(t.Context(), stores[other], name); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d: %d bytes, %v", i, len(got), err)
		}
	}
	if _, err := buses[0].Object(t.Context(), stores[0], "none"); !errors.Is(err, jetstream.ErrObjectNotFound) {
		t.Errorf("of what is not there: %v", err)
	}
}
