package importrules

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// vendorWords are the names of device vendors, their languages, devices, matrix
// instructions and tools. Identifiers and strings of core are split into words at underscores,
// punctuation and changes of case; comments may say what they like.
var vendorWords = []string{
	"nvidia", "cuda", "ptx", "ptxas", "nvptx", "nvvm", "cubin", "sm", "nvgpu", "ttng", "nvws", "cublas",
	"amd", "hip", "hsa", "hsaco", "rocm", "rocdl", "gfx", "amdgcn", "amdgpu", "amdg",
	"mma", "wgmma", "nvmma", "mfma", "wmma", "tcgen", "ldmatrix", "stmatrix",
	"intel", "xpu", "ascend", "hopper", "ampere", "blackwell", "volta", "cdna", "rdna",
}

// facts are the places where a vendor's word is a fact of a grammar that Triton
// keeps common, not a decision about a vendor. Path is a prefix below core/.
var facts = []struct {
	path  string
	words []string
	why   string
}{
	{"layout/", []string{"nvidia", "mma", "nvmma", "amd", "mfma", "wmma"}, "names of encodings in the ttg grammar: nvidia_mma, nvmma_shared, amd_mfma, amd_wmma, amd_rotating_shared"},
	{"dialect/encoding/", []string{"nvidia", "nvmma", "amd"}, "the same names as attributes of the IR"},
	{"dialect/ttg/", []string{"nvidia", "mma", "nvmma", "amd", "mfma", "wmma"}, "the same names where attributes are parsed and printed"},
	{"dialect/ttg/messages.go", []string{"ampere", "hopper", "wgmma"}, "messages of Triton's verifier about those attributes"},
	{"dialect/tt/messages.go", []string{"mma"}, "the same"},
	{"llir/", []string{"ptx", "amdgpu"}, "calling conventions of LLVM's own grammar: ptx_kernel, amdgpu_kernel"},
	{"ir/text/", []string{"nvidia", "amd"}, "the same names"},
	{"frontend/lang/device.go", []string{"sm"}, "sm_clock_rate, the key under which the drivers of every vendor tell it"},
	{"frontend/lang/torch.go", []string{"cuda"}, "torch.cuda, the name under which PyTorch has the devices of every vendor"},
	{"frontend/lang/triton.go", []string{"cuda"}, "use_cuda_graph, a keyword of @triton.autotune"},
}

// encodings are the types of core/layout whose names are those facts. Only what
// defines them knows them: passes ask the target's matrix unit, and the lowering
// asks for the linear map.
var (
	encodings      = []string{"NvidiaMMA", "AMDMFMA", "AMDWMMA", "AMDRotatingShared"}
	knowsEncodings = []string{"layout/", "dialect/"}
)

// vendorIn returns the vendor words of one identifier or string literal.
func vendorIn(s string) []string {
	var found []string
	for _, w := range words(s) {
		// sm80 and gfx942 are words with a number after them.
		w = strings.TrimRight(w, "0123456789")
		if slices.Contains(vendorWords, w) {
			found = append(found, w)
		}
	}
	return found
}

// words splits s at everything but letters and digits, and before an upper-case
// letter that follows a lower-case one or ends a run of capitals.
func words(s string) []string {
	runes := []rune(s)
	var out []string
	start := 0
	cut := func(end int) {
		if end > start {
			out = append(out, strings.ToLower(string(runes[start:end])))
		}
		start = end
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			cut(i)
			start = i + 1
		case i > start && unicode.IsUpper(r) &&
			(unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			cut(i)
		}
	}
	cut(len(runes))
	return out
}

// vendorUses lists the uses of vendor words in one Go file of core, whose path
// is given below core/.
func vendorUses(path string, src []byte) []string {
	var allowed []string
	mayAsk := slices.ContainsFunc(knowsEncodings, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
	for _, f := range facts {
		if strings.HasPrefix(path, f.path) {
			allowed = append(allowed, f.words...)
		}
	}
	files := token.NewFileSet()
	file := files.AddFile(path, files.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	var uses []string
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return uses
		}
		if tok != token.IDENT && tok != token.STRING && tok != token.CHAR {
			continue
		}
		if slices.Contains(encodings, lit) {
			if !mayAsk {
				uses = append(uses, fmt.Sprintf("core/%s: a vendor's encoding, %s", files.Position(pos), lit))
			}
			continue
		}
		for _, w := range vendorIn(lit) {
			if !slices.Contains(allowed, w) {
				uses = append(uses, fmt.Sprintf("core/%s: %s says %q", files.Position(pos), lit, w))
			}
		}
	}
}

// TestCoreKnowsNoVendor reads every Go file of core but the tests, which may
// take their examples from anywhere.
func TestCoreKnowsNoVendor(t *testing.T) {
	root := filepath.Join("..", "..", "core")
	n := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "testdata" {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n++
		below, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		for _, use := range vendorUses(filepath.ToSlash(below), src) {
			t.Error(use)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		t.Fatal("no Go file in core")
	}
}

func TestVendorUses(t *testing.T) {
	tests := []struct {
		path, src string
		want      int
	}{
		{"compile.go", `package core; var x = backend == "cuda"`, 1},
		{"compile.go", `package core; func emitPTX() {}`, 1},
		{"compile.go", `package core; const arch = "sm_80"`, 1},
		{"compile.go", `package core; const arch = "gfx942"`, 1},
		{"compile.go", `package core; type NVIDIATarget struct{}`, 1},
		{"compile.go", `package core; var nvidiaMma int`, 2},
		{"compile.go", "package core // on cuda:80", 0},
		{"compile.go", `package core; var small, ship, amdahl, smem = 0, 0, 0, "chip"`, 0},
		{"transform/ttgir/a.go", `package ttgir; var _ layout.NvidiaMMA`, 1},
		{"transform/ttgir/matrix/a.go", `package matrix; var _ layout.AMDMFMA`, 1},
		{"transform/ttgir/a.go", `package ttgir; const name = "NvidiaMMA"`, 2},
		{"transform/ttgir/matrix/a.go", `package matrix; const option = "mma-version"`, 1},
		{"lower/dot.go", `package lower; var _ layout.NvidiaMMA`, 1},
		{"lower/dot.go", `package lower; const name = "llvm.amdgcn.mfma.f32.16x16x16f16"`, 2},
		{"layout/mma.go", `package layout; const name = "nvidia_mma"`, 0},
		{"layout/mma.go", `package layout; const name = "cuda"`, 1},
	}
	for _, tt := range tests {
		if got := vendorUses(tt.path, []byte(tt.src)); len(got) != tt.want {
			t.Errorf("%s: %s: got %v, want %d uses", tt.path, tt.src, got, tt.want)
		}
	}
}
