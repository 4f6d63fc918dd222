package sim

import (
	"slices"
	"testing"
)

// TestExecuted: a report tells which instructions a lane executed, by line and
// opcode; two may be in one line.
func TestExecuted(t *testing.T) {
	const text = `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u32 n) {
	.reg .pred %p<3>;
	.reg .b32 %r<4>;
	ld.param.u32 %r1, [n]; setp.gt.s32 %p1, %r1, 0;
	@%p1 add.s32 %r2, %r1, 1;
	@!%p1 sub.s32 %r2, %r1, 1;
	@%p1 bra DONE;
	mul.lo.s32 %r3, %r1, %r1;
DONE:
	ret;
}
`
	m, err := Load("k.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	rep, err := New(Options{}).Launch(m, "k", Dim(1), Dim(32), 0, int32(5))
	if err != nil {
		t.Fatal(err)
	}
	type place struct {
		line   int
		opcode string
	}
	var got []place
	rep.Executed(func(line int, opcode string) {
		if p := (place{line, opcode}); !slices.Contains(got, p) {
			got = append(got, p)
		}
	})
	want := []place{{7, "ld.param.u32"}, {7, "setp.gt.s32"}, {8, "add.s32"}, {10, "bra"}, {13, "ret"}}
	if !slices.Equal(got, want) {
		t.Errorf("executed are %v, want %v", got, want)
	}
}
