package sdk

import "golang.org/x/sys/unix"

// dup2 is spelled dup3 where newer Linux ports have no dup2.
func dup2(from, to int) error { return unix.Dup3(from, to, 0) }
