package simt

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Programs for AMD's processors print into a buffer in global memory, which is read when
// the kernel has ended. It begins with two words: how many bytes of records there are,
// and how many have room with these words.
const (
	printsHeader = 8
	printsSize   = 1 << 20
)

func newPrints(m *Memory) (*Buffer, error) {
	b, err := m.Alloc("what the kernel prints", printsSize, false)
	if err == nil {
		binary.LittleEndian.PutUint32(b.Data[4:], printsSize)
	}
	return b, err
}

// print writes what the kernel printed to the launch's output, and frees the buffer.
func (r *launch) print() error {
	if r.prints == nil {
		return nil
	}
	defer r.mem.Free(r.prints)
	list, err := r.printed()
	if err != nil || r.cfg.Output == nil {
		return err
	}
	if _, err := io.WriteString(r.cfg.Output, strings.Join(list, "")); err != nil {
		return fmt.Errorf("what kernel %s prints cannot be written: %w", r.kernel.Name, err)
	}
	return nil
}

// printed returns what the kernel printed, up to a record that nobody wrote, since its
// wavefront was stopped when it had claimed the place.
func (r *launch) printed() (list []string, err error) {
	end := printsHeader + int(binary.LittleEndian.Uint32(r.prints.Data))
	for at := printsHeader; at < end; {
		rec, text, err := r.record(at)
		if err != nil || rec == nil {
			return list, err
		}
		list = append(list, text)
		at += 4 + rec.Bytes
	}
	return list, nil
}

// record returns the record at an offset and what it prints; nil where nobody wrote one.
func (r *launch) record(at int) (*Record, string, error) {
	data := r.prints.Data
	number := int(binary.LittleEndian.Uint32(data[at:]))
	if number == 0 {
		return nil, "", nil
	}
	i := slices.IndexFunc(r.prog.Records, func(p Record) bool { return p.Number == number })
	if i < 0 || at+4+r.prog.Records[i].Bytes > len(data) {
		return nil, "", fmt.Errorf("kernel %s printed a record of number %d, which is not one of its formats", r.kernel.Name, number)
	}
	rec := &r.prog.Records[i]
	p := printer{
		name: "what the kernel prints", args: data[at+4 : at+4+rec.Bytes], align: 4,
		text: func(uint64) (string, bool) { return "", false },
	}
	var out strings.Builder
	err := p.format(&out, rec.Format)
	return rec, out.String(), err
}

// LastPrinted is what the first lane of the wavefront's latest store to the buffer prints,
// if that is a record's number, or "".
func (v *Wavefront) LastPrinted() string {
	if v.printed == 0 {
		return ""
	}
	_, text, err := v.w.cta.run.record(v.printed)
	if err != nil {
		return ""
	}
	return text
}
