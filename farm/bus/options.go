package bus

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tritonc/tritonc/core/diag"
)

// DefaultTimeout bounds a connection where Options name no other bound.
const DefaultTimeout = 2 * time.Second

// Options say where the servers are and who we are to them.
type Options struct {
	// URLs of the servers of one cluster: nats://HOST:PORT or tls://HOST:PORT.
	URLs []string
	// From is where the user wrote them; without a line they are from the command line.
	From diag.Pos
	// Line is the text of From's line, which messages show.
	Line string
	// At is where the user wrote a key of the table [farm], with the text of its line; nil:
	// nowhere.
	At func(key string) (diag.Pos, string)
	// Credentials is a file of NATS's, with a user's token and seed; "" for none.
	Credentials string
	// CA is a file of certificates to believe besides the system's; "" for none.
	CA string
	// Cert and Key are the client's own, for a server that asks for one.
	Cert, Key string
	// Name is what the server's lists call this connection.
	Name string
	// Replicas is on how many servers new streams and buckets are kept; 0 is 1.
	Replicas int
	// Timeout bounds the connection; 0 is DefaultTimeout.
	Timeout time.Duration
	// Stay has a lost connection come back, however long that takes. Without it the
	// connection ends.
	Stay bool
}

// ParseURLs reads URLs that commas separate.
func ParseURLs(text string) ([]string, error) {
	var list []string
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			return nil, diag.Errorf(diag.Pos{}, "a server has no name").WithHelp("%s", urlHelp)
		}
		u, err := url.Parse(part)
		if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" {
			return nil, diag.Errorf(diag.Pos{}, "%q is not the URL of a NATS server", redacted(part)).WithHelp("%s", urlHelp)
		}
		list = append(list, part)
	}
	return list, nil
}

const urlHelp = "for example nats://farm.example:4222, or tls:// where the server has a certificate; several of one cluster are separated by commas"

// redacted is a URL without its password, nor a token in the place of a user.
func redacted(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "…"
	case u.User == nil:
		return text
	}
	if _, has := u.User.Password(); !has {
		u.User = url.User("xxxxx")
	}
	return u.Redacted()
}

// Servers is the URLs as messages have them.
func (o *Options) Servers() string {
	list := make([]string, len(o.URLs))
	for i, u := range o.URLs {
		list[i] = redacted(u)
	}
	return strings.Join(list, ", ")
}

func (o *Options) timeout() time.Duration {
	if o.Timeout > 0 {
		return o.Timeout
	}
	return DefaultTimeout
}

// client is what nats.go is told. Files are read here, so that a missing one has a
// message of its own.
func (o *Options) client(seen func(error)) ([]nats.Option, error) {
	list := []nats.Option{
		nats.Name(o.Name), nats.Timeout(o.timeout()), nats.DontRandomize(),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { seen(err) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { seen(err) }),
	}
	if o.Stay {
		list = append(list, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond))
	} else {
		list = append(list, nats.NoReconnect())
	}
	if o.Credentials != "" {
		if err := o.readable("credentials", "credentials", o.Credentials); err != nil {
			return nil, err
		}
		list = append(list, nats.UserCredentials(o.Credentials))
	}
	if o.CA == "" && o.Cert == "" {
		return list, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CA != "" {
		if err := o.readable("ca", "certificates", o.CA); err != nil {
			return nil, err
		}
		pem, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, o.settingf("ca", err, "the file of certificates cannot be read: %v", plainPath(err))
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, o.settingf("ca", nil, "%s holds no certificate", o.CA).
				withHelp("it is a text with -----BEGIN CERTIFICATE-----, of whoever signed the server's")
		}
	}
	if o.Cert != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, o.settingf("cert", err, "the client's certificate cannot be used: %v", err).
				withHelp("cert and key name the files of one certificate and its key")
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return append(list, nats.Secure(config)), nil
}

// settingf is the error of a key of the table [farm], where that was written.
func (o *Options) settingf(key string, cause error, format string, args ...any) *Error {
	e := o.errorf(Setting, cause, format, args...)
	if o.At != nil {
		if pos, line := o.At(key); pos.IsValid() {
			e.shown.Pos, e.shown.Line = pos, line
		}
	}
	return e
}

// readable refuses a file that is not there.
func (o *Options) readable(key, what, file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return o.settingf(key, err, "the file of %s %s cannot be read: %v", what, file, plainPath(err)).withHelp(key + " in the table [farm] of tritonc.toml names it")
	case !info.Mode().IsRegular():
		return o.settingf(key, nil, "the file of %s is not a file: %s", what, file).withHelp(key + " in the table [farm] of tritonc.toml names it")
	}
	return nil
}

// plainPath is an error of the file system without the path, which stands before it.
func plainPath(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
