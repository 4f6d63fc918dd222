package serve

import (
	"io"
	"sync"
	"time"

	pb "github.com/tritonc/tritonc/cmd/tritonc/serve/v1"
)

// File is a file that the client is to write.
type File struct {
	Name string
	Data []byte
}

// Call is a command line that is served. Its methods may be called from several
// goroutines. Those that send fail once the client is gone, and its context has ended
// then.
type Call struct {
	Args  []string // without the program's name
	Dir   string
	Env   []string // NAME=VALUE
	Input []byte   // standard input
	// Terminal says that standard error is one.
	Terminal bool
	// Lane is the call's part of the server's queue.
	Lane *Lane

	metrics *metrics
	mu      sync.Mutex // a stream takes one message at a time
	stream  eventStream
}

// eventStream takes what a client is told.
type eventStream interface {
	Send(*pb.CompileEvent) error
}

func newCall(req *pb.CompileRequest, lane *Lane, stream eventStream, m *metrics) *Call {
	return &Call{
		Args: toStrings(req.GetArguments()), Dir: string(req.GetDirectory()), Env: toStrings(req.GetEnvironment()),
		Input: req.GetInput(), Terminal: req.GetTerminal(), Lane: lane, metrics: m, stream: stream,
	}
}

func toStrings(list [][]byte) []string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = string(b)
	}
	return out
}

func (c *Call) send(e *pb.CompileEvent) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stream.Send(e)
}

// pieceBytes is how much data one message has at most.
const pieceBytes = 1 << 20

// Stdout is the client's standard output.
func (c *Call) Stdout() io.Writer {
	return callWriter{c, func(p []byte) *pb.CompileEvent {
		return &pb.CompileEvent{Event: &pb.CompileEvent_Stdout{Stdout: p}}
	}}
}

// Stderr is the client's standard error.
func (c *Call) Stderr() io.Writer {
	return callWriter{c, func(p []byte) *pb.CompileEvent {
		return &pb.CompileEvent{Event: &pb.CompileEvent_Stderr{Stderr: p}}
	}}
}

type callWriter struct {
	call  *Call
	event func(p []byte) *pb.CompileEvent
}

func (w callWriter) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		piece := p[n:min(n+pieceBytes, len(p))]
		if err = w.call.send(w.event(piece)); err == nil {
			n += len(piece)
		}
	}
	return n, err
}

// WriteFiles has the client write files into a folder, all or none. It does not learn
// what came of that: the client says it, and ends the call where it failed.
func (c *Call) WriteFiles(folder string, files []File) error {
	for _, f := range files {
		name, data := []byte(f.Name), f.Data
		for more := true; more; {
			n := min(pieceBytes, len(data))
			more = n < len(data)
			p := &pb.FilePiece{Name: name, Data: data[:n], More: more}
			if err := c.send(&pb.CompileEvent{Event: &pb.CompileEvent_Piece{Piece: p}}); err != nil {
				return err
			}
			name, data = nil, data[n:]
		}
	}
	return c.send(&pb.CompileEvent{Event: &pb.CompileEvent_Write{Write: &pb.WriteFiles{Folder: []byte(folder)}}})
}

// Progress tells how far the call is. That a client is gone is not its affair.
func (c *Call) Progress(done, total int) {
	_ = c.send(&pb.CompileEvent{Event: &pb.CompileEvent_Progress{Progress: &pb.Progress{Done: int64(done), Total: int64(total)}}})
}

// Compiled tells the server's metrics of a kernel: whether the cache had it, and how
// long a stage took.
func (c *Call) Compiled(cached bool, stages map[string]time.Duration) {
	c.metrics.kernel(cached, stages)
}
