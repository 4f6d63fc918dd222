package plugin

import "os"

// identityOf has nothing to add: size and time tell files apart.
func identityOf(os.FileInfo) string { return "" }
