package wire

import (
	"errors"
	"io"

	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/tritonc/tritonc/plugin-sdk/proto/tritonc/backend/v1"
)

// codec is protobuf, with a shorter way for the data of RunStages: gRPC's own codec
// copies a message into one buffer on either side, and its data out of it again, which
// for a mebibyte takes as long as to send it. What is on the wire is the same.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(grpcproto.Name)} }

// Numbers of the fields that hold data.
const (
	requestInput    = 2 // of RunStagesRequest
	eventArtifacts  = 6 // of RunStagesEvent
	artifactData    = 2 // of ArtifactPiece
	shortestDataWay = 16 << 10
)

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	switch m := v.(type) {
	case *pb.RunStagesRequest:
		if len(m.GetInput()) >= shortestDataWay {
			rest := &pb.RunStagesRequest{Header: m.GetHeader(), Metadata: m.GetMetadata()}
			return withData(rest, dataField(requestInput, m.GetInput()))
		}
	case *pb.RunStagesEvent:
		if all := m.GetArtifacts(); len(all) > 0 && len(all[len(all)-1].GetData()) >= shortestDataWay {
			last := all[len(all)-1]
			m.Artifacts = all[:len(all)-1]
			defer func() { m.Artifacts = all }()
			rest, err := proto.Marshal(&pb.ArtifactPiece{Stage: last.GetStage(), Size: last.GetSize()})
			if err != nil {
				return nil, err
			}
			data := dataField(artifactData, last.GetData())
			head := protowire.AppendTag(nil, eventArtifacts, protowire.BytesType)
			head = protowire.AppendVarint(head, uint64(len(rest)+data.Len()))
			return withData(m, append(mem.BufferSlice{mem.SliceBuffer(append(head, rest...))}, data...))
		}
	}
	return c.CodecV2.Marshal(v)
}

// dataField is a field of bytes, which are not copied.
func dataField(number protowire.Number, data []byte) mem.BufferSlice {
	head := protowire.AppendTag(nil, number, protowire.BytesType)
	return mem.BufferSlice{mem.SliceBuffer(protowire.AppendVarint(head, uint64(len(data)))), mem.SliceBuffer(data)}
}

// withData is a message, and after it the fields that it lacks.
func withData(m proto.Message, data mem.BufferSlice) (mem.BufferSlice, error) {
	rest, err := proto.Marshal(m)
	if err != nil {
		return nil, err
	}
	return append(mem.BufferSlice{mem.SliceBuffer(rest)}, data...), nil
}

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if data.Len() >= shortestDataWay {
		r := data.Reader()
		defer r.Close()
		switch m := v.(type) {
		case *pb.RunStagesRequest:
			return readRequest(r, m)
		case *pb.RunStagesEvent:
			return readEvent(r, m)
		}
	}
	return c.CodecV2.Unmarshal(data, v)
}

func readRequest(r *mem.Reader, m *pb.RunStagesRequest) error {
	var input []byte
	rest, err := readFields(r, r.Remaining(), requestInput, func(n int) (err error) {
		input, err = readBytes(r, n)
		return err
	})
	if err == nil {
		err = proto.Unmarshal(rest, m)
	}
	if input != nil {
		m.Input = input
	}
	return err
}

func readEvent(r *mem.Reader, m *pb.RunStagesEvent) error {
	var pieces []*pb.ArtifactPiece
	rest, err := readFields(r, r.Remaining(), eventArtifacts, func(n int) error {
		p := &pb.ArtifactPiece{}
		pieces = append(pieces, p)
		var data []byte
		rest, err := readFields(r, n, artifactData, func(n int) (err error) {
			data, err = readBytes(r, n)
			return err
		})
		if err == nil {
			err = proto.Unmarshal(rest, p)
		}
		if data != nil {
			p.Data = data
		}
		return err
	})
	if err == nil {
		err = proto.Unmarshal(rest, m)
	}
	m.Artifacts = pieces
	return err
}

// errMessage is what is said of bytes that are not a message.
var errMessage = errors.New("not a message of the protocol")

// readFields reads the fields of a message of n bytes. For each with a number take
// reads the content, of so many bytes; the others come back as they are.
func readFields(r *mem.Reader, n int, number protowire.Number, take func(n int) error) (rest []byte, err error) {
	for end := r.Remaining() - n; r.Remaining() > end; {
		tag, err := readVarint(r)
		if err != nil {
			return nil, err
		}
		num, kind := protowire.DecodeTag(tag)
		if num < protowire.MinValidNumber {
			return nil, errMessage
		}
		taken := num == number && kind == protowire.BytesType
		if !taken {
			rest = protowire.AppendVarint(rest, tag)
		}
		size := 0
		switch kind {
		case protowire.BytesType:
			length, err := readVarint(r)
			if err != nil || length > uint64(max(r.Remaining()-end, 0)) {
				return nil, errMessage
			}
			if size = int(length); taken {
				if err := take(size); err != nil {
					return nil, err
				}
				continue
			}
			rest = protowire.AppendVarint(rest, length)
		case protowire.VarintType:
			v, err := readVarint(r)
			if err != nil {
				return nil, err
			}
			rest = protowire.AppendVarint(rest, v)
		case protowire.Fixed32Type:
			size = 4
		case protowire.Fixed64Type:
			size = 8
		default:
			return nil, errMessage
		}
		if size > r.Remaining()-end {
			return nil, errMessage
		}
		content, err := readBytes(r, size)
		if err != nil {
			return nil, err
		}
		rest = append(rest, content...)
	}
	return rest, nil
}

// readBytes reads n bytes, of which there are as many.
func readBytes(r *mem.Reader, n int) ([]byte, error) {
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

func readVarint(r *mem.Reader) (v uint64, err error) {
	for shift := 0; shift < 64; shift += 7 {
		b, err := r.ReadByte()
		if err != nil {
			return 0, errMessage
		}
		if shift == 63 && b > 1 {
			break
		}
		if v |= uint64(b&0x7f) << shift; b < 0x80 {
			return v, nil
		}
	}
	return 0, errMessage
}
