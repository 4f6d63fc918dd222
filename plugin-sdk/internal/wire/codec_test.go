package wire

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

// noise is n bytes that repeat late.
func noise(n int) []byte {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// codecMessages are messages of a stream, with and without data that has its own way.
func codecMessages() (list []proto.Message) {
	for _, n := range []int{0, 10, shortestDataWay - 1, shortestDataWay, 3 * shortestDataWay} {
		list = append(list,
			&pb.RunStagesRequest{Input: noise(n)},
			&pb.RunStagesRequest{Header: &pb.RunStagesHeader{First: "a", Want: []string{"b"}}, Input: noise(n), Metadata: noise(n / 2)},
			&pb.RunStagesRequest{Metadata: noise(n)},
			&pb.RunStagesEvent{
				Progress: &pb.Progress{Stage: "s", Fraction: 0.5}, Timings: []*pb.Timing{{Stage: "s", Nanoseconds: 1 << 40}}, LookedAt: []string{"/x"},
				Artifacts:    []*pb.ArtifactPiece{{Stage: "s", Data: noise(n / 3), Size: 1 << 33}, {Stage: "t"}, {Stage: "u", Data: noise(n), Size: int64(n)}},
				MetadataSize: 7, Metadata: []byte("{}"), End: true,
			},
			&pb.RunStagesEvent{Artifacts: []*pb.ArtifactPiece{{Data: noise(n)}, {Stage: "last"}}},
			&pb.RunStagesEvent{Metadata: noise(n)},
			&pb.GetModuleResponse{Module: &pb.Module{Source: string(make([]byte, n))}},
		)
	}
	return list
}

// broken cuts bytes into pieces, as they come from the network.
func broken(b []byte) (s mem.BufferSlice) {
	for i := 0; len(b) > 0; i++ {
		n := min(len(b), []int{1, 7, 16 << 10, 3}[i%4])
		s = append(s, mem.SliceBuffer(b[:n]))
		b = b[n:]
	}
	return s
}

// TestCodec: what one end writes with its shorter way any protobuf reads, and the
// reverse.
func TestCodec(t *testing.T) {
	c := newCodec()
	for _, m := range codecMessages() {
		want := proto.Clone(m)
		sent, err := c.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got := m.ProtoReflect().New().Interface()
		if err := proto.Unmarshal(sent.Materialize(), got); err != nil || !proto.Equal(want, got) {
			t.Errorf("%T is written wrong: %v\n%s", m, err, cmp.Diff(want, got, protocmp.Transform()))
		}
		if !proto.Equal(want, m) {
			t.Errorf("a %T was changed", m)
		}
		plain, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got = m.ProtoReflect().New().Interface()
		if err := c.Unmarshal(broken(plain), got); err != nil || !proto.Equal(want, got) {
			t.Errorf("%T is read wrong: %v\n%s", m, err, cmp.Diff(want, got, protocmp.Transform()))
		}
	}
}

// TestCodecRubbish: what is not a message is an error for the codec when it is one for
// protobuf, and means the same where it is none.
func TestCodecRubbish(t *testing.T) {
	c := newCodec()
	random := rand.New(rand.NewPCG(1, 2))
	for _, m := range codecMessages() {
		plain, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		for range 200 {
			bad := append([]byte{}, plain...)
			for range 1 + random.IntN(3) {
				if len(bad) > 0 {
					// The heads of fields are what can be wrong: they are at either end.
					i := random.IntN(min(len(bad), 60))
					if random.IntN(2) == 0 {
						i = len(bad) - 1 - i
					}
					bad[i] ^= byte(1 << random.IntN(8))
				}
			}
			bad = bad[:len(bad)-random.IntN(min(len(bad), 20)+1)]
			got, want := m.ProtoReflect().New().Interface(), m.ProtoReflect().New().Interface()
			err, wantErr := c.Unmarshal(broken(bad), got), proto.Unmarshal(bad, want)
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("%T: %v, and protobuf says %v", m, err, wantErr)
			}
			if err == nil && !proto.Equal(got, want) {
				t.Fatalf("%T:\n%s", m, cmp.Diff(want, got, protocmp.Transform()))
			}
		}
	}
}
