package sdk

import (
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tritonc/tritonc/plugin-sdk/internal/wire"
	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

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
	if w.bytes > 0 && w.bytes+n > wire.PieceBytes {
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
		n := min(len(s), wire.PieceBytes)
		add(w.room(n), s[:n], first)
		s = s[n:]
	}
}

// eventWriter sends the events of one RunStages call.
type eventWriter struct {
	events[pb.RunStagesEvent]
	told  bool      // some progress has been sent
	held  *Progress // that a stage began, which is not sent yet
	timer *time.Timer
}

// untold is how long a stage runs before its beginning is sent. An event wakes the host,
// which costs both processes together a tenth of a millisecond, as long as a stage of a small
// kernel takes.
const untold = 20 * time.Millisecond

// progress sends p: at once, unless a stage begins and the host knows of none. What it
// knows stays true, since it names the stage in which a backend died.
func (w *eventWriter) progress(p Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.told || p.Fraction > 0 || p.Text != "" {
		w.tell(p)
		return
	}
	w.held = &p
	if w.timer == nil {
		w.timer = time.AfterFunc(untold, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.held != nil {
				w.tell(*w.held)
			}
		})
	} else {
		w.timer.Reset(untold)
	}
}

func (w *eventWriter) tell(p Progress) {
	w.told, w.held = true, nil
	if w.err == nil {
		w.err = w.send(&pb.RunStagesEvent{Progress: progressToWire(p)})
	}
}

// over has nothing sent any more that is held.
func (w *eventWriter) over() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = nil
	if w.timer != nil {
		w.timer.Stop()
	}
}

// finish sends all that came of the call.
func (w *eventWriter) finish(r *RunStagesResponse, diags []*pb.Diagnostic) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range append(wire.Each(r.Diagnostics, diagnosticToWire), diags...) {
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
		e.LookedAt = append(e.LookedAt, wire.UTF8(f))
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
		n := min(len(data), wire.PieceBytes)
		e := w.room(n)
		e.Artifacts = append(e.Artifacts, &pb.ArtifactPiece{Stage: a.Stage, Data: data[:n], Size: size})
		data, size = data[n:], 0
	}
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
