package gpu

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/lower"
)

// What the hardware or the lowering refuses is told at the line of the source.
func TestRefused(t *testing.T) {
	const enc = "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>"
	load := func(hints string) string {
		return "%v = tt.load %p " + hints + " : tensor<128x!tt.ptr<f32>, ENC> loc(\"k.py\":7:11)\n"
	}
	store := func(hints string) string {
		return "tt.store %p, %c " + hints + " : tensor<128x!tt.ptr<f32>, ENC> loc(\"k.py\":7:11)\n"
	}
	extern := func(v, symbol, x, typ string) string {
		return v + " = tt.extern_elementwise " + x + " {libname = \"\", libpath = \"\", pure = true, symbol = \"" + symbol + "\"} : (tensor<128x" +
			typ + ", ENC>) -> tensor<128x" + typ + ", ENC> loc(\"k.py\":7:11)\n"
	}
	for name, c := range map[string]struct{ op, want string }{
		"load cg evict_last":   {load("cacheModifier = cg evictionPolicy = evict_last"), "load cannot have both a cache modifier (.cg) and an eviction policy"},
		"load ca evict_first":  {load("cacheModifier = ca evictionPolicy = evict_first"), "load cannot have both a cache modifier (.ca)"},
		"store cs evict_first": {store("cacheModifier = cs evictionPolicy = evict_first"), "store cannot have both a cache modifier (.cs)"},
		"volatile ca":          {load("cacheModifier = ca {isVolatile = true}"), "volatile load cannot have a cache modifier (.ca)"},
		"volatile evict_last":  {load("evictionPolicy = evict_last {isVolatile = true}"), "volatile load cannot have an eviction policy"},
		"one function of two types": {
			"%i = arith.constant dense<1> : tensor<128xi32, ENC>\n" + extern("%v", "f", "%c", "f32") + extern("%w", "f", "%i", "i32"),
			"the function 'f' is called with other types elsewhere in the kernel",
		},
		"function with the kernel's name": {extern("%v", "k", "%c", "f32"), "\"k\" is not a name for a function of a library"},
		"function of LLVM's own":          {extern("%v", "llvm.trap", "%c", "f32"), "name \"llvm.trap\" is reserved"},
		"function of two lines":           {extern("%v", "f\\0A}", "%c", "f32"), "name \"f\\n}\" has the character '\\n', which cannot be printed"},
		"elements in a resource": {
			"%v = arith.constant dense_resource<far> : tensor<128xf32, ENC> loc(\"k.py\":7:11)\ntt.store %p, %v : tensor<128x!tt.ptr<f32>, ENC> loc(\"k.py\":7:11)\n",
			"the elements of the constant are not in the module: resource \"far\" has them",
		},
		"8-bit atomics": {
			"%b = arith.constant dense<1> : tensor<128xi8, ENC>\n%v = tt.atomic_rmw add, acq_rel, gpu, %q, %b : (tensor<128x!tt.ptr<i8>, ENC>, tensor<128xi8, ENC>) -> tensor<128xi8, ENC> loc(\"k.py\":7:11)\n",
			"no such atomic operation on elements of 8 bits",
		},
	} {
		t.Run(name, func(t *testing.T) {
			src := moduleOf(`  tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<i8>) {
    %c = arith.constant dense<0.0> : tensor<128xf32, ENC>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, ENC>
    %q = tt.splat %y : !tt.ptr<i8> -> tensor<128x!tt.ptr<i8>, ENC>
    ` + c.op + `    tt.return
  }
`)
			mod := parse(t, "k.ttgir", strings.ReplaceAll(src, "ENC", enc))
			_, err := lower.Module(mod, &Target{CC: 80}, lower.Options{})
			all := diag.All(err)
			if len(all) != 1 {
				t.Fatalf("error %v, want one diagnostic", err)
			}
			if d := all[0]; !strings.Contains(d.Message, c.want) || d.Pos != (diag.Pos{File: "k.py", Line: 7, Col: 12}) {
				t.Errorf("%v, want %q at k.py:7:12", d, c.want)
			}
		})
	}
}

// A module that is not a kernel, or not for a GPU.
func TestBadModules(t *testing.T) {
	for want, src := range map[string]string{
		"has no kernel":                             moduleOf("tt.func private @f() {\ntt.return\n}\n"),
		"one kernel, this one j and k":              moduleOf("tt.func public @j() {\ntt.return\n}\ntt.func public @k() {\ntt.return\n}\n"),
		"are missing; convert the module":           "module {\ntt.func public @k() {\ntt.return\n}\n}",
		"num_ctas is 2: the target has no clusters": strings.Replace(moduleOf("tt.func public @k() {\ntt.return\n}\n"), `"ttg.num-ctas" = 1`, `"ttg.num-ctas" = 2`, 1),
		"the tensor has no layout":                  moduleOf("tt.func public @k() {\n%r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>\ntt.return\n}\n"),
		"a kernel cannot return":                    moduleOf("tt.func public @k(%x: i32) -> i32 {\ntt.return %x : i32\n}\n"),
	} {
		mod := parse(t, "k.ttgir", src)
		if _, err := lower.Module(mod, &Target{CC: 80}, lower.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// What bounds a launch is in the PTX; without line information it has none.
func TestKernelAttributes(t *testing.T) {
	src := strings.Replace(moduleOf("tt.func public @k() {\ntt.return\n}\n"), `ttg.target`, `ttg.maxnreg = 96 : i32, ttg.target`, 1)
	k := build(t, "k.ttgir", src, 80)
	for _, want := range []string{".reqntid 128\n", ".maxnreg 96\n", ".entry k("} {
		if !strings.Contains(k.ptx, want) {
			t.Errorf("no %q in\n%s", want, k.ptx)
		}
	}
	r, err := lower.Module(parse(t, "k.ttgir", src), &Target{CC: 80}, lower.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(r.LLVM.Print()); strings.Contains(text, "!dbg") {
		t.Errorf("unexpected\n%s", text)
	}
}

// TestRefusedByLowering: what Triton's verifier takes and the lowering has no code for.
func TestRefusedByLowering(t *testing.T) {
	for name, c := range map[string]struct{ attrs, op, want string }{
		"a padded buffer of an array that is not": {
			"", "%v = ttg.memdesc_index %m[%n] : !ttg.memdesc<32x64xf32, #two, #ttg.shared_memory, mutable> -> !ttg.memdesc<64xf32, #ttg.padded_shared<[32:+4] {order = [0], shape = [64]}>, #ttg.shared_memory, mutable>",
			"a buffer of an array cannot be in another layout than the array where one of them is padded",
		},
		"a part that does not say of what": {
			"", "%v = ttg.memdesc_subslice %m[0, 0] : !ttg.memdesc<32x64xf32, #two, #ttg.shared_memory, mutable> -> !ttg.memdesc<16x64xf32, #two, #ttg.shared_memory, mutable>",
			"a part of a buffer that was allocated as [32 64] must say so, not [16 64]",
		},
		"a function of other warps": {` attributes {"ttg.num-warps" = 8 : i32}`, "", "all functions run on the module's warps"},
	} {
		t.Run(name, func(t *testing.T) {
			mod := parse(t, "k.ttgir", "#one = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>\n"+
				"#two = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>\n"+
				moduleOf("  tt.func public @k(%n: i32)"+c.attrs+" {\n"+
					"    %m = ttg.local_alloc : () -> !ttg.memdesc<32x64xf32, #two, #ttg.shared_memory, mutable>\n    "+c.op+"\n    tt.return\n  }\n"))
			if _, err := lower.Module(mod, &Target{CC: 80}, lower.Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
