package arrayfile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver/array"
)

func decode(data []byte) (*array.Array, error) {
	return readNPY(bytes.NewReader(data), int64(len(data)), nil)
}

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
			data := EncodeNPY(a)
			b, err := decode(data)
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
		if version[0] > 1 {
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
		{"other order", file("\x03\x00", "{'fortran_order': False, 'shape': (1,), 'descr': '|u1', 'more': 1}", "1"), "u8", []int{1}, []float64{'1'}},
		{"half", file("\x01\x00", "{'descr': '<f2', 'fortran_order': False, 'shape': (), }", "\x00\x3c"), "fp16", nil, []float64{1}},
		{"bools", file("\x02\x00", "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", "\x01\x00\x01"), "i1", []int{3}, []float64{1, 0, 1}},
	} {
		a, err := decode([]byte(tt.file))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if a.Type.Name != tt.typ || !slices.Equal(a.Shape, tt.shape) || !slices.Equal(a.Floats(), tt.want) {
			t.Errorf("%s: %v %v", tt.name, a, a.Floats())
		}
		for cut := range len(tt.file) {
			if b, err := decode([]byte(tt.file[:cut])); err == nil {
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
		"twice":    file("\x01\x00", "{'fortran_order': False, 'shape': (1,), 'shape': (1,), }", "1"),
		"records":  file("\x01\x00", "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,), }", "1234"),
		"code":     file("\x01\x00", "{'descr': '|u1', 'fortran_order': False, 'shape': (exit(),), }", "1"),
		"version":  file("\x04\x00", "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }", "1"),
		"header":   "\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr': '|u1'}",
	} {
		if a, err := decode([]byte(bad)); err == nil {
			t.Errorf("%s: read as %v", name, a)
		}
	}
}

// write leaves a file in a folder of the test's.
func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// archiveOf makes an .npz.
func archiveOf(t *testing.T, method uint16, entries ...any) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(entries); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: entries[i].(string), Method: method})
		if err != nil {
			t.Fatal(err)
		}
		w.Write(entries[i+1].([]byte))
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// tensors makes a safetensors file of a header and elements.
func tensors(header, data string) []byte {
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), data...)
}

func TestArchives(t *testing.T) {
	w, b := array.Of(array.Named("fp16"), 1.5, -2), array.Of(array.Named("i32"), 7)
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		path := write(t, "x.npz", archiveOf(t, method, "w.npy", EncodeNPY(w), "a/b.npy", EncodeNPY(b), "readme.txt", []byte("hello")))
		for text, want := range map[string]string{":w": "fp16[2] [1.5 -2]", ":a/b": "i32[1] [7]", ":w:fp8e5": "fp8e5[2] [1.5 -2]"} {
			expectArray(t, path+text, want)
		}
		expectError(t, path, "the file has 2 arrays, and none is named", "its arrays: w, a/b")
		expectError(t, path+":c", `the file has no array "c"`, "its arrays: w, a/b")
	}
	expectArray(t, write(t, "one.npz", archiveOf(t, zip.Deflate, "fp32.npy", EncodeNPY(b)))+":fp32", "i32[1] [7]")
	expectArray(t, write(t, "one.npz", archiveOf(t, zip.Deflate, "fp32.npy", EncodeNPY(b))), "i32[1] [7]")

	path := write(t, "m.safetensors", tensors(`{"__metadata__":{"format":"pt"},"w":{"dtype":"BF16","shape":[2,1],"data_offsets":[2,6]},"q.k:v":{"dtype":"F8_E4M3","shape":[],"data_offsets":[0,1]}}  `, "\x38\x00\x80\x3f\x00\xc0"))
	for text, want := range map[string]string{":w": "bf16[2 1] [1 -2]", ":q.k:v": "fp8e4nv[] [1]", ":w:fp32": "fp32[2 1] [1 -2]"} {
		expectArray(t, path+text, want)
	}
	expectError(t, path, "the file has 2 arrays", "its arrays: w, q.k:v")
	expectError(t, path+":x", `the file has no array "x"`, "")

	expectArray(t, write(t, "x.npy", EncodeNPY(w))+":bf16", "bf16[2] [1.5 -2]")
	// A type that NumPy does not know, as ml_dtypes writes it.
	void := bytes.Replace(EncodeNPY(w), []byte("'<f2'"), []byte("'|V2'"), 1)
	expectArray(t, write(t, "v.npy", void)+":fp16", "fp16[2] [1.5 -2]")
	expectError(t, write(t, "v.npy", void), `of NumPy's type "|V2"`, "numpy.save")
}

func expectArray(t *testing.T, text, want string) {
	t.Helper()
	a, err := Read(text)
	if err != nil {
		t.Errorf("%s: %v", text, err)
	} else if got := a.String() + " " + fmt.Sprint(a.Floats()); got != want {
		t.Errorf("%s is %s, want %s", text, got, want)
	}
}

func expectError(t *testing.T, text, message, help string) {
	t.Helper()
	a, err := Read(text)
	var d *diag.Diagnostic
	if !errors.As(err, &d) {
		t.Errorf("%s is %v, error %v", text, a, err)
	} else if !strings.Contains(d.Message, message) || !strings.Contains(d.Help, help) || strings.Contains(d.Message, "\n") {
		t.Errorf("%s: %q, help %q; want %q, %q", text, d.Message, d.Help, message, help)
	}
}

