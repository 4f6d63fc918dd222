package bus

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tritonc/tritonc/core/diag"
)

// Kind says what went wrong.
type Kind int

// The kinds of errors.
const (
	Other       Kind = iota
	Setting          // what the user says of the servers cannot be used
	NoServer         // nobody answers there
	Refused          // the server does not know us
	Denied           // the server knows us, and does not let us do this
	TLS              // the two do not agree on a certificate
	NoJetStream      // the server keeps nothing
	Foreign          // what has our name there is of another version, or not ours
	Full             // the server's disk, or what it grants us of it, is used up
	Slow             // no answer came in time
)

func (k Kind) String() string {
	return [...]string{"other", "setting", "no server", "refused", "denied", "tls", "no jetstream", "foreign", "full", "slow"}[k]
}

// Error is what a Bus returns. It unwraps to a *diag.Diagnostic for the user and to its
// cause.
type Error struct {
	Kind  Kind
	Cause error
	shown *diag.Diagnostic
}

func (e *Error) Error() string { return e.shown.Error() }

// Unwrap is what the user is told, and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.shown}
	}
	return []error{e.shown, e.Cause}
}

// Diagnostic is what the user is told.
func (e *Error) Diagnostic() *diag.Diagnostic { return e.shown }

func (e *Error) withHelp(help string) *Error {
	e.shown.WithHelp("%s", help)
	return e
}

// KindOf is an error's kind; Other for one that is not a Bus's.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Other
}

// Errorf is a diagnostic about where the user names the servers.
func (o *Options) Errorf(format string, args ...any) *diag.Diagnostic {
	d := diag.Errorf(o.From, format, args...)
	d.Line = o.Line
	return d
}

func (o *Options) errorf(kind Kind, cause error, format string, args ...any) *Error {
	return &Error{Kind: kind, Cause: cause, shown: o.Errorf(format, args...)}
}

// ofConnect explains why there is no connection.
func (o *Options) ofConnect(err error) error {
	servers := o.Servers()
	switch kindOfConnect(err) {
	case Refused:
		return o.errorf(Refused, err, "the NATS server %s refuses the connection: %v", servers, plain(err)).
			withHelp("credentials in the table [farm] of tritonc.toml names a file that the server's administrator gives out; a token or user may also stand in the URL")
	case TLS:
		return o.errorf(TLS, err, "no secure connection with the NATS server %s: %v", servers, plain(err)).
			withHelp("ca in the table [farm] of tritonc.toml names the certificates to believe; of one that is not valid yet, or no longer, check both clocks")
	case Slow:
		return o.errorf(Slow, err, "the NATS server %s did not answer within %v", servers, o.timeout()).
			withHelp("it may be stopped, or too far away; tritonc compiles without it")
	}
	return o.errorf(NoServer, err, "there is no NATS server at %s: %v", servers, plain(err)).
		withHelp("start one (nats-server -js), or correct --nats or the table [farm] of tritonc.toml")
}

func kindOfConnect(err error) Kind {
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	var verify *tls.CertificateVerificationError
	var alert tls.AlertError
	var record tls.RecordHeaderError
	var dns *net.DNSError
	text := err.Error()
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked), errors.Is(err, nats.ErrAccountAuthExpired),
		strings.Contains(strings.ToLower(text), "authorization violation"), strings.Contains(text, "nkey"):
		return Refused
	case errors.As(err, &unknown), errors.As(err, &invalid), errors.As(err, &host), errors.As(err, &verify), errors.As(err, &alert), errors.As(err, &record),
		errors.Is(err, nats.ErrSecureConnRequired), errors.Is(err, nats.ErrSecureConnWanted), errors.Is(err, nats.ErrTLS),
		strings.Contains(text, "tls: "), strings.Contains(text, "x509: "):
		return TLS
	case errors.As(err, &dns), errors.Is(err, syscall.ECONNREFUSED):
		return NoServer
	case isTimeout(err):
		return Slow
	}
	return NoServer
}

