package chip

import (
	"path"
	"reflect"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	tests := []struct {
		name   string
		target string
		ub     int
		cubes  int
	}{
		{"ascend910b3", "npu:ascend910b3", 192 << 10, 20},
		{"Ascend910B3", "npu:ascend910b3", 192 << 10, 20},
		{"Ascend910B4-1", "npu:ascend910b4_1", 192 << 10, 20},
		{"Ascend910_9382", "npu:ascend910_9382", 192 << 10, 24},
		{"Ascend950PR_9579", "npu:ascend950pr_9579", 248 << 10, 28},
		{"ASCEND310B1", "npu:ascend310b1", 256 << 10, 1},
	}
	for _, tt := range tests {
		c := Of(tt.name)
		if c == nil {
			t.Errorf("Of(%q) = nil", tt.name)
			continue
		}
		if c.Target() != tt.target || c.UB != tt.ub || c.Cubes != tt.cubes {
			t.Errorf("Of(%q) = %s with %d bytes of UB and %d cube cores, want %s with %d and %d", tt.name, c.Target(), c.UB, c.Cubes, tt.target, tt.ub, tt.cubes)
		}
	}
	for _, name := range []string{"", "910b3", "ascend910", "ascend910b5", "h200"} {
		if c := Of(name); c != nil {
			t.Errorf("Of(%q) = %s, want nil", name, c.Name)
		}
	}
}

// TestAll holds the table to what is true of all chips.
func TestAll(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range All() {
		if seen[c.Name] {
			t.Errorf("there are two chips %s", c.Name)
		}
		seen[c.Name] = true
		if c.Arch != "dav-m300" && c.Vectors != 2*c.Cubes {
			t.Errorf("%s has %d vector cores and %d cube cores", c.Name, c.Vectors, c.Cubes)
		}
		if c.UB%AlignUB != 0 || c.L1%AlignL1 != 0 || c.L0C%AlignL0C != 0 {
			t.Errorf("a buffer of %s is not aligned", c.Name)
		}
	}
}

func TestCostsOf(t *testing.T) {
	for _, c := range All() {
		v := reflect.ValueOf(CostsOf(c)) // panics where a constant is missing
		for i := range v.NumField() {
			if v.Field(i).Float() <= 0 {
				t.Errorf("%s: %s is %v", c.Name, v.Type().Field(i).Name, v.Field(i))
			}
		}
	}
	b3 := CostsOf(Of("ascend910b3"))
	if b3.ClockMHz != 1800 || b3.HBMRead != 32 || b3.UB != 512 {
		t.Errorf("ascend910b3: clock %v MHz, HBM %v B/cycle, UB %v B/cycle, want 1800, 32, 512", b3.ClockMHz, b3.HBMRead, b3.UB)
	}
}

// TestSources holds each row of costs.tsv to having a source, a unit, a reason and a chip.
func TestSources(t *testing.T) {
	used := map[string]bool{}
	for typ, i := reflect.TypeFor[Costs](), 0; i < typ.NumField(); i++ {
		used[typ.Field(i).Tag.Get("cost")] = true
	}
	for _, row := range Table() {
		if !used[row.Constant] {
			t.Errorf("%s is of no use", row.Constant)
		}
		if !strings.HasPrefix(row.Source, "https://") && row.Source != Assumed {
			t.Errorf("%s: the source is %q", row.Constant, row.Source)
		}
		if row.Unit == "" || row.Note == "" {
			t.Errorf("%s has no unit or no note", row.Constant)
		}
		for _, p := range row.Chips {
			some := false
			for _, c := range All() {
				ok, err := path.Match(p, c.Name)
				some = some || ok && err == nil
			}
			if !some {
				t.Errorf("%s: no chip is named %s", row.Constant, p)
			}
		}
	}
}