// TestHostile has files lie; each is one error, and none takes memory for what it
// claims.
func TestHostile(t *testing.T) {
	good := `{"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`
	for name, data := range map[string][]byte{
		"empty":        nil,
		"short":        []byte("1234567"),
		"length":       tensors(good, "1234")[:20],
		"endless":      append(bytes.Repeat([]byte{0xff}, 8), good...),
		"large":        append(binary.LittleEndian.AppendUint64(nil, maxTensors+1), good...),
		"no object":    tensors(`[]`, ""),
		"cut":          tensors(`{"w":{"dtype":"U8"`, ""),
		"no end":       tensors(`{"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}`, "1234"),
		"twice":        tensors(`{"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"w":{"dtype":"I8","shape":[4],"data_offsets":[0,4]}}`, "1234"),
		"type":         tensors(`{"w":{"dtype":"F4","shape":[4],"data_offsets":[0,4]}}`, "1234"),
		"no type":      tensors(`{"w":{}}`, "1234"),
		"negative":     tensors(`{"w":{"dtype":"U8","shape":[-4,-1],"data_offsets":[0,4]}}`, "1234"),
		"huge":         tensors(`{"w":{"dtype":"U8","shape":[4611686018427387904,4],"data_offsets":[0,4]}}`, "1234"),
		"overflow":     tensors(`{"w":{"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,4]}}`, "1234"),
		"offsets":      tensors(`{"w":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}}`, "1234"),
		"before":       tensors(`{"w":{"dtype":"U8","shape":[4],"data_offsets":[-4,0]}}`, "1234"),
		"beyond":       tensors(`{"w":{"dtype":"U8","shape":[4],"data_offsets":[1,5]}}`, "1234"),
		"size":         tensors(`{"w":{"dtype":"U8","shape":[4],"data_offsets":[0,3]}}`, "1234"),
		"one offset":   tensors(`{"w":{"dtype":"U8","shape":[4],"data_offsets":[0]}}`, "1234"),
		"not a number": tensors(`{"w":{"dtype":"U8","shape":["4"],"data_offsets":[0,4]}}`, "1234"),
		"nothing":      tensors(`{}`, "1234"),
		"deep":         tensors(`{"w":`+strings.Repeat("[", 20000)+`}`, ""),
	} {
		path := write(t, "x.safetensors", data)
		if a, err := Read(path + ":w"); err == nil {
			t.Errorf("%s: read as %v", name, a)
		}
		expectError(t, path+":w", "", "")
		expectError(t, path, "", "")
	}
	one := EncodeNPY(array.Of(array.Named("u8"), 1, 2, 3))
	bomb := bytes.Replace(one, []byte("(3,)"), []byte("(9999999999,)"), 1)
	for name, data := range map[string][]byte{
		"empty":     nil,
		"no zip":    []byte("PK\x03\x04 and no more"),
		"text":      archiveOf(t, zip.Store, "w.npy", []byte("hello")),
		"no array":  archiveOf(t, zip.Store, "w.txt", one),
		"twice":     archiveOf(t, zip.Store, "w.npy", one, "w.npy", one),
		"shape":     archiveOf(t, zip.Deflate, "w.npy", bomb),
		"checksum":  damaged(t, one, crc32.ChecksumIEEE(one)+1, uint64(len(one))),
		"claims":    damaged(t, bomb, crc32.ChecksumIEEE(bomb), uint64(len(bomb))+9999999999-3),
		"too large": damaged(t, one, crc32.ChecksumIEEE(one), 1<<40),
		"too short": damaged(t, one, crc32.ChecksumIEEE(one), uint64(len(one)-1)),
	} {
		path := write(t, "x.npz", data)
		if a, err := Read(path + ":w"); err == nil {
			t.Errorf("%s: read as %v", name, a)
		}
		expectError(t, path+":w", "", "")
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none.npz") + ":w"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := Read(t.TempDir()); err == nil {
		t.Error("a folder is read")
	}
}

// damaged makes an archive whose entry w says another checksum or size.
func damaged(t *testing.T, data []byte, crc uint32, size uint64) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateRaw(&zip.FileHeader{Name: "w.npy", Method: zip.Store, CRC32: crc, UncompressedSize64: size, CompressedSize64: uint64(len(data))})
	if err != nil {
		t.Fatal(err)
	}
	w.Write(data)
	z.Close()
	return b.Bytes()
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`), "1234")
	f.Add([]byte(`{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }`), "1")
	f.Fuzz(func(t *testing.T, header []byte, data string) {
		file := bytes.NewReader(tensors(string(header), data))
		if a, err := readTensor(file, file.Size(), "w", nil); err == nil && len(a.Data) != a.Len()*a.Type.Size {
			t.Errorf("%v has %d bytes", a, len(a.Data))
		}
		n := uint16(len(header))
		all := append(append([]byte(magic), 1, 0, byte(n), byte(n>>8)), header...)
		if a, err := decode(append(all, data...)); err == nil && len(a.Data) != a.Len()*a.Type.Size {
			t.Errorf("%v has %d bytes", a, len(a.Data))
		}
	})
}
