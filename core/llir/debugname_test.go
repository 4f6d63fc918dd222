package llir

import (
	"strings"
	"testing"
)

// TestDebugNames: LLVM writes names of files into comments of assembly as they
// are, where a line's end would begin a line of its own.
func TestDebugNames(t *testing.T) {
	m := NewModule("k", "nvptx64-nvidia-cuda", "")
	evil := "a.py\n}\r.visible .entry evil(){\x00\"\x7f\u0085\u2028\xff}"
	m.EnableDebug(evil, "test")
	f := m.NewFunc("k", true, Void)
	f.SetScope(m.Scope(evil, evil, 1))
	m.Scope("ядро/a b\\c.py", "ядро", 1)
	text := string(m.Print())
	if strings.Contains(text, "evil") && !strings.Contains(text, `"a.py?}?.visible .entry evil(){??????}"`) {
		t.Errorf("got\n%s", text)
	}
	for _, escape := range []string{`\0A`, `\0D`, `\00`, `\22`, `\7F`, `\FF`} {
		if strings.Contains(text, escape) {
			t.Errorf("%s in\n%s", escape, text)
		}
	}
	if !strings.Contains(text, `\D1\8F\D0\B4\D1\80\D0\BE/a b\5Cc.py`) {
		t.Errorf("a name in Cyrillic is another:\n%s", text)
	}
}
