// Package ttir has the passes over Triton's IR before it has layouts, one file
// per pass. Names, order and what each one guarantees are those of Triton's
// make_ttir; the row lists that use them are the backends'.
package ttir
