//go:build !amd64

package simt

// haveSums says whether mmaSums exists on this machine.
const haveSums = false

func mmaSums(*mmaArgs) { panic("BUG: no vector code on this machine") }

func (f *fragment) decodeInVectors(int) bool { return false }
