package syntax

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Identifiers are compared in Unicode's normal form NFKC, and \N{NAME} needs
// the names of characters. Both are rare in kernels and absent from Go's
// library, so their tables are packed and unpacked at first use. How they were
// made is written in data/generate.py.

//go:embed data/nfkc.txt.gz
var nfkcPacked []byte

//go:embed data/names.txt.gz
var namesPacked []byte

func unpack(packed []byte) string {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic("BUG: embedded Unicode data: " + err.Error())
	}
	text, err := io.ReadAll(r)
	if err != nil {
		panic("BUG: embedded Unicode data: " + err.Error())
	}
	return string(text)
}

// nfkcTables is what normalisation needs to know, Hangul apart.
type nfkcTables struct {
	decomposed map[rune][]rune // in full, by compatibility
	class      map[rune]uint8  // canonical combining class, where not 0
	composite  map[[2]rune]rune
}

var nfkc = sync.OnceValue(func() nfkcTables {
	t := nfkcTables{map[rune][]rune{}, map[rune]uint8{}, map[[2]rune]rune{}}
	for line := range strings.Lines(unpack(nfkcPacked)) {
		var codes []rune
		for _, f := range strings.Fields(line[1:]) {
			v, err := strconv.ParseUint(f, 16, 32)
			if err != nil {
				panic("BUG: embedded Unicode data: " + err.Error())
			}
			codes = append(codes, rune(v))
		}
		switch line[0] {
		case 'd':
			t.decomposed[codes[0]] = codes[1:]
		case 'c':
			t.class[codes[0]] = uint8(codes[1])
		case 'p':
			t.composite[[2]rune{codes[0], codes[1]}] = codes[2]
		}
	}
	return t
})

// normalName is an identifier in NFKC.
func normalName(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return normalize(s)
		}
	}
	return s
}

func normalize(s string) string {
	t := nfkc()
	var rs []rune
	for _, r := range s {
		switch d, ok := t.decomposed[r]; {
		case ok:
			rs = append(rs, d...)
		case hangulBase <= r && r < hangulBase+hangulCount:
			rs = appendHangul(rs, r)
		default:
			rs = append(rs, r)
		}
	}
	t.reorder(rs)
	return string(t.compose(rs))
}

// reorder sorts each run of combining marks by their classes.
func (t *nfkcTables) reorder(rs []rune) {
	for i := 0; i < len(rs); i++ {
		if t.class[rs[i]] == 0 {
			continue
		}
		j := i
		for j < len(rs) && t.class[rs[j]] != 0 {
			j++
		}
		slices.SortStableFunc(rs[i:j], func(a, b rune) int { return int(t.class[a]) - int(t.class[b]) })
		i = j
	}
}

// compose joins each mark with the starter before it where Unicode has a
// character for both and no other mark of its class comes between.
func (t *nfkcTables) compose(rs []rune) []rune {
	out := rs[:0]
	starter, last := -1, -1 // index of the last starter; class of the last mark after it
	for _, r := range rs {
		class := int(t.class[r])
		if starter >= 0 && last < class {
			if c, ok := t.pair(out[starter], r); ok {
				out[starter] = c
				continue
			}
		}
		if class == 0 {
			starter, last = len(out), -1
		} else {
			last = class
		}
		out = append(out, r)
	}
	return out
}

func (t *nfkcTables) pair(a, b rune) (rune, bool) {
	switch {
	case jamoL <= a && a < jamoL+countL && jamoV <= b && b < jamoV+countV:
		return hangulBase + ((a-jamoL)*countV+(b-jamoV))*countT, true
	case hangulBase <= a && a < hangulBase+hangulCount && (a-hangulBase)%countT == 0 && jamoT < b && b < jamoT+countT:
		return a + b - jamoT, true
	}
	c, ok := t.composite[[2]rune{a, b}]
	return c, ok
}

