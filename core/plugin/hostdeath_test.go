package plugin

// actAsHost is replaced below.
func actAsHost([]string) {}
