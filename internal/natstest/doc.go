// Package natstest runs NATS servers in a test's process: one, or a cluster. They keep
// their files in the test's folder and end with it.
//
// Main type: Server.
package natstest
