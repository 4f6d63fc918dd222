package sdk

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

// PieceBytes is how much data one message of a stream has at most.
const PieceBytes = 1 << 20

// sendStages sends a request and closes the host's half of the stream. A backend
// that has answered already does not read on; its answer says why.
func sendStages(stream pb.Backend_RunStagesClient, req *RunStagesRequest) error {
	part := &pb.RunStagesRequest{Header: runStagesHeaderToWire(req)}
	input, metadata := req.Input, req.MetadataJSON
	for part != nil {
		n := min(len(input), PieceBytes)
		part.Input, input = input[:n:n], input[n:]
		m := min(len(metadata), PieceBytes-n)
		part.Metadata, metadata = []byte(metadata[:m]), metadata[m:]
		if err := stream.Send(part); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		part = nil
		if len(input)+len(metadata) > 0 {
			part = &pb.RunStagesRequest{}
		}
	}
	return stream.CloseSend()
}

// receiveRequest reads a whole request.
func receiveRequest(stream pb.Backend_RunStagesServer) (RunStagesRequest, error) {
	var req RunStagesRequest
	var metadata strings.Builder
	for first := true; ; first = false {
		part, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && first:
			return req, errors.New("a request without a header")
		case errors.Is(err, io.EOF):
			req.MetadataJSON = metadata.String()
			return req, nil
		case err != nil:
			return req, err
		}
		if first {
			h := part.GetHeader()
			req = runStagesHeaderFromWire(h)
			metadata.Grow(int(max(h.GetMetadataSize(), 0)))
			if size := h.GetInputSize(); size > int64(len(part.GetInput())) {
				req.Input = make([]byte, 0, size)
			}
		}
		req.Input = join(req.Input, part.GetInput())
		metadata.Write(part.GetMetadata())
	}
}

// events sends the events of one call. They are made as large as they may be: each
// costs some microseconds.
type events[E any] struct {
	mu    sync.Mutex // of send: stages may report their progress from several goroutines
	send  func(*E) error
	next  *E
	bytes int // of next
	err   error
}

// room is the event to add n bytes to.
func (w *events[E]) room(n int) *E {
	if w.bytes > 0 && w.bytes+n > PieceBytes {
		w.flush()
	}
	if w.next == nil {
		w.next = new(E)
	}
	w.bytes += n
	return w.next
}

// flush sends the event that is being made.
func (w *events[E]) flush() {
	if w.err == nil {
		w.err = w.send(w.next)
	}
	w.next, w.bytes = nil, 0
}

// text adds a text by pieces.
func (w *events[E]) text(s string, add func(e *E, piece string, first bool)) {
	for first := true; len(s) > 0; first = false {
		n := min(len(s), PieceBytes)
		add(w.room(n), s[:n], first)
		s = s[n:]
	}
}

// eventWriter sends the events of one RunStages call.
type eventWriter struct{ events[pb.RunStagesEvent] }

// progress sends p at once.
func (w *eventWriter) progress(p Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = w.send(&pb.RunStagesEvent{Progress: progressToWire(p)})
	}
}

// finish sends all that came of the call.
func (w *eventWriter) finish(r *RunStagesResponse, diags []*pb.Diagnostic) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range append(each(r.Diagnostics, diagnosticToWire), diags...) {
		e := w.room(proto.Size(d))
		e.Diagnostics = append(e.Diagnostics, d)
	}
	for _, t := range r.Timings {
		e := w.room(len(t.Stage) + len(t.Name) + len(t.Did))
		e.Timings = append(e.Timings, timingToWire(t))
	}
	for _, t := range r.Tools {
		e := w.room(len(t.Name) + len(t.Path) + len(t.Version) + len(t.SHA256))
		e.Tools = append(e.Tools, toolToWire(t))
	}
	for _, f := range r.LookedAt {
		e := w.room(len(f))
		e.LookedAt = append(e.LookedAt, utf8(f))
	}
	for _, a := range r.Artifacts {
		w.artifact(a)
	}
	w.text(r.MetadataJSON, func(e *pb.RunStagesEvent, piece string, first bool) {
		e.Metadata = append(e.Metadata, piece...)
		if first {
			e.MetadataSize = int64(len(r.MetadataJSON))
		}
	})
	w.text(r.Reproducer, func(e *pb.RunStagesEvent, piece string, _ bool) {
		e.Reproducer = append(e.Reproducer, piece...)
	})
	w.room(0).End = true
	w.flush()
	return w.err
}

// artifact adds one artifact, an empty one, too.
func (w *eventWriter) artifact(a Artifact) {
	size := int64(len(a.Data))
	for data, first := a.Data, true; first || len(data) > 0; first = false {
		n := min(len(data), PieceBytes)
		e := w.room(n)
		e.Artifacts = append(e.Artifacts, &pb.ArtifactPiece{Stage: a.Stage, Data: data[:n], Size: size})
		data, size = data[n:], 0
	}
}

