// Package broker assembles a Millrace node from its rooms and routes requests to
// them. What the protocol means is in the packages below; here are only the table
// of APIs (apis.go), the way of a frame from the connection to its handler
// (dispatch.go, serial.go), and start and shutdown (broker.go).
//
// Package broker is a library: tools/millrace runs it as a program, tests start it
// in their own process.
package broker
