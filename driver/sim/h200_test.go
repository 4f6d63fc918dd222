package sim

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestMatrixBits holds floating-point dots against results that an
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
		t.Errorf("only %d dots", n)
	}
}

// TestWarpgroupBits holds elements of dots of warpgroups against an H200's:
// testdata/h200_wgmma.txt has, by form, lines of a row of A, eight columns of B, and
// those elements of C and of D, as hexadecimal digits, bytes in their order.
func TestWarpgroupBits(t *testing.T) {
	text, err := os.ReadFile("testdata/h200_wgmma.txt")
	if err != nil {
		t.Fatal(err)
	}
	forms := wgmmaForms()
	m := loadWgmma(t, forms)
	byText := map[string]int{}
	for i := range forms {
		byText[forms[i].text()] = i
	}
	var f *wgmmaForm
	n := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "wgmma") {
			i, ok := byText[line]
			if !ok {
				t.Fatalf("the suite has no %s", line)
			}
			f = &forms[i]
			continue
		}
		n++
		a, b, c, d := f.recorded(t, line)
		image, acc := make([]byte, wgmmaImage), make([]uint32, 128*f.regs())
		size := elemBits(f.a) / 8
		for k := range f.k() {
			copy(image[f.at(64, 0, k):], a[k*size:(k+1)*size])
			for col := range 8 {
				copy(image[wgmmaB+f.at(f.n, col, k):], b[(col*f.k()+k)*size:][:size])
			}
		}
		// Row 0 lies in the first registers of threads 0 to 3.
		per := f.regs() * 8 / f.n / 2 // registers of a thread with a row's eight columns
		for i := range 4 * per {
			acc[i/per*f.regs()+i%per] = binary.LittleEndian.Uint32(c[4*i:])
		}
		dev := New(Options{Chip: H200})
		out := dev.Alloc("out", 4*len(acc))
		launch(t, dev, m, fmt.Sprintf("k%d", byText[f.text()]), Dim(1), Dim(128), 0, Upload(dev, "image", image), Upload(dev, "acc", acc), out)
		got := Download[uint32](out)
		for i := range 4 * per {
			if g, w := got[i/per*f.regs()+i%per], binary.LittleEndian.Uint32(d[4*i:]); g != w {
				t.Errorf("line %d, %s: word %d is %x, the hardware's %x", n, f.text(), i, g, w)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d rows", n)
	}
}

// recorded cuts a line of h200_wgmma.txt into its parts.
func (f *wgmmaForm) recorded(t *testing.T, line string) (a, b, c, d []byte) {
	var parts [4][]byte
	words := strings.Fields(line)
	sizes := [4]int{32, 8 * 32, elemBits(f.c), elemBits(f.c)}
	if len(words) != len(parts) {
		t.Fatalf("%q has %d parts", line, len(words))
	}
	for i, w := range words {
		p, err := hex.DecodeString(w)
		if err != nil || len(p) != sizes[i] {
			t.Fatalf("%q: part %d has %d bytes (%v)", line, i, len(p), err)
		}
		parts[i] = p
	}
	return parts[0], parts[1], parts[2], parts[3]
}
