package wire

import (
	"sync"

	"google.golang.org/protobuf/proto"

	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

// Warm has protobuf make its tables of the messages of a compile. It makes them when it
// meets a message first, for half a millisecond on either end, one after the other: a
// process does it beside what it waits for.
var Warm = sync.OnceFunc(func() {
	for _, m := range []proto.Message{
		&pb.RunStagesRequest{Header: &pb.RunStagesHeader{Target: &pb.Target{}, Settings: map[string]string{"": ""}}},
		&pb.RunStagesEvent{
			Progress: &pb.Progress{}, Diagnostics: []*pb.Diagnostic{{}}, Timings: []*pb.Timing{{}}, Tools: []*pb.Tool{{}}, Artifacts: []*pb.ArtifactPiece{{}},
		},
	} {
		if text, err := proto.Marshal(m); err == nil {
			_ = proto.Unmarshal(text, m.ProtoReflect().New().Interface()) // for the tables alone
		}
	}
})
