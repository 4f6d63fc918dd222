//go:build linux

package ascend

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/internal/testseed"
)

// TestPack: structs of random members are those that a C compiler makes of triton-ascend's
// declaration, whose members are aligned to 8 or 4 bytes.
func TestPack(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip(err)
	}
	seed := testseed.Seed()
	t.Logf("%s=%d", testseed.Env, seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var program, want strings.Builder
	program.WriteString("#include <stdint.h>\n#include <stdio.h>\nint main(void) {\n")
	for trial := range 60 {
		var a arguments
		var members, values strings.Builder
		member := func(kind string, size int) {
			value := make([]byte, size)
			for i := range value {
				value[i] = byte(r.Uint32())
			}
			a.put(value)
			n := uint64(0)
			for i, b := range value {
				n |= uint64(b) << (8 * i)
			}
			fmt.Fprintf(&members, "%s m%d __attribute__((aligned(%d))); ", kind, members.Len(), max(size, 4))
			fmt.Fprintf(&values, "(%s)0x%xu, ", kind, n)
		}
		for range 2 + trial%2 { // with ffts and without
			member("uint64_t", 8)
		}
		for range r.IntN(12) {
			kinds := []string{"uint8_t", "uint16_t", "uint32_t", "uint64_t"}
			i := r.IntN(len(kinds))
			member(kinds[i], 1<<i)
		}
		for range 3 {
			member("int32_t", 4)
		}
		a.end()
		fmt.Fprintln(&want, hex.EncodeToString(a))
		fmt.Fprintf(&program, "{ union { struct __attribute__((packed)) { %s} s; unsigned char b[1]; } u; __builtin_memset(&u, 0, sizeof u);\n", members.String())
		fmt.Fprintf(&program, "__typeof__(u.s) v = { %s};\n", values.String())
		for _, name := range strings.Split(members.String(), "; ") {
			if fields := strings.Fields(name); len(fields) > 1 {
				fmt.Fprintf(&program, "u.s.%s = v.%s; ", fields[1], fields[1])
			}
		}
		program.WriteString("for (unsigned i = 0; i < sizeof u; i++) printf(\"%02x\", ((unsigned char *)&u)[i]); puts(\"\"); }\n")
	}
	program.WriteString("}\n")
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "layout.c"), filepath.Join(dir, "layout")
	if err := os.WriteFile(source, []byte(program.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-O0", "-w", "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := exec.Command(binary).Output()
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want.String() {
		t.Errorf("C has\n%sand we\n%s", got, want.String())
	}
}