// isTimeout reports whether an answer did not come in time.
func isTimeout(err error) bool {
	var of net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &of) && of.Timeout()
}

// Electing reports whether an error is what a cluster gives while it elects a leader, as
// after one of its servers has gone: a little later it answers.
func (b *Bus) Electing(err error) bool {
	var api *jetstream.APIError
	return b.isClustered() && (errors.Is(err, jetstream.ErrNoStreamResponse) || isTimeout(err) || errors.As(err, &api) && api.ErrorCode == codeNoLeader)
}

// Error codes of the server that nats.go has no names for.
const (
	codeNoLeader    = 10008 // JetStream system temporarily unavailable
	codeNoResources = 10023 // insufficient resources
	codeNoMemory    = 10028 // insufficient memory resources available
	codeNoStorage   = 10047 // insufficient storage resources available
	codeStoreFailed = 10077 // the store of a stream failed, as at its limit
	codeNoPeers     = 10005 // no suitable peers for placement
)

// Explain makes an Error of what nats.go returned while something was done, which doing
// says: "reading the shared cache". An Error, and nil, stay what they are.
func (b *Bus) Explain(err error, doing string) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	o := &b.opts
	servers := o.Servers()
	code := jetstream.ErrorCode(0)
	text := err.Error()
	var api jetstream.JetStreamError
	if errors.As(err, &api) && api.APIError() != nil {
		code = api.APIError().ErrorCode
	}
	switch {
	case errors.Is(err, nats.ErrPermissionViolation), isTimeout(err) && errors.Is(b.seen(), nats.ErrPermissionViolation):
		return o.errorf(Denied, err, "the NATS server %s does not allow %s: %v", servers, doing, plain(b.either(err))).
			withHelp("ask its administrator for the permissions that docs/scale.md lists")
	case code == jetstream.JSErrCodeJetStreamNotEnabled, code == jetstream.JSErrCodeJetStreamNotEnabledForAccount, errors.Is(err, nats.ErrNoResponders):
		return o.errorf(NoJetStream, err, "the NATS server %s keeps nothing: JetStream is off, or off for this account", servers).
			withHelp("start it with JetStream (nats-server -js), or have it enabled for the account")
	case code == codeNoPeers, code == codeNoResources && o.Replicas > 1:
		return o.errorf(Full, err, "the NATS server %s cannot keep what %s needs on %s: %v", servers, doing, diag.Count(max(o.Replicas, 1), "server"), plain(err)).
			withHelp("replicas in the table [farm] of tritonc.toml is at most the number of servers with JetStream")
	case code == codeNoResources, code == codeNoMemory, code == codeNoStorage, code == codeStoreFailed, strings.Contains(text, "maximum bytes exceeded"), strings.Contains(text, "no space left"):
		return o.errorf(Full, err, "the NATS server %s has no room for %s: %v", servers, doing, plain(err)).
			withHelp("give it a larger disk or limit (max_file_store), or have less kept (cache_size in the table [farm] of tritonc.toml; tritonc cache clean --remote)")
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrDisconnected), errors.Is(err, nats.ErrConnectionReconnecting), errors.Is(err, nats.ErrInvalidConnection), errors.Is(err, io.EOF):
		return o.errorf(NoServer, err, "the connection with the NATS server %s was lost while %s", servers, doing).
			withHelp("the server may have been stopped; tritonc compiles without it")
	case isTimeout(err):
		return o.errorf(Slow, err, "the NATS server %s did not answer in time while %s", servers, doing).
			withHelp("it may be stopped or overloaded; tritonc compiles without it")
	}
	return o.errorf(Other, err, "%s on the NATS server %s: %v", doing, servers, plain(err))
}

// plain is an error's text without the name of the library.
func plain(err error) string {
	return strings.TrimPrefix(fmt.Sprint(err), "nats: ")
}
