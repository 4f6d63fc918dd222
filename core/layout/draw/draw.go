package draw

import (
	"fmt"
	"strings"

	"github.com/tritonc/tritonc/core/layout"
)

// Options say what the layout alone does not.
type Options struct {
	// Title comes above the picture.
	Title string
	// ElementBits is the size of an element, for the banks of a shared layout.
	ElementBits int
	// Banks is the number of banks of shared memory, BankBytes the width of one.
	Banks, BankBytes int
	// Address maps an offset of a shared layout to the element's address in
	// elements, where padding lies between; nil: they are the same.
	Address func(offset int) int
}

// Sizes in pixels.
const (
	charWidth  = 7
	cellHeight = 20
	margin     = 10
	lineHeight = 18
	keyWidth   = 3*charWidth + 4 // of a colour in the key
	keyColumns = 32
)

// SVG is the picture of a layout of a tensor.
func SVG(l layout.Layout, opt Options) []byte {
	p := picture{shape: l.Shape(), opt: opt}
	p.cells = make([]cell, product(p.shape))
	if l.IsShared() {
		return p.draw(p.shared(l))
	}
	return p.draw(p.distributed(l))
}

// cell is one element.
type cell struct {
	text   string // of the first place that holds it
	fill   string
	places []string // all places
}

type picture struct {
	shape []int64
	opt   Options
	cells []cell
	key   []string // what colours mean: that of bank 0, 1, …
}

// add notes that the element with these coordinates is at a place.
func (p *picture) add(at []int, text, fill, place string) {
	e := 0
	for d, x := range at {
		e = e*int(p.shape[d]) + x
	}
	c := &p.cells[e]
	if c.text == "" {
		c.text, c.fill = text, fill
	}
	c.places = append(c.places, place)
}

// distributed fills the cells of a distributed layout and returns the legend.
func (p *picture) distributed(l layout.Layout) string {
	lanes, warps, blocks := l.InSize(layout.Lane), l.InSize(layout.Warp), l.InSize(layout.Block)
	for block := range blocks {
		for warp := range warps {
			for lane := range lanes {
				for register := range l.InSize(layout.Register) {
					at := l.Apply(inputs(l, register, lane, warp, block)...)
					text := fmt.Sprintf("T%d:%d", warp*lanes+lane, register)
					place := fmt.Sprintf("warp %d lane %d register %d", warp, lane, register)
					if blocks > 1 {
						text, place = fmt.Sprintf("B%d:%s", block, text), fmt.Sprintf("CTA %d %s", block, place)
					}
					p.add(at, text, colour(lane, lanes, block*warps+warp, blocks*warps), place)
				}
			}
		}
	}
	if blocks > 1 {
		return fmt.Sprintf("B CTA : T thread : register. Hue: lane of %d, shade: CTA of %d and warp of %d.", lanes, blocks, warps)
	}
	return fmt.Sprintf("T thread : register. Hue: lane of %d, shade: warp of %d.", lanes, warps)
}

// inputs orders the indices as l orders its inputs.
func inputs(l layout.Layout, register, lane, warp, block int) []int {
	in := make([]int, len(l.Ins()))
	for i, axis := range l.Ins() {
		switch axis.Dim {
		case layout.Register:
			in[i] = register
		case layout.Lane:
			in[i] = lane
		case layout.Warp:
			in[i] = warp
		case layout.Block:
			in[i] = block
		}
	}
	return in
}

// shared fills the cells of a shared layout and returns the legend.
func (p *picture) shared(l layout.Layout) string {
	blocks := l.InSize(layout.Block)
	for block := range blocks {
		for offset := range l.InSize(layout.Offset) {
			in := inputs(l, 0, 0, 0, block)
			for i, axis := range l.Ins() {
				if axis.Dim == layout.Offset {
					in[i] = offset
				}
			}
			address := offset
			if p.opt.Address != nil {
				address = p.opt.Address(offset)
			}
			bank := address * p.opt.ElementBits / 8 / p.opt.BankBytes % p.opt.Banks
			text, place := fmt.Sprint(address), fmt.Sprintf("offset %d bank %d", address, bank)
			if blocks > 1 {
				text, place = fmt.Sprintf("B%d:%s", block, text), fmt.Sprintf("CTA %d %s", block, place)
			}
			p.add(l.Apply(in...), text, colour(bank, p.opt.Banks, block, blocks), place)
		}
	}
	for bank := range p.opt.Banks {
		p.key = append(p.key, colour(bank, p.opt.Banks, 0, blocks))
	}
	return fmt.Sprintf("Offset in elements of %d bits. Hue: bank of %d of %d bytes.", p.opt.ElementBits, p.opt.Banks, p.opt.BankBytes)
}

