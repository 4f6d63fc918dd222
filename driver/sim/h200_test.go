package sim

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestMatrixBits holds floating-point matrix products against results that an
// H200 gave: testdata/h200_mma.txt has, for each form, lines of the words of 32
// lanes, operands first and then results.
func TestMatrixBits(t *testing.T) {
	f, err := os.Open("testdata/h200_mma.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cases := map[string]*warpCase{}
	all := warpCases()
	for i := range all {
		cases[all[i].text] = &all[i]
	}
	var c *warpCase
	var m *Module
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "mma") {
			if c = cases[line]; c == nil {
				t.Fatalf("the suite has no %s", line)
			}
			if m, err = Load("mma.ptx", []byte(strings.Replace(conformHead, "8.0", "8.4", 1)+c.kernelText(0))); err != nil {
				t.Fatal(err)
			}
			continue
		}
		words := strings.Fields(line)
		if len(words) != 32*(len(c.in)+len(c.out)) {
			t.Fatalf("%s: %d words", c.text, len(words))
		}
		v := make([]uint64, len(words))
		for i, w := range words {
			if v[i], err = strconv.ParseUint(w, 16, 32); err != nil {
				t.Fatal(err)
			}
		}
		d := New(Options{})
		out := Upload(d, "out", make([]uint64, 32*len(c.out)))
		launch(t, d, m, "k0", Dim(1), Dim(32), 0, Upload(d, "in", v[:32*len(c.in)]), out)
		for i, got := range Download[uint64](out) {
			if want := v[32*len(c.in)+i]; got != want {
				t.Errorf("%s: lane %d result %d is %x, the hardware's %x", c.text, i/len(c.out), i%len(c.out), got, want)
			}
		}
		n++
	}
	if n < 20 {
		t.Errorf("only %d products", n)
	}
}
