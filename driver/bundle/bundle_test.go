package bundle

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/kernel"
	"github.com/tritonc/tritonc/internal/fakedevice"
	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

func variant(target, stage, name string, hints []int, constants ...kernel.Arg) Variant {
	return Variant{Variant: kernel.Variant{
		Target: target, Stage: stage, Hints: hints, Constants: constants,
		Metadata: fmt.Appendf(nil, `{"name":%q,"num_warps":4,"shared":64,"registers":16}`, name), Code: []byte("code of " + name),
	}}
}

func example() *Bundle {
	return &Bundle{
		Tritonc: "1.0", Triton: "3.6.0",
		Targets: []Target{{"cuda:80", "nvidia", "1", "ab"}, {"cuda:90", "nvidia", "1", "ab"}},
		Kernels: []*Kernel{
			{
				Name: "scale", Source: "scale.py", Grid: "cdiv(n, BLOCK), 2",
				Params: []kernel.Param{{Name: "x", Type: "*fp32"}, {Name: "n", Type: "i32"}}, Order: []string{"x", "n", "BLOCK"},
				Variants: []Variant{
					variant("cuda:80", "ptx", "plain80", nil, kernel.Named("BLOCK", int64(64))),
					variant("cuda:80", "ptx", "even80", []int{16, 16}, kernel.Named("BLOCK", int64(64))),
					variant("cuda:80", "cubin", "even80", []int{16, 16}, kernel.Named("BLOCK", int64(64))),
					variant("cuda:90", "ptx", "plain90", nil, kernel.Named("BLOCK", int64(128))),
				},
			},
			{
				Name: "other", Source: "other.py", Params: []kernel.Param{},
				Variants: []Variant{variant("cuda:80", "ptx", "other", nil,
					kernel.Named("a", nil), kernel.Named("b", true), kernel.Named("c", math.Inf(-1)), kernel.Named("d", "ieee"))},
			},
		},
	}
}

