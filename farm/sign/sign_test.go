package sign

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/internal/testseed"
)

func create(t *testing.T) (*Key, Trusted) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	k, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Load(path, diag.Pos{})
	if err != nil || again.Public() != k.Public() {
		t.Fatalf("the file holds another key: %v", err)
	}
	if _, err := Create(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("a key is written over another: %v", err)
	}
	return k, Trusted{{Name: "ci", Key: k.private[32:]}}
}

// TestSeal: what was sealed opens for its kind and key, and with any bit changed, for
// anything else, or by anybody else, it does not.
func TestSeal(t *testing.T) {
	k, trusted := create(t)
	stranger, _ := create(t)
	seed := testseed.Seed()
	t.Logf("TRITONC_SEED=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	data := make([]byte, 300)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	key := [32]byte{1, 2, 3}
	sealed := k.Seal("entry", key, data)
	got, who, err := trusted.Open("entry", key, sealed)
	if err != nil || !bytes.Equal(got, data) || who.Name != "ci" || who.ID() != k.Public() || !trusted.Knows(who.ID()) {
		t.Fatalf("got %v by %v, %v", got, who, err)
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1 << (rng.Uint32() % 8)
		if got, _, err := trusted.Open("entry", key, changed); err == nil {
			t.Fatalf("with byte %d changed it opens: %q", i, got)
		}
	}
	for n := range sealed {
		if _, _, err := trusted.Open("entry", key, sealed[:n]); err == nil {
			t.Fatalf("its first %d bytes open", n)
		}
	}
	if _, _, err := trusted.Open("entry", [32]byte{1, 2, 4}, sealed); !errors.Is(err, ErrForged) {
		t.Errorf("under another key: %v", err)
	}
	if _, _, err := trusted.Open("index", key, sealed); !errors.Is(err, ErrForged) {
		t.Errorf("as another kind: %v", err)
	}
	if _, _, err := trusted.Open("entry", key, data); !errors.Is(err, ErrUnsigned) {
		t.Errorf("without a signature: %v", err)
	}
	var unknown *UnknownError
	if _, _, err := trusted.Open("entry", key, stranger.Seal("entry", key, data)); !errors.As(err, &unknown) || unknown.ID != stranger.Public() {
		t.Errorf("by a stranger: %v", err)
	}
	if _, _, err := Trusted(nil).Open("entry", key, sealed); !errors.As(err, &unknown) {
		t.Errorf("where nobody is trusted: %v", err)
	}
	statement := []byte("done")
	if err := trusted.Verify(statement, k.Sign(statement)); err != nil {
		t.Error(err)
	}
	if err := trusted.Verify([]byte("failed"), k.Sign(statement)); !errors.Is(err, ErrForged) {
		t.Errorf("another statement: %v", err)
	}
}

// TestLoad: a file that is not a key of its user's alone is refused, with a next step.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := filepath.Join(dir, "good")
	if _, err := Create(good); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		filepath.Join(dir, "none"):                                      "no such file",
		write("text", "hello", 0o600):                                   "not a private key",
		write("half", string(text[:len(text)/2]), 0o600):                "not a private key",
		write("odd", strings.Replace(string(text), "M", "N", 1), 0o600): "",
		dir: "",
	}
	if runtime.GOOS != "windows" {
		cases[write("open", string(text), 0o644)] = "others may read it"
		cases[write("shared", string(text), 0o662)] = "written by others"
	}
	for path, want := range cases {
		_, err := Load(path, diag.Pos{File: "tritonc.toml", Line: 3, Col: 8})
		list := diag.All(err)
		if len(list) != 1 || list[0].Help == "" || list[0].Pos.Line != 3 || !strings.Contains(list[0].Message, want) {
			t.Errorf("%s: got %v, want %q", filepath.Base(path), err, want)
		}
	}
	if path, err := exec.LookPath("openssl"); err == nil {
		theirs := filepath.Join(dir, "openssl")
		if out, err := exec.Command(path, "genpkey", "-algorithm", "ed25519", "-out", theirs).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if err := os.Chmod(theirs, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(theirs, diag.Pos{}); err != nil {
			t.Errorf("a key of OpenSSL's: %v", err)
		}
	}
}