// draw writes the cells, plane by plane, with numbers on rows and columns.
func (p *picture) draw(legend string) []byte {
	rows, columns := 1, int(p.shape[len(p.shape)-1])
	if len(p.shape) > 1 {
		rows = int(p.shape[len(p.shape)-2])
	}
	longest, replicas := 0, false
	for i := range p.cells {
		longest = max(longest, len(p.cells[i].label()))
		replicas = replicas || len(p.cells[i].places) > 1
	}
	if replicas {
		legend += " +1: in one place more."
	}
	width := longest*charWidth + 8
	left := margin + 4*charWidth
	planes := len(p.cells) / (rows * columns)
	planeHeight := rows*cellHeight + 2*lineHeight + margin
	keyTop := margin + 2*lineHeight
	keyRows := (len(p.key) + keyColumns - 1) / keyColumns
	top := keyTop + keyRows*cellHeight
	text := max(max(len(p.opt.Title), len(legend))*charWidth, min(len(p.key), keyColumns)*keyWidth) + 2*margin

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="monospace" font-size="11">`+"\n",
		max(left+columns*width+margin, text), top+planes*planeHeight)
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	writeText(&b, margin, margin+lineHeight/2, "start", p.opt.Title)
	writeText(&b, margin, margin+lineHeight/2+lineHeight, "start", legend)
	for i, fill := range p.key {
		x, y := margin+i%keyColumns*keyWidth, keyTop+i/keyColumns*cellHeight
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`, x, y, keyWidth, cellHeight, fill)
		writeText(&b, x+keyWidth/2, y+14, "middle", fmt.Sprint(i))
	}
	for plane := range planes {
		y := top + plane*planeHeight
		if planes > 1 {
			writeText(&b, margin, y+lineHeight/2, "start", p.planeName(plane))
		}
		y += 2 * lineHeight
		for j := range columns {
			writeText(&b, left+j*width+width/2, y-6, "middle", fmt.Sprint(j))
		}
		for i := range rows {
			writeText(&b, left-6, y+i*cellHeight+14, "end", fmt.Sprint(i))
			for j := range columns {
				p.cells[(plane*rows+i)*columns+j].write(&b, left+j*width, y+i*cellHeight, width)
			}
		}
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// planeName is the coordinates that all elements of a plane share: [1, 0, :, :].
func (p *picture) planeName(plane int) string {
	outer := p.shape[:len(p.shape)-2]
	at := make([]string, len(outer), len(p.shape))
	for d := len(outer) - 1; d >= 0; d-- {
		at[d] = fmt.Sprint(plane % int(outer[d]))
		plane /= int(outer[d])
	}
	return "[" + strings.Join(append(at, ":", ":"), ", ") + "]"
}

// label is what is in the cell: the first place, and how many more there
// are.
func (c *cell) label() string {
	if n := len(c.places); n > 1 {
		return fmt.Sprintf("%s +%d", c.text, n-1)
	}
	return c.text
}

func (c *cell) write(b *strings.Builder, x, y, width int) {
	fill := c.fill
	if fill == "" {
		fill = "#ffffff" // nothing holds it
	}
	fmt.Fprintf(b, `<g><title>%s</title><rect x="%d" y="%d" width="%d" height="%d" fill="%s" stroke="#888"/>`,
		escape(strings.Join(c.places, "\n")), x, y, width, cellHeight, fill)
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">%s</text></g>`+"\n", x+width/2, y+14, escape(c.label()))
}

func writeText(b *strings.Builder, x, y int, anchor, s string) {
	if s != "" {
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="%s">%s</text>`+"\n", x, y, anchor, escape(s))
	}
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func escape(s string) string { return escaper.Replace(s) }

// colour is hue k of n in shade s of m, light enough for black text.
func colour(k, n, s, m int) string {
	lightness := 860 - 280*s/max(m, 1) // of 1000
	// HSL with saturation 3/4, in whole numbers: the same file everywhere.
	chroma := (1000 - abs(2*lightness-1000)) * 3 / 4
	sixth := 6000 * k / max(n, 1)
	x := chroma * (1000 - abs(sixth%2000-1000)) / 1000
	low := lightness - chroma/2
	rgb := [][3]int{{chroma, x, 0}, {x, chroma, 0}, {0, chroma, x}, {0, x, chroma}, {x, 0, chroma}, {chroma, 0, x}}[sixth/1000]
	return fmt.Sprintf("#%02x%02x%02x", (rgb[0]+low)*255/1000, (rgb[1]+low)*255/1000, (rgb[2]+low)*255/1000)
}

func abs(x int) int {
	if x < 0 {
		return -x
	}
	return x
}

func product(shape []int64) int {
	n := 1
	for _, s := range shape {
		n *= int(s)
	}
	return n
}
