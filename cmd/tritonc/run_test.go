package main

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tritonc/tritonc/driver/array"
)

func TestNPYRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, name := range strings.Fields(array.Names()) {
		typ := array.Named(name)
		for _, shape := range [][]int{{}, {0}, {1}, {7}, {3, 4}, {2, 1, 5}} {
			a := array.New(typ, shape...)
			if typ.Float() {
				a.Randn(r)
			} else {
				a.Randint(r, math.MinInt64/2, math.MaxInt64/2)
			}
			data, err := encodeNPY(a)
			if err != nil {
				t.Fatal(err)
			}
			b, err := decodeNPY(data)
			if err != nil {
				t.Fatalf("%v: %v\n%q", a, err, data)
			}
			if begin := len(data) - len(b.Data); begin%64 != 0 {
				t.Errorf("%v: the elements begin at byte %d", a, begin)
			}
			if typ.Size > 1 && name != "bf16" && b.Type != typ {
				t.Errorf("%v comes back as %v", a, b)
			}
			if !slices.Equal(a.Shape, b.Shape) || !slices.Equal(a.Floats(), b.Floats()) {
				t.Errorf("%v %v\ncomes back as %v %v", a, a.Floats(), b, b.Floats())
			}
		}
	}
}

// TestNPYOfNumPy reads files as NumPy writes them.
func TestNPYOfNumPy(t *testing.T) {
	file := func(version, header, data string) string {
		header += strings.Repeat(" ", 117-len(header)) + "\n"
		length := "\x76\x00"
		if version == "\x02\x00" {
			length = "\x76\x00\x00\x00"
		}
		return "\x93NUMPY" + version + length + header + data
	}
	for _, tt := range []struct {
		name, file string
		typ        string
		shape      []int
		want       []float64
	}{
		{"int64", file("\x01\x00", "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }", "\x01\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"), "i64", []int{2}, []float64{1, -1}},
		{"big endian", file("\x01\x00", "{'descr': '>u2', 'fortran_order': False, 'shape': (1, 2), }", "\x01\x02\x00\x03"), "u16", []int{1, 2}, []float64{258, 3}},
		{"columns", file("\x01\x00", "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", "\x00\x03\x01\x04\x02\x05"), "u8", []int{2, 3}, []float64{0, 1, 2, 3, 4, 5}},
		{"half", file("\x01\x00", "{'descr': '<f2', 'fortran_order': False, 'shape': (), }", "\x00\x3c"), "fp16", nil, []float64{1}},
		{"bools", file("\x02\x00", "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", "\x01\x00\x01"), "i1", []int{3}, []float64{1, 0, 1}},
	} {
		a, err := decodeNPY([]byte(tt.file))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if a.Type.Name != tt.typ || !slices.Equal(a.Shape, tt.shape) || !slices.Equal(a.Floats(), tt.want) {
			t.Errorf("%s: %v %v", tt.name, a, a.Floats())
		}
		for cut := range len(tt.file) {
			if b, err := decodeNPY([]byte(tt.file[:cut])); err == nil {
				t.Errorf("%s: the first %d bytes give %v", tt.name, cut, b)
			}
		}
	}
	for name, bad := range map[string]string{
		"complex":  file("\x01\x00", "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "12345678"),
		"negative": file("\x01\x00", "{'descr': '<i1', 'fortran_order': False, 'shape': (-1, -1), }", "1"),
		"too long": file("\x01\x00", "{'descr': '<i1', 'fortran_order': False, 'shape': (2,), }", "123"),
		"huge":     file("\x01\x00", "{'descr': '<i1', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", ""),
		"object":   file("\x01\x00", "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "1"),
		"no keys":  file("\x01\x00", "{}", "1"),
		"order":    file("\x01\x00", "{'fortran_order': False, 'shape': (1,), 'descr': '|u1', }", "1"),
	} {
		if a, err := decodeNPY([]byte(bad)); err == nil {
			t.Errorf("%s: read as %v", name, a)
		}
	}
}

func TestProgressBar(t *testing.T) {
	var p progress
	p.update(3, 8)
	var out bytes.Buffer
	quit, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		p.show(&out, "add", "blocks", time.Now().Add(-3*time.Second), quit)
	}()
	time.Sleep(400 * time.Millisecond)
	close(quit)
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		t.Fatal("the bar stays")
	}
	if !strings.Contains(out.String(), "add") || !strings.Contains(out.String(), "3 of 8 blocks 3s") {
		t.Errorf("drawn: %q", &out)
	}
	// Nothing is drawn where nobody looks.
	out.Reset()
	p.start(&out, "add", "blocks")()
	if out.Len() > 0 {
		t.Errorf("drawn: %q", &out)
	}
}

// TestValues: what the texts of --arg stand for.
func TestValues(t *testing.T) {
	v := &values{}
	for _, a := range [][2]string{
		{"n", "2*m"},
		{"m", "5"},
		{"x", "full(-1):i8[n, 2]"},
		{"y", "arange:float16[m]"},
		{"s", "zeros:fp32[]"},
		{"f", "1e3"},
		{"g", "0.5:fp16"},
		{"k", "7:int64"},
		{"b", "False"},
		{"none", "None"},
		{"t", "tl.float16"},
		{"p", "'tf32'"},
	} {
		v.args = append(v.args, &valueArg{name: a[0], text: a[1]})
	}
	if err := v.evaluate(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"n": int64(10), "m": int64(5), "f": 1000.0, "g": 0.5, "k": int64(7), "b": false, "none": nil} {
		if got := v.find(name).value; got != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	for name, want := range map[string]string{"g": "fp16", "k": "i64", "m": ""} {
		if got := v.find(name).typ; got != want {
			t.Errorf("%s is a %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"x": "i8[10 2]", "y": "fp16[5]", "s": "fp32[]"} {
		a := v.find(name).value.(*array.Array)
		if a.String() != want {
			t.Errorf("%s is %v, want %s", name, a, want)
		}
	}
	if got := v.find("x").value.(*array.Array).Int(3); got != -1 {
		t.Errorf("x[3] = %d", got)
	}
}
