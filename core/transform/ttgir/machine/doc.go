// Package machine reads from a module how many threads run it.
package machine
