// Package host is the other end of what plugin-sdk serves: clients of backends and of
// device drivers, and what a program that starts them as processes tells go-plugin and
// gRPC. tritonc's core/plugin and driver/remote are made of it. A backend or driver does
// not import it, but for the clients that package sdktest gives to tests.
//
// Requests and responses are the structs of package sdk. The package imports nothing of
// tritonc's core.
package host
