package serve

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/tritonc/tritonc/cmd/tritonc/serve/v1"
)

// A frame is two lengths of 32 bits, the most significant byte first, then a header of
// the first length, which is a JSON object, and a body of the second. A client that
// speaks frames sends one, and gets one for each event. It has no other request on the
// connection, whose end is that of the call.

// frameRequest is the header of a request, as CompileRequest of serve.proto has it. The
// body is standard input.
type frameRequest struct {
	Build       string          `json:"build"`
	Arguments   []string        `json:"arguments"`
	Directory   string          `json:"directory"`
	Seen        []frameIdentity `json:"seen"`
	Environment []string        `json:"environment"`
	Limits      []uint64        `json:"limits"`
}

type frameIdentity struct {
	Path   string `json:"path"`
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// frameEvent is the header of an answer, which has one of the fields.
type frameEvent struct {
	Stream  string  `json:"stream,omitempty"` // stdout or stderr: the body is a piece of it
	File    *string `json:"file,omitempty"`   // the body is a piece of a file; empty after its first
	More    bool    `json:"more,omitempty"`   // whether another piece of the file follows
	Write   *string `json:"write,omitempty"`  // the files that came are for this folder
	Exit    *int32  `json:"exit,omitempty"`
	Refused string  `json:"refused,omitempty"` // why the command is not served
}

// maxHeaderBytes is how long the header of a request may be.
const maxHeaderBytes = 16 << 20

// hello is how long a connection may take to say what it wants.
const hello = 10 * time.Second

// readRequest reads the request of a connection.
func readRequest(r io.Reader) (*pb.CompileRequest, error) {
	var lengths [8]byte
	if _, err := io.ReadFull(r, lengths[:]); err != nil {
		return nil, err
	}
	header, body := binary.BigEndian.Uint32(lengths[:4]), binary.BigEndian.Uint32(lengths[4:])
	if header > maxHeaderBytes || body > maxRequestBytes-maxHeaderBytes {
		return nil, fmt.Errorf("the request is too large: its header has length %d, its body %d", header, body)
	}
	data := make([]byte, int(header)+int(body))
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, err
	}
	var req frameRequest
	if err := json.Unmarshal(data[:header], &req); err != nil {
		return nil, err
	}
	message := &pb.CompileRequest{
		Build: req.Build, Arguments: toBytes(req.Arguments), Directory: []byte(req.Directory),
		Environment: toBytes(req.Environment), Input: data[header:], Limits: req.Limits,
	}
	for _, f := range req.Seen {
		message.Seen = append(message.Seen, &pb.FileIdentity{Path: []byte(f.Path), Device: f.Device, Inode: f.Inode})
	}
	return message, nil
}

// frameStream writes events as frames.
type frameStream struct{ w io.Writer }

// Send implements eventStream.
func (s frameStream) Send(e *pb.CompileEvent) error {
	switch e := e.GetEvent().(type) {
	case *pb.CompileEvent_Stdout:
		return s.write(frameEvent{Stream: "stdout"}, e.Stdout)
	case *pb.CompileEvent_Stderr:
		return s.write(frameEvent{Stream: "stderr"}, e.Stderr)
	case *pb.CompileEvent_Piece:
		name, err := text(e.Piece.GetName())
		if err != nil {
			return err
		}
		return s.write(frameEvent{File: &name, More: e.Piece.GetMore()}, e.Piece.GetData())
	case *pb.CompileEvent_Write:
		folder, err := text(e.Write.GetFolder())
		if err != nil {
			return err
		}
		return s.write(frameEvent{Write: &folder}, nil)
	case *pb.CompileEvent_Exit:
		return s.write(frameEvent{Exit: &e.Exit.Code}, nil)
	}
	return nil // progress is for a terminal
}

func (s frameStream) write(header frameEvent, body []byte) error {
	head, err := json.Marshal(header)
	if err != nil {
		return err
	}
	data := make([]byte, 8, 8+len(head)+len(body))
	binary.BigEndian.PutUint32(data, uint32(len(head)))
	binary.BigEndian.PutUint32(data[4:], uint32(len(body)))
	_, err = s.w.Write(append(append(data, head...), body...))
	return err
}

// text is a name as JSON can have it.
func text(name []byte) (string, error) {
	if !utf8.Valid(name) {
		return "", fmt.Errorf("the name %q is not UTF-8", name)
	}
	return string(name), nil
}

// serveFrames answers a connection that speaks frames.
func (s *Server) serveFrames(c net.Conn) {
	defer c.Close()
	s.mu.Lock()
	if s.ending {
		s.mu.Unlock()
		return
	}
	s.frames.Add(1)
	s.mu.Unlock()
	defer s.frames.Done()
	_ = c.SetReadDeadline(time.Now().Add(hello)) // an error is that of the read
	req, err := readRequest(c)
	if err != nil {
		s.cfg.Log("a request is not understood: %v", err)
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	go func() { // until the client hangs up, or this end does
		_, _ = c.Read(make([]byte, 1))
		cancel()
	}()
	out := frameStream{c}
	if err := s.compile(ctx, req, out); status.Code(err) == codes.FailedPrecondition {
		_ = out.write(frameEvent{Refused: status.Convert(err).Message()}, nil) // of a client that is gone
	}
}

// splitter is the listener that gRPC has: connections that speak frames do not get there.
type splitter struct {
	*listener
	frames func(net.Conn)

	others chan net.Conn
	over   chan struct{} // closed when nobody listens any more, for the reason err
	err    error
	once   sync.Once
}

func split(l *listener, frames func(net.Conn)) *splitter {
	return &splitter{listener: l, frames: frames, others: make(chan net.Conn), over: make(chan struct{})}
}

// Accept waits for a connection that is gRPC's.
func (s *splitter) Accept() (net.Conn, error) {
	s.once.Do(func() { go s.sort() })
	select {
	case c := <-s.others:
		return c, nil
	case <-s.over:
		return nil, s.err
	}
}

// sort takes connections until there are no more.
func (s *splitter) sort() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			s.err = err
			close(s.over)
			return
		}
		go s.hand(c)
	}
}

// hand tells the two by the first byte: HTTP/2 begins with PRI, and no header of a frame
// is so long that its length would.
func (s *splitter) hand(c net.Conn) {
	first := make([]byte, 1)
	_ = c.SetReadDeadline(time.Now().Add(hello))
	_, err := io.ReadFull(c, first)
	_ = c.SetReadDeadline(time.Time{})
	begun := &begunConn{Conn: c, first: first}
	switch {
	case err != nil:
		if !errors.Is(err, io.EOF) {
			s.log("a connection says nothing: %v", err)
		}
		c.Close()
	case first[0] != 'P':
		s.frames(begun)
	default:
		select {
		case s.others <- begun:
		case <-s.over:
			c.Close()
		}
	}
}

// begunConn is a connection of which something was read.
type begunConn struct {
	net.Conn
	first []byte
}

func (c *begunConn) Read(p []byte) (int, error) {
	if len(c.first) > 0 {
		n := copy(p, c.first)
		c.first = c.first[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}
