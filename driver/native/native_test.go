package native

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// fake is a library with one device, which notes what it is asked for. It fails where the
// test says so.
type fake struct {
	calls []string
	fail  string // a call
	next  Handle
}

func (f *fake) do(format string, args ...any) Status {
	call := fmt.Sprintf(format, args...)
	f.calls = append(f.calls, call)
	if name, _, _ := strings.Cut(call, " "); name == f.fail {
		return 7
	}
	return Success
}

func (f *fake) handle(name string) (Handle, Status) {
	f.next++
	return f.next, f.do("%s %d", name, f.next)
}

// said returns the calls since the last time.
func (f *fake) said() []string {
	list := f.calls
	f.calls = nil
	return list
}

func (f *fake) Version() string                          { return "FAKE 1" }
func (f *fake) Meaning(Status) (name, text, more string) { return "seven", "no luck", "on Mondays\n" }
func (f *fake) Help(Status) string                       { return "" }
func (f *fake) OutOfMemory(Status) bool                  { return false }
func (f *fake) Count() (int, Status)                     { return 1, Success }
func (f *fake) Choose(int) Status                        { return Success }
func (f *fake) Malloc(size int64) (Handle, Status)       { return f.handle(fmt.Sprintf("malloc %d:", size)) }
func (f *fake) Free(at Handle) Status                    { return f.do("free %d", at) }
func (f *fake) Left() (int64, Status)                    { return 0, 7 }
func (f *fake) Write(Handle, []byte) Status              { return f.do("write") }
func (f *fake) Read(Handle, []byte) Status               { return f.do("read") }
func (f *fake) Clear(Handle, int64, Handle) Status       { return f.do("clear") }
func (f *fake) NewStream() (Handle, Status)              { return f.handle("stream") }
func (f *fake) Wait(Handle) Status                       { return f.do("wait") }
func (f *fake) DestroyStream(at Handle) Status           { return f.do("endstream %d", at) }
func (f *fake) NewEvent() (Handle, Status)               { return f.handle("event") }
func (f *fake) Record(event, _ Handle) Status            { return f.do("record %d", event) }
func (f *fake) DestroyEvent(event Handle) Status         { return f.do("endevent %d", event) }

func (f *fake) Elapsed(begin, end Handle) (time.Duration, Status) {
	return time.Millisecond, f.do("elapsed %d %d", begin, end)
}

func (f *fake) Look(int) (*Device, error) {
	return &Device{Runs: func(sdk.Target) bool { return true }}, nil
}

func (f *fake) Load(s *Session, _ *sdk.DeviceBinary) (Code, error) {
	s.AtClose(func() error { return s.Explain("unloading", f.do("unload")) })
	return fakeCode{f}, s.Explain("loading", f.do("load"))
}

// fakeCode is a kernel, and its launches.
type fakeCode struct{ *fake }

func (c fakeCode) Name() string                              { return "k" }
func (c fakeCode) Prepare(*sdk.DeviceLaunch) (Launch, error) { return c, nil }
func (c fakeCode) Reserve() error                            { return Explain(c, "reserving", c.do("reserve")) }

func (c fakeCode) Ready() error { return Explain(c, "getting ready", c.do("ready")) }

func (c fakeCode) Start() error { return Explain(c, "starting", c.do("start")) }

func open(t *testing.T) (*fake, *Session, sdk.DeviceKernel) {
	t.Helper()
	f := &fake{}
	d := New(Vendor{Name: "fake", Backend: "fake", One: "one", All: "all", Open: func() (Library, error) { return f, nil }})
	s, err := d.Open(t.Context(), 0, sdk.Target{})
	if err != nil {
		t.Fatal(err)
	}
	k, err := s.Load(t.Context(), sdk.DeviceBinary{})
	if err != nil {
		t.Fatal(err)
	}
	f.said()
	return f, s.(*Session), k
}

// TestOrder: what a launch and a session's end ask of a library, and in which order.
func TestOrder(t *testing.T) {
	f, s, k := open(t)
	r, err := k.Launch(t.Context(), sdk.DeviceLaunch{})
	if err != nil || r.Time != time.Millisecond {
		t.Error(r, err)
	}
	want := []string{"reserve", "event 2", "event 3", "ready", "record 2", "start", "record 3", "wait", "elapsed 2 3", "endevent 2", "endevent 3"}
	if got := f.said(); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	region := s.Region("r")
	for _, size := range []int64{10, 5, 20} {
		if err := s.enter(func() error { return region.Reserve("a region", size) }); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Alloc(t.Context(), "x", 0); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	want = []string{"malloc 10: 4", "free 4", "malloc 20: 5", "malloc 1: 6", "free 5", "free 6", "unload", "endstream 1"}
	if got := f.said(); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// TestFailures: what fails keeps the rest from being tried, what was made is given back,
// and the error says all that the library does.
func TestFailures(t *testing.T) {
	for _, tt := range []struct{ fail, what, calls string }{
		{"reserve", "reserving", "reserve"},
		{"event", "making an event", "reserve, event 2"},
		{"ready", "getting ready", "reserve, event 2, event 3, ready, endevent 2, endevent 3"},
		{"record", "recording an event", "reserve, event 2, event 3, ready, record 2, endevent 2, endevent 3"},
		{"start", "starting", "reserve, event 2, event 3, ready, record 2, start, endevent 2, endevent 3"},
		{"elapsed", "reading the time", "reserve, event 2, event 3, ready, record 2, start, record 3, wait, elapsed 2 3, endevent 2, endevent 3"},
	} {
		f, s, k := open(t)
		f.fail = tt.fail
		_, err := k.Launch(t.Context(), sdk.DeviceLaunch{})
		if want := tt.what + ": seven (no luck)\n    on Mondays"; err == nil || err.Error() != want {
			t.Errorf("%s: %v", tt.fail, err)
		}
		if got := strings.Join(f.said(), ", "); got != tt.calls {
			t.Errorf("%s: %s", tt.fail, got)
		}
		f.fail = "free"
		if _, err := s.Alloc(t.Context(), "x", 1); err != nil {
			t.Error(err)
		}
		f.said()
		if err := s.Close(); err == nil || !strings.HasPrefix(err.Error(), "freeing x: seven") {
			t.Error(err)
		}
		if got := strings.Join(f.said(), ", "); !strings.HasSuffix(got, ", unload, endstream 1") {
			t.Errorf("a session's end after memory could not be freed: %s", got)
		}
	}
}

// TestEnded: nothing is launched once the caller is gone.
func TestEnded(t *testing.T) {
	f, s, k := open(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Time(ended, k, sdk.DeviceLaunch{}, sdk.DeviceTiming{Runs: 3})
	if !errors.Is(err, context.Canceled) || slices.Contains(f.said(), "start") {
		t.Error(err)
	}
}

// TestLost: after a fault all calls say that the device is lost, and none reaches the
// library.
func TestLost(t *testing.T) {
	f, s, k := open(t)
	f.fail = "wait"
	r, err := k.Launch(t.Context(), sdk.DeviceLaunch{})
	if err != nil || !r.Lost || len(r.Fault) != 1 || !strings.HasPrefix(r.Fault[0].Message, "kernel k: seven (no luck)") {
		t.Errorf("%+v, %v", r, err)
	}
	f.said()
	if _, err := k.Launch(t.Context(), sdk.DeviceLaunch{}); !errors.Is(err, sdk.ErrDeviceLost) {
		t.Error(err)
	}
	if _, err := s.Alloc(t.Context(), "x", 1); !errors.Is(err, sdk.ErrDeviceLost) {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if got := f.said(); len(got) > 0 {
		t.Error(got)
	}
}
