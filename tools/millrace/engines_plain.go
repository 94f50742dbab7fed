//go:build !uring || !linux

package main

// engines are the writers this build has: the ring needs -tags=uring -ldflags=-checklinkname=0.
const engines = "pwritev2"
