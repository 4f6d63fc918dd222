package text_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/internal/testseed"
)

// FuzzText: whatever the input, the parser gives operations or a diagnostic;
// what verifies prints, reads back, and prints the same. Seeds are small: Go
// minimizes every input that reaches new code, for up to a minute each, and does
// nothing else meanwhile. make fuzz cuts that short.
func FuzzText(f *testing.F) {
	for _, path := range irFiles(f, "testdata/law") {
		src, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, p := range sections(path, src) {
			if len(p.src) < 1<<10 { // mutations of small texts get further
				f.Add(string(p.src))
			}
		}
	}
	for _, src := range survivors {
		f.Add(src)
	}
	for _, c := range verifierCases {
		if len(c.body) < 1<<10 {
			f.Add(wrap(c.body))
		}
	}
	f.Fuzz(func(t *testing.T, src string) { checkAnything(t, src) })
}

// checkAnything holds for every input.
func checkAnything(t *testing.T, src string) {
	file, err := text.ParseFile(newContext(), "fuzz", []byte(src))
	if err != nil {
		var d *diag.Diagnostic
		if !errors.As(err, &d) || d.Pos.Line == 0 {
			t.Fatalf("not a diagnostic with a place: %v", err)
		}
		return
	}
	if file.Verify() != nil {
		// The text of what does not verify is for people; it must not crash.
		text.Append(nil, file.Op, text.Options{Locations: true, Generic: true})
		return
	}
	for _, opt := range []text.Options{{Locations: true}, {}, {Generic: true, Locations: true}, {Local: true}} {
		once := text.Append(nil, file.Op, opt)
		again, err := text.ParseFile(newContext(), "again", once)
		if err != nil {
			t.Fatalf("%+v: what was printed does not parse: %v\n%s", opt, err, once)
		}
		if err := again.Verify(); err != nil {
			t.Fatalf("%+v: what was printed does not verify: %v\n%s", opt, err, once)
		}
		if err := sameBytes(once, text.Append(nil, again.Op, opt)); err != nil {
			t.Fatalf("%+v: printed twice: %v\n%s", opt, err, once)
		}
	}
}

// TestMutants swaps, drops and repeats words of good texts: most of what comes
// out is wrong in one place only, deep inside.
func TestMutants(t *testing.T) {
	seed := testseed.Seed()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	var sources []string
	for _, path := range irFiles(t, "testdata/law") {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range sections(path, src) {
			if len(p.src) < 12<<10 {
				sources = append(sources, string(p.src))
			}
		}
	}
	for _, c := range verifierCases {
		sources = append(sources, wrap(c.body))
	}
	rounds := 2000
	if testing.Short() {
		rounds = 100
	}
	for range rounds {
		words := strings.SplitAfter(sources[rng.IntN(len(sources))], " ")
		for range 1 + rng.IntN(2) {
			i, j := rng.IntN(len(words)), rng.IntN(len(words))
			switch rng.IntN(4) {
			case 0:
				words[i] = ""
			case 1:
				words[i] = words[j]
			case 2:
				words[i], words[j] = words[j], words[i]
			default:
				words[i] += words[i]
			}
		}
		checkAnything(t, strings.Join(words, ""))
	}
}

// FuzzType: types and attributes alone.
func FuzzType(f *testing.F) {
	for _, s := range []string{
		"tensor<4x!tt.ptr<f32>, #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>>",
		"!ttg.memdesc<1x2xi8, #ttg.shared_memory, #ttg.shared_memory, mutable, 3x2>", "(i1, f16) -> ()", "vector<4xf32>", "!x.y<z>",
		"dense<[[1], [2]]> : tensor<2x1xi64>", "array<i8: 1, 2>", "{a = 1.5 : bf16, \"b c\"}", "@a::@b", "dense<\"0xff\"> : tensor<8xi1>",
	} {
		f.Add(s)
	}
	// One value of few bits has several spellings.
	for _, s := range []string{
		"array<i2: 00002>", "array<i2: 2, -2>", "array<i1: -1, 1, true>", "array<ui3: 7>", "array<si3: -4>", "array<i64: 18446744073709551615>",
		"2 : i2", "-1 : i1", "0x3 : i2", "0x0003 : si4", "7 : ui3", "dense<2> : tensor<4xi2>", "dense<[2, -2]> : tensor<2xi2>",
		"dense<[-1, 255]> : tensor<2xi8>", "dense<-1> : tensor<2xi1>", "array<f16: 0x7E01, 1.0, 1>", "0x7FC00001 : f32", "-0.0 : f32", "1e400 : f64",
		"dense<[0xFF800000, 1.5]> : tensor<2xf32>", "affine_map<(d0) -> (d0)>", "@\"a b\"::@c", "#0<a>", "#a-b<c>", "#a<b c>", "!a$.b<c>",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		ctx := newContext()
		a, err := text.ParseAttr(ctx, src)
		if err != nil {
			return
		}
		s := text.AttrString(ctx, a)
		b, err := text.ParseAttr(ctx, s)
		if err != nil {
			t.Fatalf("%q printed as %q: %v", src, s, err)
		}
		if b != a {
			t.Fatalf("%q printed as %q, which is another attribute: %q", src, s, text.AttrString(ctx, b))
		}
	})
}
