package process

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tritonc/tritonc/plugin-sdk/host"
)

// ping asks the health service, which is optional: that there is none is an answer.
func ping(conn *grpc.ClientConn) {
	_, _ = grpc_health_v1.NewHealthClient(conn).Check(context.Background(), &grpc_health_v1.HealthCheckRequest{Service: host.HealthService})
}

// shutdown asks a program to end, and reports whether it can be asked.
func shutdown(ctx context.Context, conn *grpc.ClientConn) bool {
	err := conn.Invoke(ctx, "/"+host.ControllerService+"/"+host.ShutdownMethod, &emptypb.Empty{}, &emptypb.Empty{})
	return status.Code(err) != codes.Unimplemented
}

// Fields of plugin.StdioData.
const (
	stdioChannel = 1 // 1 standard output, 2 standard error
	stdioData    = 2
)

// followPrints writes what a program of go-plugin's prints after the handshake, which it
// streams where it is asked to; it waits for somebody to do so.
func followPrints(conn *grpc.ClientConn, stdout, stderr io.Writer) {
	// It ends with the connection.
	stream, err := conn.NewStream(context.Background(), &grpc.StreamDesc{ServerStreams: true}, "/"+host.StdioService+"/"+host.StreamMethod)
	if err != nil || stream.SendMsg(&emptypb.Empty{}) != nil || stream.CloseSend() != nil {
		return // the service is optional
	}
	for {
		var m emptypb.Empty // which keeps fields that it does not have
		if stream.RecvMsg(&m) != nil {
			return
		}
		w := stdout
		var data []byte
		for rest := []byte(m.ProtoReflect().GetUnknown()); len(rest) > 0; {
			number, kind, n := protowire.ConsumeField(rest)
			if n < 0 {
				return
			}
			_, _, tag := protowire.ConsumeTag(rest)
			switch {
			case number == stdioChannel && kind == protowire.VarintType:
				if channel, _ := protowire.ConsumeVarint(rest[tag:]); channel == 2 {
					w = stderr
				}
			case number == stdioData && kind == protowire.BytesType:
				data, _ = protowire.ConsumeBytes(rest[tag:])
			}
			rest = rest[n:]
		}
		_, _ = w.Write(data)
	}
}

// longestLine is how much of a line on standard error is looked at in one piece.
const longestLine = 64 << 10

// logLines logs what a program writes to standard error until it ends: lines in hclog's
// form at their levels, lines that begin with one such as [WARN] at that, others for
// those who debug.
func logLines(r io.Reader, log hclog.Logger) {
	in := bufio.NewReaderSize(r, longestLine)
	for part := false; ; {
		line, more, err := in.ReadLine()
		if err != nil {
			return
		}
		if part || more { // too long to be one of the first two
			log.Debug(string(line))
		} else {
			logLine(string(line), log)
		}
		part = more
	}
}

func logLine(line string, log hclog.Logger) {
	if entry := readEntry(line); entry != nil {
		if entry.level >= log.GetLevel() {
			log.Log(entry.level, entry.message, entry.args...)
		}
		return
	}
	level := hclog.Debug
	if name, _, ok := strings.Cut(line, "]"); ok && strings.HasPrefix(name, "[") && name == strings.ToUpper(name) {
		if named := hclog.LevelFromString(name[1:]); named != hclog.NoLevel && named != hclog.Off {
			level = named
		}
	}
	log.Log(level, line)
}

// entry is a line that an hclog has written as JSON.
type entry struct {
	level   hclog.Level
	message string
	args    []any
}

// readEntry reads a line; nil where it is none.
func readEntry(line string) *entry {
	if !strings.HasPrefix(line, "{") {
		return nil
	}
	var fields map[string]any
	if json.Unmarshal([]byte(line), &fields) != nil {
		return nil
	}
	message, _ := fields["@message"].(string)
	level, _ := fields["@level"].(string)
	e := &entry{level: hclog.LevelFromString(level), message: message}
	if e.level == hclog.NoLevel || e.level == hclog.Off {
		return nil
	}
	at, timed := fields["@timestamp"].(string)
	for _, key := range []string{"@message", "@level", "@timestamp"} {
		delete(fields, key)
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		e.args = append(e.args, key, fields[key])
	}
	if when, err := time.Parse(hclog.TimeFormatJSON, at); timed && err == nil {
		e.args = append(e.args, "timestamp", when.Format(hclog.TimeFormat))
	}
	return e
}
