package npu

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/npu/chip"
)

// copied is a program that doubles n pieces of 64 elements, one after the other.
const copied = `npusim 1
format sim
kernel copied
chip ascend910b3
core vector
space ub 256
file "<k>.py"
param %0 gm<f32,1>
param %1 i32
param %2 i32
param %3 i32
param %4 i32
code
  %5 index = arith.index_cast %1
  %6 index = const 0x0
  %7 index = const 0x1
  %8 index = const 0x40
  %9 ub<f32,1> = alloc 0 [64]
  %10 index = move %6
L1:
  %11 i1 = arith.cmpi %10 %5 predicate=2
  branch %11 L2 L3
L2:
  %12 index = arith.muli %10 %8
  %13 gm<f32,1> = cast %0 [%12] [64] [1]
  dma %13 %9 @0:3:4
  set_flag mte2 v 0
  wait_flag mte2 v 0
  vector arith.addf %9 %9 %9 @0:4:4
  set_flag v mte3 0
  wait_flag v mte3 0
  dma %9 %13 @0:5:4
  barrier mte3
  %10 index = arith.addi %10 %7
  jump L1
L3:
  return
`

// launched runs copied on n pieces.
func launched(t *testing.T, n int) *Report {
	t.Helper()
	p, err := Read("copied.npusim", []byte(copied))
	if err != nil {
		t.Fatal(err)
	}
	c := chip.Of("ascend910b3")
	d := New(Options{Chip: c, Costs: chip.CostsOf(c)})
	b, err := d.Alloc("x", 256*n)
	if err != nil {
		t.Fatal(err)
	}
	clear(b.Data)
	b.MarkWritten(0, len(b.Data))
	rep, err := d.Launch(t.Context(), p, [3]int{1, 1, 1}, b, int32(n))
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// TestTimeline: the picture is well-formed, shows each pipe for as long as it was busy, and
// has a bounded number of boxes however long the launch is.
func TestTimeline(t *testing.T) {
	for _, n := range []int{1, 7, 3000} {
		rep := launched(t, n)
		var b bytes.Buffer
		if err := rep.WriteTimeline(&b); err != nil {
			t.Fatal(err)
		}
		boxes, texts := drawn(t, b.Bytes())
		for _, pipe := range []string{"mte2", "s", "v", "mte3", "copied on ascend910b3: core 0 of 1, "} {
			if !strings.Contains(texts, pipe) {
				t.Errorf("%d pieces: it does not say %q", n, pipe)
			}
		}
		if strings.Contains(b.String(), "<k>") {
			t.Error("the name of a file is not escaped")
		}
		if boxes > 4*2*lineWidth {
			t.Errorf("%d pieces have %d boxes", n, boxes)
		}
		if n == 1 && (boxes < 5 || !strings.Contains(texts, "dma %13 %9\n<k>.py:3\ncycles ")) {
			t.Errorf("%d boxes; %s", boxes, texts)
		}
		scale := lineWidth / rep.Cycles
		for _, l := range rep.lanes(0) {
			shown, busy := 0.0, 0.0
			for _, x := range merged(l.boxes, scale) {
				shown += x.to - x.from
			}
			for _, x := range l.boxes {
				busy += x.to - x.from
			}
			if math.Abs(busy-rep.Pipes[l.pipe]) > 1e-6*rep.Cycles || shown < busy-1e-6*rep.Cycles {
				t.Errorf("%d pieces: the pipe %s was busy %.0f cycles, and is shown for %.0f of %.0f", n, l.pipe, rep.Pipes[l.pipe], shown, busy)
			}
		}
	}
}

// drawn counts the boxes of a picture and returns its texts.
func drawn(t *testing.T, svg []byte) (boxes int, texts string) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	var text strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return boxes, text.String()
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, svg)
		}
		switch x := token.(type) {
		case xml.StartElement:
			if x.Name.Local == "rect" {
				boxes++
			}
		case xml.CharData:
			text.Write(x)
		}
	}
}

// TestLines: each line has what its instructions took, and all together what the pipes did.
func TestLines(t *testing.T) {
	const n = 5
	rep := launched(t, n)
	var sum [numPipes]float64
	in, out := int64(0), int64(0)
	for _, l := range rep.Lines() {
		for p, c := range l.Cycles {
			sum[p] += c
		}
		in, out = in+l.In, out+l.Out
		switch {
		case l.Line == 3 && (l.In != 256*n || l.Out != 0 || l.Cycles[PipeMTE2] == 0 || l.Cycles[PipeV] != 0),
			l.Line == 4 && (l.In != 0 || l.Cycles[PipeV] == 0),
			l.Line == 5 && (l.Out != 256*n || l.Cycles[PipeMTE3] == 0):
			t.Errorf("%+v", l)
		}
	}
	for p, c := range rep.Pipes {
		if math.Abs(sum[p]-c) > 1e-6 {
			t.Errorf("the lines have %f cycles of %s, of %f", sum[p], Pipe(p), c)
		}
	}
	if in != rep.In || out != rep.Out {
		t.Errorf("the lines have %d and %d bytes, of %d and %d", in, out, rep.In, rep.Out)
	}
}

func TestTicks(t *testing.T) {
	for most, want := range map[float64]int{0: 1, 1: 11, 7: 8, 999: 10, 25703: 6, 1e9: 11} {
		list := ticks(most)
		if len(list) != want || list[len(list)-1] > most {
			t.Errorf("up to %g there are %v", most, list)
		}
	}
}
