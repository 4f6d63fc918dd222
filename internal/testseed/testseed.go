// Package testseed gives tests their random seeds: a fresh one each time, or the
// one that the environment names, so that a failure can be repeated.
//
// Only tests import this package; it imports nothing of ours.
package testseed

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
)

// Env names the environment variable with the seed, a decimal number.
const Env = "TRITONC_SEED"

// Seed returns the environment's seed, or a fresh one. The caller logs it.
func Seed() uint64 {
	s := os.Getenv(Env)
	if s == "" {
		return rand.Uint64()
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("%s=%s is not a number from 0 to 2^64-1", Env, s))
	}
	return n
}
