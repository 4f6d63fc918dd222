package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/tritonc/tritonc/driver/array"
)

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

// TestAboveBar: messages that come while a bar is drawn stand above it, whole and in order,
// and so do those that came last.
func TestAboveBar(t *testing.T) {
	var out bytes.Buffer
	r := &reporter{w: &out, said: map[string]bool{}}
	p := &progress{}
	p.update(3, 8)
	quit, gone, drawn := make(chan struct{}), make(chan struct{}), make(chan struct{})
	p.above = func(w io.Writer) func() {
		end := r.above(w)
		close(drawn)
		return end
	}
	go func() {
		defer close(gone)
		p.show(&out, "compiling", "kernels", time.Now(), quit)
	}()
	<-drawn
	r.record("first\nsec", nil)
	time.Sleep(400 * time.Millisecond) // for a few refreshes
	r.record("ond\nthird", nil)
	close(quit)
	<-gone
	r.record("after\n", nil)
	text := out.String()
	at := 0
	for _, line := range []string{"first\n", "3 of 8 kernels", "second\n", "third\n", "after\n"} {
		i := strings.Index(text[at:], line)
		if i < 0 {
			t.Fatalf("there is no %q after %q in %q", line, text[:at], text)
		}
		at += i
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
