//go:build uring && linux

package main

// engines are the writers this build has.
const engines = "ring, pwritev2"
