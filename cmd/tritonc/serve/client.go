package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/tritonc/tritonc/cmd/tritonc/serve/v1"
)

// Client speaks with a server.
type Client struct {
	socket string
	conn   *grpc.ClientConn
	rpc    pb.CompilerClient
}

// Dial connects to the server at a path. Where there is none the error is ErrNoServer;
// a *trust.Error says that another user may have put there what is.
func Dial(socket string) (*Client, error) {
	c, err := connect(socket)
	if err != nil {
		return nil, err
	}
	var used atomic.Bool
	conn, err := grpc.NewClient("passthrough:///tritonc", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxEventBytes), grpc.MaxCallSendMsgSize(maxRequestBytes)),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			if used.Swap(true) { // another process may be there by now
				return nil, ErrNoServer
			}
			return c, nil
		}))
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &Client{socket, conn, pb.NewCompilerClient(conn)}, nil
}

// Close ends the connection, and what is under way on it.
func (c *Client) Close() error { return c.conn.Close() }

// namespaces are files of Linux that are the same for processes with the same mounts and
// users, so that names of files mean the same for both.
var namespaces = []string{"/proc/self/ns/mnt", "/proc/self/ns/user"}

// Request is a command line, as Call has it.
type Request struct {
	Build    string
	Args     []string
	Dir      string
	Env      []string
	Input    []byte
	Terminal bool
}

// Sink takes what a command puts out. An error of its methods ends the call, and is
// that of Compile.
type Sink interface {
	Stdout(p []byte) error
	Stderr(p []byte) error
	WriteFiles(folder string, files []File) error
	Progress(done, total int)
}

// RefusedError says why a server does not serve a command.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// ErrDied is the error of a call whose server ended before it did.
var ErrDied = errors.New("the server ended")

// Compile has the server run a command line and returns its exit code. The error is a
// *RefusedError, ErrDied, the sink's, or ctx's.
func (c *Client) Compile(ctx context.Context, req *Request, sink Sink) (code int, err error) {
	message := &pb.CompileRequest{
		Build: req.Build, Arguments: toBytes(req.Args), Directory: []byte(req.Dir), Environment: toBytes(req.Env),
		Input: req.Input, Terminal: req.Terminal, Limits: processLimits(),
	}
	for _, path := range append([]string{"/", req.Dir}, namespaces...) {
		device, inode, err := identity(path)
		if errors.Is(err, fs.ErrNotExist) && path != req.Dir {
			continue // a system without namespaces
		}
		if err != nil {
			return 0, &RefusedError{err.Error()}
		}
		message.Seen = append(message.Seen, &pb.FileIdentity{Path: []byte(path), Device: device, Inode: inode})
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // which tells the server, where the sink failed
	stream, err := c.rpc.Compile(ctx, message)
	if err != nil {
		return 0, callError(ctx, err)
	}
	var files []File
	open := false // whether the last file is not all there
	for {
		event, err := stream.Recv()
		if err != nil {
			return 0, callError(ctx, err)
		}
		switch e := event.GetEvent().(type) {
		case *pb.CompileEvent_Stdout:
			err = sink.Stdout(e.Stdout)
		case *pb.CompileEvent_Stderr:
			err = sink.Stderr(e.Stderr)
		case *pb.CompileEvent_Piece:
			if !open {
				files = append(files, File{Name: string(e.Piece.GetName())})
			}
			last := &files[len(files)-1]
			last.Data, open = append(last.Data, e.Piece.GetData()...), e.Piece.GetMore()
		case *pb.CompileEvent_Write:
			err = sink.WriteFiles(string(e.Write.GetFolder()), files)
			files = nil
		case *pb.CompileEvent_Progress:
			sink.Progress(int(e.Progress.GetDone()), int(e.Progress.GetTotal()))
		case *pb.CompileEvent_Exit:
			return int(e.Exit.GetCode()), nil
		}
		if err != nil {
			return 0, err
		}
	}
}

func toBytes(list []string) [][]byte {
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = []byte(s)
	}
	return out
}

// callError is the error of a call as Compile has it.
func callError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch code := status.Code(err); {
	case code == codes.FailedPrecondition, code == codes.ResourceExhausted:
		return &RefusedError{status.Convert(err).Message()}
	case errors.Is(err, io.EOF), code == codes.Unavailable, code == codes.Canceled:
		return ErrDied
	}
	return fmt.Errorf("%w: %w", ErrDied, err)
}

// Status asks the server what it did.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	resp, err := c.rpc.GetStatus(ctx, &pb.GetStatusRequest{})
	if err != nil {
		return nil, callError(ctx, err)
	}
	return statusOf(c.socket, resp), nil
}

// Stop asks the server to end, and waits until it has: its socket is gone then.
func (c *Client) Stop(ctx context.Context) error {
	if _, err := c.rpc.Stop(ctx, &pb.StopRequest{}); err != nil {
		return callError(ctx, err)
	}
	return awaitEnd(ctx, c.socket)
}
