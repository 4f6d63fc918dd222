package diag

import "testing"

func TestCount(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Count(0, "operand"), "0 operands"},
		{Count(1, "operand"), "1 operand"},
		{Count(int64(2), "operand"), "2 operands"},
		{Count(-1, "bit"), "-1 bits"},
		{Count(uint32(1), "entry"), "1 entry"},
		{Count(3, "entry"), "3 entries"},
		{Count(3, "array"), "3 arrays"},
		{Count(2, "packed element"), "2 packed elements"},
		{Count(0, "miss"), "0 misses"},
		{Count(1, "miss"), "1 miss"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
