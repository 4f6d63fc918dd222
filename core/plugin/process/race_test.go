//go:build race

package process

// underRace: the race detector takes terabytes of addresses, and starts slowly in each of
// the many programs that the tests of confinement run.
const underRace = true
