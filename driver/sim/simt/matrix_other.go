//go:build !amd64

package simt

// haveRows says whether mmaRows exists on this machine.
const haveRows = false

func mmaRows(*mmaArgs) { panic("BUG: no vector code on this machine") }
