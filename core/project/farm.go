package project

import (
	"encoding/base64"
	"strconv"
	"time"

	"github.com/tritonc/tritonc/core/diag"
)

// farm is the table of what is shared between machines.
const farm = "farm"

// Farm says by which servers machines share what they compile, and whom they believe.
// Files are as the user wrote them: relative to the folder of tritonc.toml.
type Farm struct {
	NATS        string // the servers' URLs, separated by commas; "" where nothing is shared
	Credentials string // a file of NATS's
	CA          string // a file of certificates to believe
	Cert, Key   string // files of the client's own certificate
	Replicas    int    // on how many servers everything is kept; 0: the default
	CacheSize   int64  // MiB of kernels; 0: the default
	CacheAge    time.Duration
	Wait        time.Duration // that a compile may wait for the servers; 0: the default
	Sign        string        // a file with the key that entries are signed by
	Trusted     []Signer      // whose entries are taken, in the order of the file

	// Pos are the places of values by their keys.
	Pos map[string]diag.Pos

	table, cert, key word
}

// Signer is a line of the table [farm.trusted].
type Signer struct {
	Name string
	Key  []byte // public, of ed25519
	Pos  diag.Pos
}

// signerSize is the length of a public key of ed25519.
const signerSize = 32

// farmKeys says what each key of [farm] is.
var farmKeys = []struct {
	name string
	help string
	set  func(f *Farm, e *entry) *diag.Diagnostic
}{
	{"nats", `nats = "nats://HOST:4222"`, str(func(f *Farm) *string { return &f.NATS })},
	{"credentials", `credentials = "FILE.creds"`, str(func(f *Farm) *string { return &f.Credentials })},
	{"ca", `ca = "FILE.pem"`, str(func(f *Farm) *string { return &f.CA })},
	{"cert", `cert = "FILE.pem"`, str(func(f *Farm) *string { return &f.Cert })},
	{"key", `key = "FILE.pem"`, str(func(f *Farm) *string { return &f.Key })},
	{"replicas", "replicas = 3", func(f *Farm, e *entry) *diag.Diagnostic {
		n, d := e.whole(1, 5)
		f.Replicas = int(n)
		return d
	}},
	{"cache_size", "cache_size = 4096, in MiB", func(f *Farm, e *entry) (d *diag.Diagnostic) {
		f.CacheSize, d = e.whole(1, 1<<30)
		return d
	}},
	{"cache_age", `cache_age = "720h"`, duration(time.Minute, func(f *Farm) *time.Duration { return &f.CacheAge })},
	{"wait", `wait = "50ms"`, duration(time.Millisecond, func(f *Farm) *time.Duration { return &f.Wait })},
	{"sign", `sign = "FILE"`, str(func(f *Farm) *string { return &f.Sign })},
}

func str(at func(*Farm) *string) func(*Farm, *entry) *diag.Diagnostic {
	return func(f *Farm, e *entry) *diag.Diagnostic {
		if !e.text {
			return e.value.errorf("this is not a string")
		}
		if e.value.name == "" {
			return e.value.errorf("%s is empty", e.path[1].name)
		}
		*at(f) = e.value.name
		return nil
	}
}

func duration(least time.Duration, at func(*Farm) *time.Duration) func(*Farm, *entry) *diag.Diagnostic {
	return func(f *Farm, e *entry) *diag.Diagnostic {
		d, err := time.ParseDuration(e.value.name)
		if !e.text || err != nil {
			return e.value.errorf("this is not a length of time, as a string")
		}
		if d < least {
			return e.value.errorf("%v is less than %v", d, least)
		}
		*at(f) = d
		return nil
	}
}

// whole is the number that an entry has.
func (e *entry) whole(least, most int64) (int64, *diag.Diagnostic) {
	n, err := strconv.ParseInt(e.value.name, 0, 64)
	if !e.number || err != nil || n < least || n > most {
		return 0, e.value.errorf("this is not a whole number from %d to %d", least, most)
	}
	return n, nil
}

const trustedHelp = `a line of [farm.trusted] is NAME = "KEY", as tritonc cache key prints it`

// add takes in one entry of the table.
func (f *Farm) add(e *entry) *diag.Diagnostic {
	f.table = e.path[0]
	if e.array || len(e.path) == 1 && !e.header {
		return e.path[0].errorf("[%s] is one table", farm).WithHelp(`[farm] has lines such as nats = "nats://HOST:4222"`)
	}
	if len(e.path) == 1 {
		return nil
	}
	key := e.path[1]
	if key.name == "trusted" {
		return f.addSigner(e)
	}
	var names []string
	for i := range farmKeys {
		k := &farmKeys[i]
		if k.name != key.name {
			names = append(names, k.name)
			continue
		}
		if len(e.path) > 2 || e.header {
			return key.errorf("%s is one value", key.name).WithHelp("%s", k.help)
		}
		if f.Pos == nil {
			f.Pos = map[string]diag.Pos{}
		}
		f.Pos[key.name] = e.value.pos
		switch key.name {
		case "cert":
			f.cert = key
		case "key":
			f.key = key
		}
		if d := k.set(f, e); d != nil {
			return d.WithHelp("for example %s", k.help)
		}
		return nil
	}
	d := key.errorf("unknown key %q", key.name)
	if near := diag.Closest(key.name, append(names, "trusted")); near != "" {
		return d.WithHelp("did you mean %s?", near)
	}
	return d.WithHelp("[%s] has nats, credentials, ca, cert, key, replicas, cache_size, cache_age, wait, sign and the table trusted", farm)
}

func (f *Farm) addSigner(e *entry) *diag.Diagnostic {
	if e.header && len(e.path) == 2 {
		return nil
	}
	if len(e.path) != 3 || e.header {
		return e.path[len(e.path)-1].errorf("[farm.trusted] is one table of keys").WithHelp("%s", trustedHelp)
	}
	key, err := base64.StdEncoding.DecodeString(e.value.name)
	if !e.text || err != nil || len(key) != signerSize {
		return e.value.errorf("this is not a public key").WithHelp("%s", trustedHelp)
	}
	f.Trusted = append(f.Trusted, Signer{Name: e.path[2].name, Key: key, Pos: e.value.pos})
	return nil
}

// check says what is wrong with the table as a whole.
func (f *Farm) check() *diag.Diagnostic {
	switch {
	case f.Cert != "" && f.Key == "":
		return f.cert.errorf("the certificate has no key").WithHelp(`key = "FILE.pem" names it`)
	case f.Key != "" && f.Cert == "":
		return f.key.errorf("the key has no certificate").WithHelp(`cert = "FILE.pem" names it`)
	}
	return nil
}
