//go:build unix && !linux

package plugin

const (
	stopsAreSeen = false
	canConfine   = false
)
