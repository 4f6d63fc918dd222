// Package forloop reads and remakes counted loops (scf.for). It keeps the four
// places of a carried value together: the initial value, the argument of the body,
// what is yielded, the result.
package forloop
