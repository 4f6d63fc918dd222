package bundle

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/kernel"
)

// format is the first thing in a manifest. It changes with what a reader must know.
const format = "tritonc bundle 1"

const manifestName = "manifest.json"

// Bounds of what is read.
const (
	maxManifest = 64 << 20
	maxCode     = 256 << 20
	maxEntries  = 1 << 16
	maxName     = 255
	maxText     = 4096 // formulas, options and paths
)

// manifest is a Bundle as JSON. Fields may be added.
type manifest struct {
	Format  string          `json:"format"`
	Tritonc string          `json:"tritonc"`
	Triton  string          `json:"triton"`
	Targets []Target        `json:"targets"`
	Kernels []manifestEntry `json:"kernels"`
}

type manifestEntry struct {
	Name     string            `json:"name"`
	Source   string            `json:"source"`
	Grid     string            `json:"grid,omitempty"`
	Params   []manifestParam   `json:"params"`
	Order    []string          `json:"order,omitempty"`
	Variants []manifestVariant `json:"variants"`
}

type manifestParam struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

type manifestVariant struct {
	Target    string             `json:"target"`
	Stage     string             `json:"stage"`
	Hints     []int              `json:"hints,omitempty"`
	Constants []manifestConstant `json:"constants,omitempty"`
	Options   string             `json:"options,omitempty"`
	// Metadata is what the compile returned: shared memory, registers, tensor maps.
	Metadata json.RawMessage `json:"metadata"`
	File     string          `json:"file"`
	Size     int64           `json:"size"`
	SHA256   string          `json:"sha256"`
}

// manifestConstant has its value as text, for JSON has one kind of numbers.
type manifestConstant struct {
	Name  string `json:"name"`
	Type  string `json:"type"` // none, bool, int, float or text
	Value string `json:"value"`
}

func encodeConstant(a kernel.Arg) (manifestConstant, error) {
	c := manifestConstant{Name: a.Name}
	switch v := a.Value.(type) {
	case nil:
		c.Type = "none"
	case bool:
		c.Type, c.Value = "bool", strconv.FormatBool(v)
	case int64:
		c.Type, c.Value = "int", strconv.FormatInt(v, 10)
	case float64:
		c.Type, c.Value = "float", strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		c.Type, c.Value = "text", v
	default:
		return c, fmt.Errorf("the constant %s is a %T", a.Name, v)
	}
	return c, nil
}

func (c *manifestConstant) decode() (kernel.Arg, error) {
	var v any
	var err error
	switch c.Type {
	case "none":
	case "bool":
		v, err = strconv.ParseBool(c.Value)
	case "int":
		v, err = strconv.ParseInt(c.Value, 10, 64)
	case "float":
		v, err = strconv.ParseFloat(c.Value, 64)
		if f, _ := v.(float64); err == nil && f != f {
			v = math.NaN()
		}
	case "text":
		v = c.Value
	default:
		err = fmt.Errorf("its type is %q", c.Type)
	}
	if err != nil {
		return kernel.Arg{}, fmt.Errorf("the constant %q cannot be read: %w", c.Name, err)
	}
	return kernel.Named(c.Name, v), checkName("a constant", c.Name)
}

