package serve

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// sendFrame writes a frame.
func sendFrame(t *testing.T, c net.Conn, header any, body string) {
	t.Helper()
	head, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	data := binary.BigEndian.AppendUint32(nil, uint32(len(head)))
	data = binary.BigEndian.AppendUint32(data, uint32(len(body)))
	if _, err := c.Write(append(append(data, head...), body...)); err != nil {
		t.Fatal(err)
	}
}

// dialFrames opens a connection, and sends a request.
func dialFrames(t *testing.T, socket string, req frameRequest, input string) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	sendFrame(t, c, req, input)
	return c
}

// events reads what a server answers, each as its header and its body, to the end.
func events(t *testing.T, c net.Conn) (list []string) {
	t.Helper()
	for {
		var lengths [8]byte
		_, err := io.ReadFull(c, lengths[:])
		if errors.Is(err, io.EOF) {
			return list
		}
		data := make([]byte, binary.BigEndian.Uint32(lengths[:4])+binary.BigEndian.Uint32(lengths[4:]))
		if err == nil {
			_, err = io.ReadFull(c, data)
		}
		if err != nil {
			t.Fatal(err)
		}
		n := binary.BigEndian.Uint32(lengths[:4])
		list = append(list, string(data[:n])+string(data[n:]))
	}
}

// hereRequest is a request of this process.
func hereRequest(t *testing.T) frameRequest {
	t.Helper()
	device, inode, err := identity("/")
	if err != nil {
		t.Fatal(err)
	}
	return frameRequest{
		Build: "b", Directory: "/", Limits: processLimits(), Seen: []frameIdentity{{"/", device, inode}},
		Arguments: []string{"-o", "out", "-"}, Environment: []string{"A=B"},
	}
}

// TestFrames: a call by frames is one by gRPC, on the same socket.
func TestFrames(t *testing.T) {
	big := strings.Repeat("x", pieceBytes+5)
	socket, _ := testServer(t, Config{Handle: func(_ context.Context, call *Call) int {
		if call.Dir != "/" || strings.Join(call.Args, " ") != "-o out -" || string(call.Input) != "in\xffput" || call.Env[0] != "A=B" || call.Terminal {
			t.Errorf("the call is %+v", call)
		}
		call.Progress(0, 1)
		if _, err := call.Stderr().Write([]byte("war\xffning")); err != nil {
			t.Error(err)
		}
		if err := call.WriteFiles("out", []File{{"k.ptx", []byte(big)}, {"k.json", nil}}); err != nil {
			t.Error(err)
		}
		if _, err := call.Stdout().Write([]byte("done")); err != nil {
			t.Error(err)
		}
		return 3
	}})
	got := strings.Join(events(t, dialFrames(t, socket, hereRequest(t), "in\xffput")), "\n")
	want := strings.Join([]string{
		`{"stream":"stderr"}` + "war\xffning",
		`{"file":"k.ptx","more":true}` + big[:pieceBytes], `{"file":""}xxxxx`, `{"file":"k.json"}`,
		`{"write":"out"}`, `{"stream":"stdout"}done`, `{"exit":3}`,
	}, "\n")
	if got != want {
		t.Errorf("got %.300q, want %.300q", got, want)
	}
	status, err := dial(t, socket).Status(t.Context())
	if err != nil || status.Requests[resultOf(3)] != 1 || status.Active != 0 {
		t.Errorf("%+v, %v", status, err)
	}
}

// TestFrameRefusals: a client from elsewhere is told why, and who sends something else is
// hung up on.
func TestFrameRefusals(t *testing.T) {
	socket, _ := testServer(t, Config{Handle: func(context.Context, *Call) int { return 0 }})
	for want, change := range map[string]func(*frameRequest){
		"it is another build of tritonc": func(r *frameRequest) { r.Build = "other" },
		"it sees something else as /":    func(r *frameRequest) { r.Seen[0].Inode++ },
		"it runs under other limits":     func(r *frameRequest) { r.Limits[0]-- },
	} {
		req := hereRequest(t)
		change(&req)
		if got := strings.Join(events(t, dialFrames(t, socket, req, "")), "\n"); !strings.HasPrefix(got, `{"refused":"`+want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for _, sent := range []string{"\x00\x00\x00\x02\x00\x00\x00\x00{]", "\x01\x00\x00\x01\x00\x00\x00\x00", "\x00\x00\x00\x02\xff\xff\xff\xff{}"} {
		c, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte(sent)); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(c); len(got) > 0 || err != nil && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%q is answered %q, %v", sent, got, err)
		}
		c.Close()
	}
}

// TestFrameClientGoes: a call by frames ends with its client, and a server that is to end
// at once ends it, too.
func TestFrameClientGoes(t *testing.T) {
	began, ended := make(chan bool), make(chan bool)
	socket, over := testServer(t, Config{Handle: func(ctx context.Context, _ *Call) int {
		began <- true
		<-ctx.Done()
		ended <- true
		return 1
	}})
	c := dialFrames(t, socket, hereRequest(t), "")
	<-began
	c.Close()
	<-ended
	if err := dial(t, socket).Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// TestStopLetsFramesEnd: a server that is asked to end does so after its calls by frames.
func TestStopLetsFramesEnd(t *testing.T) {
	began, goOn := make(chan bool), make(chan bool)
	socket, over := testServer(t, Config{Handle: func(context.Context, *Call) int {
		began <- true
		<-goOn
		return 7
	}})
	c := dialFrames(t, socket, hereRequest(t), "")
	<-began
	if err := dial(t, socket).Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-over:
		t.Fatalf("it ended before its call: %v", err)
	default:
	}
	close(goOn)
	if got := events(t, c); len(got) != 1 || got[0] != `{"exit":7}` {
		t.Errorf("%q", got)
	}
	if err := <-over; err != nil {
		t.Error(err)
	}
}
