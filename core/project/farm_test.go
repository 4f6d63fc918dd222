package project

import (
	"strings"
	"testing"
	"time"

	"github.com/tritonc/tritonc/core/diag"
)

// publicKey is 32 bytes in base 64.
var publicKey = strings.Repeat("A", 43) + "="

// TestFarm: all keys, in both forms of a table.
func TestFarm(t *testing.T) {
	for _, text := range []string{
		"[farm]\nnats = \"nats://a:4222\"\ncredentials = \"a.creds\"\nca = \"ca.pem\"\ncert = \"c.pem\"\nkey = \"k.pem\"\nreplicas = 3\ncache_size = 1_024\n" +
			"cache_age = \"720h\"\nwait = \"80ms\"\nsign = \"s.key\"\n[farm.trusted]\nci = \"" + publicKey + "\"\n",
		"farm = { nats = \"nats://a:4222\", credentials = \"a.creds\", ca = \"ca.pem\", cert = \"c.pem\", key = \"k.pem\", replicas = 3, cache_size = 0x400, " +
			"cache_age = \"720h\", wait = \"80ms\", sign = \"s.key\", trusted = { ci = \"" + publicKey + "\" } }\n",
	} {
		file, err := Parse("t.toml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		f := file.Farm
		if f.NATS != "nats://a:4222" || f.Credentials != "a.creds" || f.CA != "ca.pem" || f.Cert != "c.pem" || f.Key != "k.pem" || f.Sign != "s.key" ||
			f.Replicas != 3 || f.CacheSize != 1024 || f.CacheAge != 720*time.Hour || f.Wait != 80*time.Millisecond {
			t.Errorf("got %+v", f)
		}
		if len(f.Trusted) != 1 || f.Trusted[0].Name != "ci" || len(f.Trusted[0].Key) != signerSize || !f.Trusted[0].Pos.IsValid() {
			t.Errorf("got %+v", f.Trusted)
		}
		if p := f.Pos["nats"]; p.File != "t.toml" || !p.IsValid() {
			t.Errorf("nats is at %v", p)
		}
	}
	file, err := Parse("t.toml", []byte("[backends]\n\"cuda:*\" = \"nvidia\"\n[farm]\n"))
	if err != nil || file.Farm.NATS != "" || len(file.Pins) != 1 {
		t.Errorf("got %+v, %v", file, err)
	}
}

// TestFarmMistakes: what is wrong is told with its place and a next step.
func TestFarmMistakes(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"[farm]\nnat = \"x\"\n", `t.toml:2:1: error: unknown key "nat"`},
		{"[farm]\nnats = 7\n", "t.toml:2:8: error: this is not a string"},
		{"[farm]\nnats = \"\"\n", "t.toml:2:8: error: nats is empty"},
		{"[farm]\nnats.a = \"x\"\n", "t.toml:2:1: error: nats is one value"},
		{"[[farm]]\n", "t.toml:1:3: error: [farm] is one table"},
		{"farm = 1\n", "t.toml:1:1: error: [farm] is one table"},
		{"[farm]\nreplicas = 0\n", "t.toml:2:12: error: this is not a whole number from 1 to 5"},
		{"[farm]\nreplicas = \"3\"\n", "t.toml:2:12: error: this is not a whole number from 1 to 5"},
		{"[farm]\ncache_size = 1.5\n", "t.toml:2:14: error: this is not a whole number"},
		{"[farm]\ncache_age = \"1s\"\n", "t.toml:2:13: error: 1s is less than 1m0s"},
		{"[farm]\nwait = 50\n", "t.toml:2:8: error: this is not a length of time"},
		{"[farm]\nwait = \"soon\"\n", "t.toml:2:8: error: this is not a length of time"},
		{"[farm]\ncert = \"c\"\n", "t.toml:2:1: error: the certificate has no key"},
		{"[farm]\nkey = \"c\"\n", "t.toml:2:1: error: the key has no certificate"},
		{"[farm.trusted]\nci = \"AAAA\"\n", "t.toml:2:6: error: this is not a public key"},
		{"[farm.trusted]\nci = \"" + publicKey[4:] + "\"\n", "t.toml:2:6: error: this is not a public key"},
		{"[farm.trusted.ci]\n", "t.toml:1:15: error: [farm.trusted] is one table of keys"},
	} {
		_, err := Parse("t.toml", []byte(tt.text))
		l := diag.All(err)
		if len(l) != 1 || !strings.HasPrefix(err.Error(), tt.want) || l[0].Line != diag.LineAt(tt.text, l[0].Pos.Line) || l[0].Help == "" {
			t.Errorf("%q: got %v, want %s and a next step", tt.text, err, tt.want)
		}
	}
}
