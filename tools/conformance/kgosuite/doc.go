// Package kgosuite runs the tests of franz-go's kgo package against a broker.
//
// The tests are the client's own, of the version in go.mod: Build copies the
// module out of the module cache, which is read-only, and compiles its test
// program there; Run starts it with the variables that point it at a broker of one
// node; Report holds the results against the list of tests that may not pass.
//
// A test that fails or is skipped must be listed with a reason, and a listed one
// must not pass. An entry names a test or a sub-test and covers what is below it.
package kgosuite
