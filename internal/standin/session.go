package standin

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Log is where a stand-in notes launches, among others.
type Log string

// NewLog has stand-ins write to a new log.
func NewLog(t testing.TB) Log {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	t.Setenv("STANDIN_LOG", path)
	return Log(path)
}

// Read returns what was written since the last time.
func (l Log) Read(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(string(l))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	os.Remove(string(l))
	return string(text)
}

// Open opens the first device of a driver for the time of the test.
func Open(t testing.TB, d sdk.DeviceDriver, target sdk.Target) sdk.Device {
	t.Helper()
	s, err := d.Open(t.Context(), 0, target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Alloc allocates memory of a device.
func Alloc(t testing.TB, s sdk.Device, name string, size int64) sdk.DeviceBuffer {
	t.Helper()
	b, err := s.Alloc(t.Context(), name, size)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Number is an argument of those bytes.
func Number(v ...byte) sdk.DeviceArg { return sdk.DeviceArg{Scalar: v} }

// Wants checks that an error's text and help have some texts in them.
func Wants(t testing.TB, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error; want %q", texts)
		return
	}
	said := err.Error()
	if d, ok := errors.AsType[*sdk.Diagnostic](err); ok {
		said += "\n" + d.Help
	}
	for _, text := range texts {
		if !strings.Contains(said, text) {
			t.Errorf("%q does not say %q", said, text)
		}
	}
}