func encode(t *testing.T, b *Bundle) []byte {
	t.Helper()
	data, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestRoundTrip(t *testing.T) {
	want := example()
	data := encode(t, want)
	if again := encode(t, example()); !bytes.Equal(data, again) {
		t.Error("the same kernels give other bytes")
	}
	got, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []*Bundle{got, want} { // white space of metadata plays no part
		for _, k := range b.Kernels {
			for i := range k.Variants {
				var m any
				if err := json.Unmarshal(k.Variants[i].Metadata, &m); err != nil {
					t.Fatal(err)
				}
				k.Variants[i].Metadata, _ = json.Marshal(m)
			}
			if len(k.Params) == 0 {
				k.Params = nil
			}
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	path := filepath.Join(t.TempDir(), "k.bundle")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err != nil {
		t.Error(err)
	}
	if _, err := Open(filepath.Dir(path)); err == nil {
		t.Error("a folder is a bundle")
	}
}

func device(arch, stage string) *fakedevice.Device {
	dev := fakedevice.New(stage)
	dev.Props.Target = sdk.Target{Backend: "cuda", Arch: arch, WarpSize: 32}
	dev.Keep = true
	return dev
}

// A device takes its own code, and the formula gives the grid.
func TestLoad(t *testing.T) {
	b, err := Read(encode(t, example()))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		arch, stage string
		n           int
		want        string
		grid        int
	}{
		{"80", "ptx", 640, "even80", 10},
		{"80", "ptx", 641, "plain80", 11},
		{"80", "cubin", 640, "even80", 10},
		{"90", "ptx", 640, "plain90", 5},
	} {
		dev := device(tt.arch, tt.stage)
		f, err := b.Load("scale", dev)
		if err != nil {
			t.Fatal(err)
		}
		x, err := kernel.Alloc[float32](dev, 1024)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Run(t.Context(), x, tt.n); err != nil {
			t.Error(err)
		}
		if got := dev.Loaded(); got.Kernel != tt.want || string(got.Code) != "code of "+tt.want || dev.Last().Grid != [3]int{tt.grid, 2, 1} {
			t.Errorf("%+v: ran %s on %v", tt, got.Kernel, dev.Last().Grid)
		}
	}
	if _, err := b.Load("scale", device("86", "ptx")); err == nil || !strings.Contains(err.Error(), "ptx for cuda:80") {
		t.Error(err)
	}
	if _, err := b.Load("", device("80", "ptx")); err == nil || err.Error() != "the bundle has 2 kernels, and none is named: scale, other" {
		t.Error(err)
	}
	if _, err := b.Load("scael", device("80", "ptx")); err == nil || err.Error() != `the bundle has no kernel "scael"; it has scale, other` {
		t.Error(err)
	}
	f, err := b.Load("other", device("80", "ptx"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "other has no formula of its grid") {
		t.Error(err)
	}
}

func TestGrid(t *testing.T) {
	for formula, want := range map[string]string{
		"1":                       "",
		"n // 2, min(n, 3)":       "",
		"-n":                      "grid dimension x is -7: it must be at least 1",
		"cdiv(n, 0)":              "cdiv(7, 0) is not defined",
		"n // (n - 7)":            "division by zero",
		"n / 2":                   "its dimension x is 3.5, not an integer",
		"1, 2, 3, 4":              "its grid has no dimension, or more than three",
		"0":                       "its grid has the dimension 0, and not an integer above 0",
		"1, 1/2":                  "its grid has the dimension 0.5, and not an integer above 0",
		"1//0":                    "its grid: division by zero",
		"m":                       "its grid asks for m, which is neither an argument nor a constant",
		"[n]":                     "'[n]' is more than the arithmetic that is known here",
		"cdiv(n":                  "'cdiv(n' is not an expression",
		"__import__('os').exit()": "more than the arithmetic",
	} {
		k := example().Kernels[0]
		k.Grid = formula
		f, err := k.Load(device("80", "ptx"))
		if err == nil {
			_, err = f.Run(t.Context(), nil, 7)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", formula, err, want)
		}
	}
}

func TestCheck(t *testing.T) {
	k := example().Kernels[0]
	same := k.Variants[1]
	same.Options = "num_warps=8"
	k.Variants = append(k.Variants, same)
	if _, err := (&Bundle{Kernels: []*Kernel{{Name: strings.Repeat("x", 300)}}}).Encode(); err == nil {
		t.Error("what cannot be read is written")
	}
	if err := k.Check(); err == nil || err.Error() != "two variants of scale for cuda:80 have the same hints and constants and differ in their options (none; num_warps=8): no launch could tell them apart" {
		t.Error(err)
	}
}

// edit changes the manifest of a bundle, and its files.
func edit(t *testing.T, data []byte, change func(m map[string]any), files func(name string, data []byte) []byte) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name == manifestName && change != nil {
			var m map[string]any
			if err := json.Unmarshal(data, &m); err != nil {
				t.Fatal(err)
			}
			change(m)
			data, _ = json.Marshal(m)
		}
		if files != nil {
			data = files(f.Name, data)
		}
		if data == nil {
			continue
		}
		to, err := w.Create(f.Name)
		if err == nil {
			_, err = to.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Nothing that is not as the manifest says is taken, nor a manifest that nobody means.
func TestHostile(t *testing.T) {
	good := encode(t, example())
	of := func(m map[string]any, kernel, variant int) (k, v map[string]any) {
		k = m["kernels"].([]any)[kernel].(map[string]any)
		return k, k["variants"].([]any)[variant].(map[string]any)
	}
	set := func(field string, value any) func(map[string]any) {
		return func(m map[string]any) { _, v := of(m, 0, 0); v[field] = value }
	}
	setKernel := func(field string, value any) func(map[string]any) {
		return func(m map[string]any) { k, _ := of(m, 0, 0); k[field] = value }
	}
	huge := make([]byte, 1<<20)
	sum := sha256.Sum256(huge)
	for _, tt := range []struct {
		what   string
		change func(m map[string]any)
		files  func(name string, data []byte) []byte
		says   string
	}{
		{"format", func(m map[string]any) { m["format"] = "tritonc bundle 2" }, nil, `the bundle is of the format "tritonc bundle 2"`},
		{"no manifest", nil, func(name string, data []byte) []byte {
			if name == manifestName {
				return nil
			}
			return data
		}, "does not begin with manifest.json"},
		{"broken manifest", nil, func(name string, data []byte) []byte { return data[:len(data)/2] }, "its manifest cannot be read"},
		{"code changed", nil, func(name string, data []byte) []byte {
			return bytes.ReplaceAll(data, []byte("code of plain80"), []byte("CODE of plain80"))
		}, "is damaged"},
		{"code missing", nil, func(name string, data []byte) []byte {
			if name == "code/1.ptx" {
				return nil
			}
			return data
		}, `"code/1.ptx" is not there`},
		{"size", set("size", 3), nil, "has 15 bytes, more than 3"},
		{"negative size", set("size", -1), nil, "is said to have a size of -1"},
		{"great size", set("size", 1<<40), nil, "is said to have a size of 1099511627776"},
		{"longer size", set("size", 16), nil, "is damaged"},
		{"bomb", func(m map[string]any) {
			set("size", 15)(m)
			set("sha256", hex.EncodeToString(sum[:]))(m)
		}, func(name string, data []byte) []byte {
			if name == "code/0.ptx" {
				return huge
			}
			return data
		}, "has 1048576 bytes, more than 15"},
		{"outside", set("file", "../../etc/passwd"), nil, `"../../etc/passwd" is not there`},
		{"shared file", func(m map[string]any) { _, v := of(m, 0, 1); v["file"] = "code/0.ptx" }, nil, "belongs to two variants"},
		{"the manifest as code", set("file", manifestName), nil, "is not there"},
		{"more files", func(m map[string]any) { m["kernels"] = m["kernels"].([]any)[:1] }, nil, `its manifest does not know "code/4.ptx"`},
		{"hints", set("hints", []int{16}), nil, "has 1 hint for 2 parameters"},
		{"odd hints", set("hints", []int{3, 0}), nil, "has the hint 3"},
		{"metadata", set("metadata", []int{1}), nil, "metadata: "},
		{"shared", set("metadata", map[string]int{"shared": -5}), nil, "its metadata say shared=-5"},
		{"warps", set("metadata", map[string]int{"num_warps": 1 << 20}), nil, "num_warps=1048576"},
		{"clusters", set("metadata", map[string]int{"num_ctas": -1}), nil, "num_ctas=-1"},
		{"scratch", set("metadata", map[string]int{"global_scratch_size": 1 << 50}), nil, "global_scratch_size"},
		{"constants", set("constants", []map[string]string{{"name": "B", "type": "int", "value": "x"}}), nil, `the constant "B" cannot be read`},
		{"constants of no type", set("constants", []map[string]string{{"name": "B"}}), nil, `its type is ""`},
		{"stage", set("stage", ""), nil, `a stage is called ""`},
		{"terminal", set("options", "\x1b[2J"), nil, `options is called "\x1b[2J"`},
		{"name", setKernel("name", "a\nb"), nil, `a kernel is called "a\nb"`},
		{"long name", setKernel("name", strings.Repeat("x", 300)), nil, "a kernel is called"},
		{"name of another", setKernel("name", "other"), nil, `two kernels are called "other"`},
		{"grid", setKernel("grid", "x.y"), nil, "more than the arithmetic"},
		{"long grid", setKernel("grid", strings.Repeat("1+", 3000)+"1"), nil, "a formula of 6001 bytes"},
		{"deep grid", setKernel("grid", strings.Repeat("(", 2000)+"1"+strings.Repeat(")", 2000)), nil, "its grid"},
		{"type", setKernel("params", []manifestParam{{"x", "*fp31"}, {"n", "i32"}}), nil, "fp31"},
		{"twice", setKernel("params", []manifestParam{{"x", "*fp32"}, {"x", "i32"}}), nil, `two parameters are called "x"`},
	} {
		b, err := Read(edit(t, good, tt.change, tt.files))
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, %v, want %q", tt.what, b, err, tt.says)
		}
	}
	for _, data := range [][]byte{nil, []byte("PK"), good[:len(good)/2], bytes.Repeat([]byte{0}, 100)} {
		if _, err := Read(data); !errors.Is(err, ErrNotBundle) {
			t.Errorf("%d bytes: %v", len(data), err)
		}
	}
}

// FuzzRead: no bytes make Read panic, and what it takes can be loaded or says why not.
func FuzzRead(f *testing.F) {
	data, err := example().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Read(data)
		if err != nil {
			return
		}
		for _, k := range b.Kernels {
			_, _ = k.Load(device("80", "ptx"))
		}
	})
}
