package show_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/layout/show"
	"github.com/tritonc/tritonc/internal/golden"
)

// TestViews prints the layout and type of each archive in both views.
func TestViews(t *testing.T) {
	golden.Run(t, "testdata", func(c *golden.Case) {
		ctx := dialect.NewContext()
		attr, err := text.ParseAttr(ctx, strings.TrimSpace(c.Input("layout")))
		if err != nil {
			c.Fatal(err)
		}
		typ, err := text.ParseType(ctx, strings.TrimSpace(c.Input("type")))
		if err != nil {
			c.Fatal(err)
		}
		enc := attr.(*encoding.Attr).Layout
		l, err := enc.Linear(typ.(*ir.TensorType).Shape)
		if err != nil {
			c.Fatal(err)
		}
		c.Want("tensor", show.Tensor(l))
		var address func(int) int
		if p, ok := enc.(*layout.PaddedShared); ok {
			address = p.Pad
		}
		c.Want("hardware", show.Hardware(l, address))
	})
}

// The two views of a distributed layout say the same: what the tensor view puts
// at an element, the hardware view says of that thread and register.
func TestViewsAgree(t *testing.T) {
	b := &layout.Blocked{
		SizePerThread: []int{1, 2}, ThreadsPerWarp: []int{4, 2}, WarpsPerCTA: []int{2, 2}, Order: []int{0, 1},
		CGA: layout.Bases{{1, 0}},
	}
	l, err := b.Linear([]int64{16, 8})
	if err != nil {
		t.Fatal(err)
	}
	tensor := show.Tensor(l)
	// B1:T5:1 → (i,j) by the hardware view.
	at := map[string]string{}
	block, warp, register := "", 0, 0
	for line := range strings.Lines(show.Hardware(l, nil)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "Block"):
			block, warp = line[5:6], -1
		case strings.HasPrefix(line, "Warp"):
			warp, register = warp+1, 0
		default:
			for lane, e := range strings.Split(line, "), ") {
				at["B"+block+":T"+strconv.Itoa(warp*8+lane)+":"+strconv.Itoa(register)] = strings.NewReplacer("(", "", ")", "", " ", "").Replace(e)
			}
			register++
		}
	}
	seen := 0
	i := 0
	for line := range strings.Lines(tensor) {
		for j, cell := range strings.Split(strings.Trim(line, "[] \n"), ", ") {
			for _, place := range strings.Split(cell, "|") {
				seen++
				if got, want := at[strings.TrimSpace(place)], strconv.Itoa(i)+","+strconv.Itoa(j); got != want {
					t.Errorf("%s holds (%s) in one view and (%s) in the other", place, got, want)
				}
			}
		}
		i++
	}
	if seen != len(at) {
		t.Errorf("%d places in the tensor view, %d in the hardware view", seen, len(at))
	}
}
