package syntax

func normalName(s string) string { return s }

func runeNamed(s string) (rune, bool) { return 0, false }
