package sdk

import (
	"errors"
	"io"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tritonc/tritonc/plugin-sdk/internal/wire"
	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

// receivePasses reads a whole request.
func receivePasses(stream pb.Backend_RunPassesServer) (RunPassesRequest, error) {
	var req RunPassesRequest
	var input strings.Builder
	for first := true; ; first = false {
		part, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && first:
			return req, errors.New("a request without a header")
		case errors.Is(err, io.EOF):
			req.Input = input.String()
			return req, nil
		case err != nil:
			return req, err
		}
		if first {
			req = runPassesHeaderFromWire(part.GetHeader())
			input.Grow(int(max(part.GetHeader().GetInputSize(), 0)))
		}
		input.Write(part.GetInput())
	}
}

// passEvents sends the events of one RunPasses call.
type passEvents struct{ events[pb.RunPassesEvent] }

// finish sends all that came of the call.
func (w *passEvents) finish(r *RunPassesResponse, diags []*pb.Diagnostic) error {
	for _, d := range append(wire.Each(r.Diagnostics, diagnosticToWire), diags...) {
		e := w.room(proto.Size(d))
		e.Diagnostics = append(e.Diagnostics, d)
	}
	for _, t := range r.Timings {
		e := w.room(len(t.Stage) + len(t.Name) + len(t.Did))
		e.Timings = append(e.Timings, timingToWire(t))
	}
	for _, t := range r.Dumps {
		w.passText(t, func(e *pb.RunPassesEvent, piece *pb.PassText) { e.Dumps = append(e.Dumps, piece) })
	}
	for _, t := range r.Analyses {
		w.passText(t, func(e *pb.RunPassesEvent, piece *pb.PassText) { e.Analyses = append(e.Analyses, piece) })
	}
	w.text(r.Output, func(e *pb.RunPassesEvent, piece string, first bool) {
		e.Output = append(e.Output, piece...)
		if first {
			e.OutputSize = int64(len(r.Output))
		}
	})
	w.text(r.Reproducer, func(e *pb.RunPassesEvent, piece string, _ bool) {
		e.Reproducer = append(e.Reproducer, piece...)
	})
	w.room(0).End = true
	w.flush()
	return w.err
}

// passText adds a text, an empty one, too.
func (w *passEvents) passText(t PassText, add func(e *pb.RunPassesEvent, piece *pb.PassText)) {
	for text, more := t.Text, true; more; {
		n := min(len(text), wire.PieceBytes)
		more = n < len(text)
		add(w.room(n+len(t.Name)), &pb.PassText{Name: wire.UTF8(t.Name), Text: []byte(text[:n]), More: more})
		text = text[n:]
	}
}