// Encode returns the bytes of a bundle; the error is that of Read, too.
func (b *Bundle) Encode() ([]byte, error) {
	m := manifest{Format: format, Tritonc: b.Tritonc, Triton: b.Triton, Targets: b.Targets}
	type file struct {
		name string
		data []byte
	}
	var files []file
	for _, k := range b.Kernels {
		if err := k.Check(); err != nil {
			return nil, err
		}
		e := manifestEntry{Name: k.Name, Source: k.Source, Grid: k.Grid, Order: k.Order}
		for _, p := range k.Params {
			e.Params = append(e.Params, manifestParam(p))
		}
		for i := range k.Variants {
			v := &k.Variants[i]
			sum := sha256.Sum256(v.Code)
			w := manifestVariant{
				Target: v.Target, Stage: v.Stage, Hints: v.Hints, Options: v.Options, Metadata: v.Metadata,
				File: fmt.Sprintf("code/%d.%s", len(files), v.Stage), Size: int64(len(v.Code)), SHA256: hex.EncodeToString(sum[:]),
			}
			for _, a := range v.Constants {
				c, err := encodeConstant(a)
				if err != nil {
					return nil, fmt.Errorf("kernel %s: %w", k.Name, err)
				}
				w.Constants = append(w.Constants, c)
			}
			files = append(files, file{w.File, v.Code})
			e.Variants = append(e.Variants, w)
		}
		m.Kernels = append(m.Kernels, e)
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	files = slices.Insert(files, 0, file{manifestName, append(text, '\n')})
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	w.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, f := range files {
		in, err := w.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate}) // without a time
		if err == nil {
			_, err = in.Write(f.data)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	_, err = Read(out.Bytes()) // so that nothing is written that cannot be read
	return out.Bytes(), err
}

// Read reads a bundle, and refuses one that is not what its manifest says.
func Read(data []byte) (*Bundle, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("a bundle has at most %d bytes", maxFile)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotBundle, err)
	}
	if len(z.File) == 0 || z.File[0].Name != manifestName {
		return nil, fmt.Errorf("%w: it does not begin with %s", ErrNotBundle, manifestName)
	}
	if len(z.File) > maxEntries {
		return nil, fmt.Errorf("the bundle has %s, more than %d", diag.Count(len(z.File), "file"), maxEntries)
	}
	text, err := content(z.File[0], maxManifest)
	if err != nil {
		return nil, err
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("%w: its manifest cannot be read: %w", ErrNotBundle, err)
	}
	if m.Format != format {
		return nil, fmt.Errorf("the bundle is of the format %.40q; this program reads %q", m.Format, format)
	}
	r := reader{files: map[string]*zip.File{}}
	for _, f := range z.File[1:] {
		if r.files[f.Name] != nil {
			return nil, fmt.Errorf("the bundle has %.80q twice", f.Name)
		}
		r.files[f.Name] = f
	}
	b, err := r.bundle(&m)
	if err != nil {
		return nil, fmt.Errorf("a bundle that cannot be used: %w", err)
	}
	for name := range r.files {
		return nil, fmt.Errorf("a bundle that cannot be used: its manifest does not know %.80q", name)
	}
	return b, nil
}

// content reads a file of at most limit bytes.
func content(f *zip.File, limit int64) ([]byte, error) {
	if f.UncompressedSize64 > uint64(limit) {
		return nil, fmt.Errorf("%.80q has %s, more than %d", f.Name, diag.Count(int(min(f.UncompressedSize64, math.MaxInt)), "byte"), limit)
	}
	in, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%.80q: %w", f.Name, err)
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%.80q: %w", f.Name, err)
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("%.80q has more than %s", f.Name, diag.Count(int(limit), "byte"))
	}
	return data, nil
}

// reader makes a Bundle of a manifest.
type reader struct {
	files map[string]*zip.File // that nothing has taken yet
	total int64
}

func (r *reader) bundle(m *manifest) (*Bundle, error) {
	b := &Bundle{Tritonc: m.Tritonc, Triton: m.Triton, Targets: m.Targets}
	for _, text := range []string{m.Tritonc, m.Triton} {
		if err := checkText("a version", text); err != nil {
			return nil, err
		}
	}
	for _, t := range m.Targets {
		for _, text := range []string{t.Name, t.Backend, t.Version, t.Hash} {
			if err := checkText("a target", text); err != nil {
				return nil, err
			}
		}
	}
	names := map[string]bool{}
	for i := range m.Kernels {
		k, err := r.kernel(&m.Kernels[i])
		if err != nil {
			return nil, err
		}
		if names[k.Name] {
			return nil, fmt.Errorf("two kernels are called %q", k.Name)
		}
		names[k.Name] = true
		b.Kernels = append(b.Kernels, k)
	}
	return b, nil
}

