package host

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
	"github.com/tritonc/tritonc/plugin-sdk/internal/wire"
	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

// sendStages sends a request and closes the host's half of the stream. A backend
// that has answered already does not read on; its answer says why.
func sendStages(stream pb.Backend_RunStagesClient, req *sdk.RunStagesRequest) error {
	part := &pb.RunStagesRequest{Header: runStagesHeaderToWire(req)}
	input, metadata := req.Input, req.MetadataJSON
	for part != nil {
		n := min(len(input), wire.PieceBytes)
		part.Input, input = input[:n:n], input[n:]
		m := min(len(metadata), wire.PieceBytes-n)
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

// errTooLarge is what a Client says of an answer beyond its bound.
func errTooLarge(limit int64) error {
	return fmt.Errorf("the answer has more than the %d MiB that it may have", limit>>20)
}

// receiveStages reads the events of one RunStages call.
func (c *Client) receiveStages(stream pb.Backend_RunStagesClient, progress func(sdk.Progress)) (sdk.RunStagesResponse, error) {
	a := answer{bound: bound{limit: c.MaxBytes}}
	err := receiveEvents(stream.Recv, "RunStages", func(e *pb.RunStagesEvent) error {
		if p := e.GetProgress(); p != nil && progress != nil {
			progress(progressFromWire(p))
		}
		return a.add(e)
	})
	if err != nil {
		return sdk.RunStagesResponse{}, err
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
	resp        sdk.RunStagesResponse
	diagnostics []*pb.Diagnostic
	metadata    strings.Builder
	reproducer  strings.Builder
}

func (a *answer) add(e *pb.RunStagesEvent) error {
	if err := a.count(e); err != nil {
		return err
	}
	a.diagnostics = append(a.diagnostics, e.GetDiagnostics()...)
	a.resp.Timings = append(a.resp.Timings, wire.Each(e.GetTimings(), timingFromWire)...)
	a.resp.Tools = append(a.resp.Tools, wire.Each(e.GetTools(), toolFromWire)...)
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
	i := slices.IndexFunc(a.resp.Artifacts, func(known sdk.Artifact) bool { return known.Stage == p.GetStage() })
	if i < 0 {
		i = len(a.resp.Artifacts)
		a.resp.Artifacts = append(a.resp.Artifacts, sdk.Artifact{Stage: p.GetStage()})
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
func (a *answer) whole() (sdk.RunStagesResponse, error) {
	a.resp.MetadataJSON, a.resp.Reproducer = a.metadata.String(), a.reproducer.String()
	var err error
	a.resp.Diagnostics, err = received(a.diagnostics)
	return a.resp, err
}
