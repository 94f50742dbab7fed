// Command millrace is the broker and its tools: serve runs a node, dump prints the files of a log dir, verify checks
// them, version says what is built. Each verb is a file of its own; what a node does is in package broker, which
// tests start in their own process.
package main