// errTooLarge is what a Client says of an answer beyond its bound.
func errTooLarge(limit int64) error {
	return fmt.Errorf("the answer has more than the %d MiB that it may have", limit>>20)
}

// receiveStages reads the events of one RunStages call.
func (c *Client) receiveStages(stream pb.Backend_RunStagesClient, progress func(Progress)) (RunStagesResponse, error) {
	a := answer{bound: bound{limit: c.MaxBytes}}
	err := receiveEvents(stream.Recv, "RunStages", func(e *pb.RunStagesEvent) error {
		if p := e.GetProgress(); p != nil && progress != nil {
			progress(progressFromWire(p))
		}
		return a.add(e)
	})
	if err != nil {
		return RunStagesResponse{}, err
	}
	return a.whole()
}

// receiveEvents reads the events of one call up to the one that has the end.
func receiveEvents[E interface{ GetEnd() bool }](recv func() (E, error), method string, add func(E) error) error {
	for ended := false; ; {
		e, err := recv()
		switch {
		case errors.Is(err, io.EOF) && ended:
			return nil
		case errors.Is(err, io.EOF):
			return fmt.Errorf("the answer of %s has no end", method)
		case err != nil:
			return err
		}
		if err := add(e); err != nil {
			return err
		}
		ended = ended || e.GetEnd()
	}
}

// bound is how much an answer may have.
type bound struct {
	limit     int64 // 0: DefaultMaxBytes
	size      int64 // that came
	announced int64
}

func (b *bound) count(e proto.Message) error {
	if b.size += int64(proto.Size(e)); b.size > b.most() {
		return errTooLarge(b.most())
	}
	return nil
}

// announce notes that n bytes will come, for which memory is taken. What is announced
// has the bound of what comes.
func (b *bound) announce(n int64) error {
	if n > b.most()-b.announced {
		return errTooLarge(b.most())
	}
	b.announced += n
	return nil
}

func (b *bound) most() int64 { return cmp.Or(b.limit, DefaultMaxBytes) }

// answer puts the events of a RunStages call together. Its data is in memory once.
type answer struct {
	bound
	resp        RunStagesResponse
	diagnostics []*pb.Diagnostic
	metadata    strings.Builder
	reproducer  strings.Builder
}

func (a *answer) add(e *pb.RunStagesEvent) error {
	if err := a.count(e); err != nil {
		return err
	}
	a.diagnostics = append(a.diagnostics, e.GetDiagnostics()...)
	a.resp.Timings = append(a.resp.Timings, each(e.GetTimings(), timingFromWire)...)
	a.resp.Tools = append(a.resp.Tools, each(e.GetTools(), toolFromWire)...)
	a.resp.LookedAt = append(a.resp.LookedAt, e.GetLookedAt()...)
	for _, p := range e.GetArtifacts() {
		if err := a.artifact(p); err != nil {
			return err
		}
	}
	if n := e.GetMetadataSize(); n > 0 && a.metadata.Len() == 0 {
		if err := a.announce(n); err != nil {
			return err
		}
		a.metadata.Grow(int(n))
	}
	a.metadata.Write(e.GetMetadata())
	a.reproducer.Write(e.GetReproducer())
	return nil
}

// artifact adds a piece to the artifact of its stage.
func (a *answer) artifact(p *pb.ArtifactPiece) error {
	i := slices.IndexFunc(a.resp.Artifacts, func(known Artifact) bool { return known.Stage == p.GetStage() })
	if i < 0 {
		i = len(a.resp.Artifacts)
		a.resp.Artifacts = append(a.resp.Artifacts, Artifact{Stage: p.GetStage()})
		if n := p.GetSize(); n > int64(len(p.GetData())) {
			if err := a.announce(n); err != nil {
				return err
			}
			a.resp.Artifacts[i].Data = make([]byte, 0, n)
		}
	}
	at := &a.resp.Artifacts[i]
	at.Data = join(at.Data, p.GetData())
	return nil
}

// join adds a piece of a message to data, which is nil before the first one: what
// comes in one piece is not copied.
func join(data, piece []byte) []byte {
	switch {
	case data != nil:
		return append(data, piece...)
	case piece != nil:
		return piece
	}
	return []byte{}
}

// whole is the answer when all events have come.
func (a *answer) whole() (RunStagesResponse, error) {
	a.resp.MetadataJSON, a.resp.Reproducer = a.metadata.String(), a.reproducer.String()
	var err error
	a.resp.Diagnostics, err = received(a.diagnostics)
	return a.resp, err
}