// Hangul syllables are made of a leading consonant, a vowel and perhaps a
// trailing consonant, by arithmetic (Unicode Standard, section 3.12).
const (
	hangulBase = 0xac00
	jamoL      = 0x1100
	jamoV      = 0x1161
	jamoT      = 0x11a7 // one before the first trailing consonant
	countL     = 19
	countV     = 21
	countT     = 28

	hangulCount = countL * countV * countT
)

func appendHangul(rs []rune, r rune) []rune {
	i := r - hangulBase
	rs = append(rs, jamoL+i/(countV*countT), jamoV+i/countT%countV)
	if t := i % countT; t != 0 {
		rs = append(rs, jamoT+t)
	}
	return rs
}

var jamoNames = [3][]string{
	{"G", "GG", "N", "D", "DD", "R", "M", "B", "BB", "S", "SS", "", "J", "JJ", "C", "K", "T", "P", "H"},
	{
		"A", "AE", "YA", "YAE", "EO", "E", "YEO", "YE", "O", "WA", "WAE", "OE", "YO", "U", "WEO", "WE", "WI", "YU",
		"EU", "YI", "I",
	},
	{
		"", "G", "GG", "GS", "N", "NJ", "NH", "D", "L", "LG", "LM", "LB", "LS", "LT", "LP", "LH", "M", "B", "BS", "S",
		"SS", "NG", "J", "C", "K", "T", "P", "H",
	},
}

// nameTable has the "NAME;hex" lines, sorted.
var nameTable = sync.OnceValue(func() []string {
	return strings.Split(strings.TrimSuffix(unpack(namesPacked), "\n"), "\n")
})

// cjkRanges are the ideographs whose names are CJK UNIFIED IDEOGRAPH-code.
var cjkRanges = [...][2]rune{
	{0x3400, 0x4dbf},
	{0x4e00, 0x9fff},
	{0x20000, 0x2a6df},
	{0x2a700, 0x2b739},
	{0x2b740, 0x2b81d},
	{0x2b820, 0x2cea1},
	{0x2ceb0, 0x2ebe0},
	{0x30000, 0x3134a},
	{0x31350, 0x323af},
}

// runeNamed finds a character by its Unicode name: in any case, as CPython does,
// but for the names that are made by rule.
func runeNamed(name string) (rune, bool) {
	if code, ok := strings.CutPrefix(name, "CJK UNIFIED IDEOGRAPH-"); ok {
		v, err := strconv.ParseUint(code, 16, 32)
		for _, r := range cjkRanges {
			if err == nil && code == strings.ToUpper(code) && len(code) <= 5 && r[0] <= rune(v) && rune(v) <= r[1] {
				return rune(v), true
			}
		}
		return 0, false
	}
	if syllable, ok := strings.CutPrefix(name, "HANGUL SYLLABLE "); ok {
		return hangulNamed(syllable)
	}
	name = strings.ToUpper(name)
	table := nameTable()
	i, _ := slices.BinarySearchFunc(table, name, func(line, name string) int {
		have, _, _ := strings.Cut(line, ";")
		return strings.Compare(have, name)
	})
	if i == len(table) {
		return 0, false
	}
	have, code, _ := strings.Cut(table[i], ";")
	if have != name {
		return 0, false
	}
	v, err := strconv.ParseUint(code, 16, 32)
	return rune(v), err == nil
}

// hangulNamed splits a syllable's name into the longest parts that fit.
func hangulNamed(s string) (rune, bool) {
	var index [3]rune
	for part, names := range jamoNames {
		best := -1
		for i, n := range names {
			if strings.HasPrefix(s, n) && (best < 0 || len(n) > len(names[best])) {
				best = i
			}
		}
		if best < 0 {
			return 0, false
		}
		index[part] = rune(best)
		s = s[len(names[best]):]
	}
	return hangulBase + (index[0]*countV+index[1])*countT + index[2], s == ""
}