func (r *reader) kernel(e *manifestEntry) (*Kernel, error) {
	k := &Kernel{Name: e.Name, Source: e.Source, Grid: e.Grid, Order: e.Order}
	if err := errors.Join(checkName("a kernel", e.Name), checkText("a source", e.Source)); err != nil {
		return nil, err
	}
	if len(e.Grid) > maxText {
		return nil, fmt.Errorf("kernel %s: its grid is a formula of %s", e.Name, diag.Count(len(e.Grid), "byte"))
	}
	for _, name := range e.Order {
		if err := checkName("a parameter", name); err != nil {
			return nil, fmt.Errorf("kernel %s: %w", k.Name, err)
		}
	}
	seen := map[string]bool{}
	for _, p := range e.Params {
		err := errors.Join(checkName("a parameter", p.Name), checkName("a type", p.Type))
		if err == nil && seen[p.Name] {
			err = fmt.Errorf("two parameters are called %q", p.Name)
		}
		if err == nil {
			err = kernel.CheckType(p.Type)
		}
		if err != nil {
			return nil, fmt.Errorf("kernel %s: %w", k.Name, err)
		}
		seen[p.Name] = true
		k.Params = append(k.Params, kernel.Param(p))
	}
	for i := range e.Variants {
		v, err := r.variant(&e.Variants[i])
		if err != nil {
			return nil, fmt.Errorf("kernel %s: %w", k.Name, err)
		}
		k.Variants = append(k.Variants, v)
	}
	return k, k.Check()
}

func (r *reader) variant(w *manifestVariant) (Variant, error) {
	v := Variant{Options: w.Options}
	v.Target, v.Stage, v.Hints, v.Metadata = w.Target, w.Stage, w.Hints, w.Metadata
	if err := errors.Join(checkName("a target", w.Target), checkName("a stage", w.Stage), checkText("options", w.Options)); err != nil {
		return v, err
	}
	if err := checkMetadata(w.Metadata); err != nil {
		return v, err
	}
	for i := range w.Constants {
		a, err := w.Constants[i].decode()
		if err != nil {
			return v, err
		}
		v.Constants = append(v.Constants, a)
	}
	f := r.files[w.File]
	if f == nil {
		return v, fmt.Errorf("its file %.80q is not there, or belongs to two variants", w.File)
	}
	delete(r.files, w.File)
	if r.total += w.Size; w.Size < 0 || w.Size > maxCode || r.total > maxFile {
		return v, fmt.Errorf("%.80q is said to have a size of %d", w.File, w.Size)
	}
	var err error
	if v.Code, err = content(f, w.Size); err != nil {
		return v, err
	}
	sum := sha256.Sum256(v.Code)
	if int64(len(v.Code)) != w.Size || hex.EncodeToString(sum[:]) != w.SHA256 {
		return v, fmt.Errorf("%.80q is damaged: it is not what the manifest says", w.File)
	}
	return v, nil
}

// Bounds of numbers in metadata: more than any device has.
const (
	maxWarps   = 64
	maxCTAs    = 64
	maxShared  = 1 << 30
	maxScratch = min(1<<40, math.MaxInt)
)

// checkMetadata refuses numbers that no kernel has.
func checkMetadata(text []byte) error {
	m, err := driver.ParseMetadata(text)
	if err != nil {
		return err
	}
	switch {
	case m.NumWarps < 0 || m.NumWarps > maxWarps:
		return fmt.Errorf("its metadata say num_warps=%d", m.NumWarps)
	case m.NumCTAs < 0 || m.NumCTAs > maxCTAs:
		return fmt.Errorf("its metadata say num_ctas=%d", m.NumCTAs)
	case m.Shared < 0 || m.Shared > maxShared:
		return fmt.Errorf("its metadata say shared=%d", m.Shared)
	case m.GlobalScratch < 0 || m.GlobalScratch > maxScratch || m.GlobalScratchAlign < 0 || m.GlobalScratchAlign > maxShared:
		return fmt.Errorf("its metadata say global_scratch_size=%d, global_scratch_align=%d", m.GlobalScratch, m.GlobalScratchAlign)
	}
	return nil
}

// checkName refuses a text that is too long for a name, or that a terminal would
// obey.
func checkName(what, s string) error {
	if s == "" || len(s) > maxName || !printable(s) {
		return fmt.Errorf("%s is called %.40q", what, s)
	}
	return nil
}

// checkText is checkName for a text that may be longer, or empty.
func checkText(what, s string) error {
	if len(s) > maxText || !printable(s) {
		return fmt.Errorf("%s is called %.40q", what, s)
	}
	return nil
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}
