package remote

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tritonc/tritonc/farm/local"
)

// smallDisk starts a server whose files lie on a disk of its own of some MiB.
func smallDisk(t *testing.T, size int) (url string) {
	t.Helper()
	if err := exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt").Run(); err != nil {
		t.Skipf("no small disk can be made: %v", err)
	}
	dir := local.Folder(filepath.Join(t.TempDir(), "nats"))
	program := filepath.Join(t.TempDir(), local.Program)
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/tritonc-nats").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.MkdirAll(dir.Store(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(string(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "-rm", "sh", "-c", fmt.Sprintf(`mount -t tmpfs -o size=%dm none "$1" && exec "$2" --dir "$3" --until-eof`, size),
		"sh", dir.Store(), program, string(dir))
	var said bytes.Buffer
	cmd.Stderr = &said
	lifeline, err := cmd.StdinPipe() // the server ends also when this test is killed
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = lifeline.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for end := time.Now().Add(patient); ; time.Sleep(5 * time.Millisecond) {
		if n, ok := dir.Running(); ok {
			return n.URL
		}
		if time.Now().After(end) {
			t.Fatalf("no server starts: %s", said.String())
		}
	}
}

// TestFullDisk: a server whose disk is full costs one warning; kernels are compiled, those
// that are there can be read, and none is wrong.
func TestFullDisk(t *testing.T) {
	url := smallDisk(t, 8)
	k, trusted := newKey(t)
	m := newMachine(t, []string{url}, k, trusted, func(o *Options) { o.MaxBytes, o.Wait, o.Off = 256<<20, 3*time.Second, time.Hour })
	want := map[string][]byte{}
	for i := range 40 {
		key := fmt.Sprint("k", i)
		want[key] = random(t, 300_000)
		if got := m.make(t, key, func() []byte { return want[key] }); !bytes.Equal(got, want[key]) {
			t.Fatalf("%s is another", key)
		}
		m.flush(t)
	}
	w := m.warnings()
	if len(w) != 1 || w[0].Help == "" || !strings.HasPrefix(w[0].Message, "the shared cache is not used") || !strings.Contains(w[0].Message, "writing to the shared cache") {
		t.Errorf("warned: %v", w)
	}
	reader := newMachine(t, []string{url}, nil, trusted)
	found := 0
	for key, data := range want {
		got, _ := reader.Entry(t.Context(), keyOf(key, "entry"))
		switch {
		case got == nil:
		case bytes.Equal(got, data):
			found++
		default:
			t.Errorf("%s is not what it was", key)
		}
	}
	if found < 10 || found == len(want) || len(reader.warnings()) > 0 {
		t.Errorf("%d of %d entries are there; warned: %v", found, len(want), reader.warnings())
	}
	other := newMachine(t, []string{url}, k, trusted)
	for key := range want {
		if data, _ := reader.Entry(t.Context(), keyOf(key, "entry")); data != nil {
			continue
		}
		claim, waited := other.Claim(t.Context(), keyOf(key))
		if claim == nil || waited {
			t.Fatalf("the claim on %s is left behind", key)
		}
		claim.Drop()
	}
}
