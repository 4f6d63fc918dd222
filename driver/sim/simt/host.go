package simt

import (
	"fmt"
	"io"
	"math"
	"math/bits"
	"strings"
)

// Host functions of OpCallExt's Imm.
const (
	HostPrintf = iota // Params: format, arguments, result
	HostAssert        // Params: message, file, line, function, size
)

// chooseHost executes calls of functions that the driver provides. The operands
// lie in the frame of parameters at Params[i].From, Size bytes each.
func chooseHost(in *Inst) (execFunc, Class) {
	switch in.Imm {
	case HostPrintf:
		return execPrintf, ClassNone
	case HostAssert:
		return execAssert, ClassNone
	}
	return nil, ClassNone
}

// param reads the i-th operand of a host call.
func (w *warp) param(s *step, i, lane int) uint64 {
	c := s.in.Params[i]
	at := lane*w.cta.prog.FrameBytes + c.From
	return loadBytes(w.frame[at:], c.Size*8)
}

// peek returns the memory at a generic address for the host to read, or nil.
func (w *warp) peek(addr uint64, lane int) []byte {
	off := int64(addr & windowMask)
	var data []byte
	switch addr >> windowShift {
	case windowShared:
		data = w.cta.shared
	case windowLocal:
		n := w.cta.prog.LocalBytes
		data = w.local[lane*n : (lane+1)*n]
	case windowParam:
		data = w.cta.run.params
	case windowConst:
		data = w.cta.run.consts
	default:
		b := w.cta.run.mem.at(addr)
		if b == nil || b.freed {
			return nil
		}
		data = b.Data
	}
	if off >= int64(len(data)) {
		return nil
	}
	return data[off:]
}

// cstring reads a string that a zero or its buffer's end ends.
func (w *warp) cstring(addr uint64, lane int) (string, bool) {
	b := w.peek(addr, lane)
	if b == nil {
		return "", false
	}
	s := string(b)
	if i := strings.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	return s, true
}

func execAssert(w *warp, s *step) {
	l := bits.TrailingZeros64(w.mask)
	msg, _ := w.cstring(w.param(s, 0, l), l)
	file, _ := w.cstring(w.param(s, 1, l), l)
	line := w.param(s, 2, l)
	w.faultAt(FindAssert, l, 0, "%s:%d: %s", file, line, msg)
}

// execPrintf prints a line for every active lane, in their order. Conversions
// follow C; each argument takes 4 or 8 bytes, aligned to its size.
func execPrintf(w *warp, s *step) {
	var out strings.Builder
	for m := w.mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m)
		format, ok := w.cstring(w.param(s, 0, l), l)
		if !ok {
			w.faultAt(FindHost, l, 0, "the format of vprintf lies in no memory")
			return
		}
		args := w.peek(w.param(s, 1, l), l)
		p := printer{name: "vprintf", args: args, align: 8, text: func(addr uint64) (string, bool) { return w.cstring(addr, l) }}
		if err := p.format(&out, format); err != nil {
			w.faultAt(FindHost, l, 0, "%v", err)
			return
		}
	}
	r := w.cta.run
	if r.cfg.Output == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := io.WriteString(r.cfg.Output, out.String()); err != nil {
		w.faultAt(FindHost, bits.TrailingZeros64(w.mask), 0, "output of the kernel could not be written: %v", err)
	}
}

// printer formats arguments of C's printf.
type printer struct {
	name string
	args []byte
	// align is the most that an argument is aligned to.
	align int
	// text reads what a %s points to.
	text func(addr uint64) (string, bool)
}

func (p *printer) format(out *strings.Builder, format string) error {
	at := 0
	take := func(n int) (uint64, bool) {
		a := min(n, p.align)
		at = (at + a - 1) &^ (a - 1)
		if at+n > len(p.args) {
			return 0, false
		}
		v := loadBytes(p.args[at:], n*8)
		at += n
		return v, true
	}
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			out.WriteByte(format[i])
			continue
		}
		j := i + 1
		for j < len(format) && strings.IndexByte("-+ #0123456789.", format[j]) >= 0 {
			j++
		}
		spec := format[i:j]
		n := 4
		for j < len(format) && strings.IndexByte("hlzjt", format[j]) >= 0 {
			if format[j] != 'h' {
				n = 8
			}
			j++
		}
		if j >= len(format) {
			return fmt.Errorf("format %q ends within a conversion", format)
		}
		verb := format[j]
		i = j
		if verb == '%' {
			out.WriteByte('%')
			continue
		}
		switch verb {
		case 'f', 'e', 'g', 'E', 'G', 'F', 'a', 'p', 's':
			n = 8
		}
		v, ok := take(n)
		if !ok {
			return fmt.Errorf("%s has fewer arguments than its format %q asks for", p.name, format)
		}
		switch verb {
		case 'd', 'i':
			x := int64(v)
			if n == 4 {
				x = int64(int32(v))
			}
			fmt.Fprintf(out, spec+"d", x)
		case 'u':
			fmt.Fprintf(out, spec+"d", v)
		case 'x', 'X', 'o':
			fmt.Fprintf(out, spec+string(verb), v)
		case 'c':
			out.WriteByte(byte(v))
		case 'f', 'F', 'e', 'E', 'g', 'G', 'a':
			out.WriteString(formatFloat(spec, verb, math.Float64frombits(v)))
		case 'p':
			fmt.Fprintf(out, "0x%x", v)
		case 's':
			str, ok := p.text(v)
			if !ok {
				str = "(null)"
			}
			fmt.Fprintf(out, spec+"s", str)
		default:
			return fmt.Errorf("format %q has the unknown conversion %%%c", format, verb)
		}
	}
	return nil
}

// formatFloat prints as C does: six digits unless the format says otherwise.
func formatFloat(spec string, verb byte, v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		s := "nan"
		if math.IsInf(v, 1) {
			s = "inf"
		} else if math.IsInf(v, -1) {
			s = "-inf"
		}
		return s
	}
	if verb == 'a' {
		verb = 'x'
	} else if !strings.Contains(spec, ".") {
		spec += ".6"
	}
	return fmt.Sprintf(spec+string(verb), v)
}
