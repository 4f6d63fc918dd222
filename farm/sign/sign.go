package sign

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/input"
	"github.com/tritonc/tritonc/core/trust"
)

// Key is a private key.
type Key struct{ private ed25519.PrivateKey }

// pemType is that of PKCS #8, which OpenSSL writes, too.
const pemType = "PRIVATE KEY"

// Create makes a key and the file that holds it, which must not be there yet.
func Create(path string) (*Key, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return &Key{private}, nil
}

// Load reads a key from a file, which pos speaks of in a diagnostic.
func Load(path string, pos diag.Pos) (*Key, error) {
	refuse := func(format string, args ...any) (*Key, error) {
		return nil, diag.Errorf(pos, "the key %s cannot be used: %s", path, fmt.Sprintf(format, args...)).
			WithHelp("tritonc cache key FILE makes one; keep it for yourself (chmod 600)")
	}
	info, err := os.Stat(path)
	if err != nil {
		return refuse("%v", plain(err))
	}
	var bad *trust.Error
	switch err := trust.Check(path, info); {
	case errors.As(err, &bad):
		return refuse("%s", bad.Reason)
	case err != nil:
		return refuse("%v", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return refuse("others may read it")
	}
	text, err := input.ReadFile(path, input.Text)
	if err != nil {
		return refuse("%v", plain(err))
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != pemType {
		return refuse("it is not a private key in PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return refuse("%v", err)
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return refuse("it is not of Ed25519")
	}
	return &Key{private}, nil
}

// plain is an error of the file system without the path, which comes before it.
func plain(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// Public is the public key, as tritonc.toml lists it.
func (k *Key) Public() string {
	return text(k.private.Public().(ed25519.PublicKey))
}

func text(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// Sign signs a statement. The signature says whose it is: PUBLIC.SIGNATURE, both in
// base 64.
func (k *Key) Sign(statement []byte) string {
	return k.Public() + "." + text(ed25519.Sign(k.private, statement))
}

// Trustee is somebody who is believed.
type Trustee struct {
	Name string
	Key  []byte // public
}

// ID is the public key, as tritonc.toml lists it.
func (t *Trustee) ID() string { return text(t.Key) }

// Trusted are those who are believed.
type Trusted []Trustee

// Knows reports whether somebody with an ID is among them.
func (l Trusted) Knows(id string) bool {
	return slices.ContainsFunc(l, func(t Trustee) bool { return t.ID() == id })
}

// Errors of a signature that is not accepted.
var (
	ErrUnsigned = errors.New("it is not signed")
	ErrForged   = errors.New("its signature is not that of its content")
)

// UnknownError is the error of a signature of somebody who is not trusted.
type UnknownError struct{ ID string }

func (e *UnknownError) Error() string { return "it is signed by " + e.ID + ", who is not trusted" }

// Check returns who signed a statement.
func (l Trusted) Check(statement []byte, signature string) (*Trustee, error) {
	public, sig, ok := strings.Cut(signature, ".")
	if !ok {
		return nil, ErrUnsigned
	}
	key, err := base64.StdEncoding.Strict().DecodeString(public)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, ErrUnsigned
	}
	i := slices.IndexFunc(l, func(t Trustee) bool { return bytes.Equal(t.Key, key) })
	if i < 0 {
		return nil, &UnknownError{public}
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(sig)
	if err != nil || !ed25519.Verify(key, statement, raw) {
		return nil, ErrForged
	}
	return &l[i], nil
}

// Verify is Check for those who need not know who signed.
func (l Trusted) Verify(statement []byte, signature string) error {
	_, err := l.Check(statement, signature)
	return err
}

// magic begins sealed data. The signature, a newline and the data follow.
const magic = "tritonc signed 1 "

// maxHead is the length of what comes before the data, at most.
const maxHead = len(magic) + 256

// Seal is data with a signature that they are of a kind and lie under a key.
func (k *Key) Seal(kind string, key [sha256.Size]byte, data []byte) []byte {
	head := magic + k.Sign(statement(kind, key, data)) + "\n"
	return append([]byte(head), data...)
}

// Open returns the data that were sealed for a kind and a key, and who sealed them.
func (l Trusted) Open(kind string, key [sha256.Size]byte, sealed []byte) ([]byte, *Trustee, error) {
	signature, data, ok := split(sealed)
	if !ok {
		return nil, nil, ErrUnsigned
	}
	who, err := l.Check(statement(kind, key, data), signature)
	if err != nil {
		return nil, nil, err
	}
	return data, who, nil
}

// OpenAnyones is Open for who takes data of anybody, sealed or not. A signature must be that
// of the data all the same.
func OpenAnyones(kind string, key [sha256.Size]byte, data []byte) ([]byte, error) {
	signature, inner, ok := split(data)
	if !ok {
		return data, nil
	}
	id, _, _ := strings.Cut(signature, ".")
	whose, err := ParseTrusted("", id)
	if err != nil {
		return nil, ErrForged
	}
	_, err = whose.Check(statement(kind, key, inner), signature)
	return inner, err
}

// split takes sealed data apart.
func split(sealed []byte) (signature string, data []byte, ok bool) {
	rest, ok := bytes.CutPrefix(sealed, []byte(magic))
	if !ok {
		return "", nil, false
	}
	end := bytes.IndexByte(rest[:min(len(rest), maxHead)], '\n')
	if end < 0 {
		return "", nil, false
	}
	return string(rest[:end]), rest[end+1:], true
}

func statement(kind string, key [sha256.Size]byte, data []byte) []byte {
	sum := sha256.Sum256(data)
	return []byte("tritonc " + kind + " 1\n" + hex.EncodeToString(key[:]) + "\n" + hex.EncodeToString(sum[:]))
}

// ParseTrusted is somebody with a name whose key is as tritonc.toml lists it.
func ParseTrusted(name, id string) (Trusted, error) {
	key, err := base64.StdEncoding.Strict().DecodeString(id)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("%q is not a public key", id)
	}
	return Trusted{{Name: name, Key: key}}, nil
}
