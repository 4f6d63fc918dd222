// Package simulated has the simulated devices: driver.Device over driver/sim, which
// executes PTX and AMD's assembly on the host and finds what a kernel does wrong.
//
// Main types: Options, and New, which makes the device that stands for a target.
//
// Invariants: those of package driver; equal launches with equal options give equal
// results and reports. It imports driver and driver/sim.
package simulated
