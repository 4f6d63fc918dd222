// Package hardware launches PTX on a real GPU through the CUDA driver, for one
// purpose: to hold the simulator against it. All of it is under the
// build tag "cuda", which needs cgo; the driver library is opened at run time.
//
//	go test -tags cuda -run Hardware -v ./driver/sim
//
// Package ncu beside it compares counters of memory accesses; it needs no GPU itself:
//
//	NCU=ncu go test -tags cuda -run Profile -v ./driver/sim
//
// It imports the standard library only.
package hardware
