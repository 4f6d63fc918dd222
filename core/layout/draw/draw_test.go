package draw_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/layout/draw"
	"github.com/tritonc/tritonc/internal/golden"
)

func linear(t *testing.T, e layout.Encoding, shape ...int64) layout.Layout {
	t.Helper()
	l, err := e.Linear(shape)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

var cases = []struct {
	name  string
	e     layout.Encoding
	shape []int64
}{
	{"blocked", &layout.Blocked{SizePerThread: []int{1, 2}, ThreadsPerWarp: []int{2, 2}, WarpsPerCTA: []int{2, 1}, Order: []int{1, 0}}, []int64{4, 8}},
	{"replicas", &layout.Blocked{SizePerThread: []int{1}, ThreadsPerWarp: []int{4}, WarpsPerCTA: []int{2}, Order: []int{0}}, []int64{4}},
	{"planes", &layout.Blocked{
		SizePerThread: []int{1, 1, 2}, ThreadsPerWarp: []int{1, 2, 2}, WarpsPerCTA: []int{1, 1, 1}, Order: []int{2, 1, 0},
		CGA: layout.Bases{{1, 0, 0}},
	}, []int64{2, 2, 4}},
	{"padded", &layout.PaddedShared{Intervals: []int{8}, Paddings: []int{2}, Order: []int{1, 0}, Shape: []int64{4, 8}}, []int64{4, 8}},
	{"nvmma", &layout.NVMMAShared{SwizzlingByteWidth: 32, ElementBitWidth: 16}, []int64{8, 16}},
	{"rotating", &layout.AMDRotatingShared{Vec: 2, PerPhase: 1, MaxPhase: 2, Order: []int{1, 0}}, []int64{4, 8}},
	{"swizzled", &layout.SwizzledShared{Vec: 2, PerPhase: 1, MaxPhase: 2, Order: []int{1, 0}}, []int64{4, 8}},
}

// TestPictures compares the pictures, which must be well-formed XML, with
// testdata/<name>.svg.
func TestPictures(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			opt := draw.Options{Title: "#ttg." + c.e.Mnemonic() + "<{…}>", ElementBits: 16, Banks: 4, BankBytes: 4}
			if p, ok := c.e.(*layout.PaddedShared); ok {
				opt.Address = p.Pad
			}
			svg := draw.SVG(linear(t, c.e, c.shape...), opt)
			d := xml.NewDecoder(bytes.NewReader(svg))
			for {
				if _, err := d.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
			path := filepath.Join("testdata", c.name+".svg")
			if os.Getenv(golden.UpdateEnv) == "1" {
				if err := os.WriteFile(path, svg, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(svg, want) {
				t.Errorf("%s differs; TRITONC_UPDATE=1 rewrites it", path)
			}
		})
	}
}

// Of a column of a swizzled layout as many banks are shown as there are phases,
// and padding counts.
func TestBanks(t *testing.T) {
	fills := func(e layout.Encoding, address func(int) int) int {
		svg := string(draw.SVG(linear(t, e, 8, 64), draw.Options{ElementBits: 16, Banks: 32, BankBytes: 4, Address: address}))
		// The first cell of each row.
		distinct := map[string]bool{}
		for i, g := range strings.Split(svg, "<g>")[1:] {
			if i%64 == 0 {
				_, rest, _ := strings.Cut(g, `fill="`)
				fill, _, _ := strings.Cut(rest, `"`)
				distinct[fill] = true
			}
		}
		return len(distinct)
	}
	plain := &layout.SwizzledShared{Vec: 1, PerPhase: 1, MaxPhase: 1, Order: []int{1, 0}}
	swizzled := &layout.SwizzledShared{Vec: 8, PerPhase: 1, MaxPhase: 8, Order: []int{1, 0}}
	padded := &layout.PaddedShared{Intervals: []int{64}, Paddings: []int{8}, Order: []int{1, 0}, Shape: []int64{8, 64}}
	for _, c := range []struct {
		name string
		got  int
		want int
	}{
		{"plain", fills(plain, nil), 1},
		{"swizzled", fills(swizzled, nil), 8},
		{"padded", fills(padded, padded.Pad), 8},
	} {
		if c.got != c.want {
			t.Errorf("%s: the first column lies in %d banks, want %d", c.name, c.got, c.want)
		}
	}
}
