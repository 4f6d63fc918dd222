package sdk

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

// PieceBytes is how much data one message of a RunStages stream has at most.
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

// eventWriter sends the events of one RunStages call. They are made as large as
// they may be: each costs some microseconds.
type eventWriter struct {
	mu     sync.Mutex // of the stream: stages may report their progress from several goroutines
	stream pb.Backend_RunStagesServer
	next   *pb.RunStagesEvent
	bytes  int // of next
	err    error
}

// progress sends p at once.
func (w *eventWriter) progress(p Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = w.stream.Send(&pb.RunStagesEvent{Progress: progressToWire(p)})
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

// text adds a text by pieces.
func (w *eventWriter) text(s string, add func(e *pb.RunStagesEvent, piece string, first bool)) {
	for first := true; len(s) > 0; first = false {
		n := min(len(s), PieceBytes)
		add(w.room(n), s[:n], first)
		s = s[n:]
	}
}

// room is the event to add n bytes to.
func (w *eventWriter) room(n int) *pb.RunStagesEvent {
	if w.bytes > 0 && w.bytes+n > PieceBytes {
		w.flush()
	}
	if w.next == nil {
		w.next = &pb.RunStagesEvent{}
	}
	w.bytes += n
	return w.next
}

// flush sends the event that is being made.
func (w *eventWriter) flush() {
	if w.err == nil {
		w.err = w.stream.Send(w.next)
	}
	w.next, w.bytes = nil, 0
}

// errTooLarge is what a Client says of an answer beyond its bound.
func errTooLarge(limit int64) error {
	return fmt.Errorf("the answer has more than the %d MiB that it may have", limit>>20)
}

// receiveStages reads the events of one RunStages call.
func (c *Client) receiveStages(stream pb.Backend_RunStagesClient, progress func(Progress)) (RunStagesResponse, error) {
	a := answer{limit: c.MaxBytes}
	if a.limit == 0 {
		a.limit = DefaultMaxBytes
	}
	ended := false
	for {
		e, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && ended:
			return a.whole()
		case errors.Is(err, io.EOF):
			return RunStagesResponse{}, errors.New("the answer of RunStages has no end")
		case err != nil:
			return RunStagesResponse{}, err
		}
		if err := a.add(e); err != nil {
			return RunStagesResponse{}, err
		}
		if p := e.GetProgress(); p != nil && progress != nil {
			progress(progressFromWire(p))
		}
		ended = ended || e.GetEnd()
	}
}

// answer puts the events of a RunStages call together. Its data is in memory once.
type answer struct {
	limit       int64
	size        int64 // that came
	announced   int64
	resp        RunStagesResponse
	diagnostics []*pb.Diagnostic
	metadata    strings.Builder
	reproducer  strings.Builder
}

func (a *answer) add(e *pb.RunStagesEvent) error {
	if a.size += int64(proto.Size(e)); a.size > a.limit {
		return errTooLarge(a.limit)
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

// announce notes that n bytes will come, for which memory is taken. What is announced
// has the bound of what comes.
func (a *answer) announce(n int64) error {
	if n > a.limit-a.announced {
		return errTooLarge(a.limit)
	}
	a.announced += n
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
