// Package rig is what the programs share that put a real broker under load, hurt it, and check what is left: the
// broker as a process (Broker), the clients (Producer, Consumer), reading everything back (ReadBack), and package
// history, which judges it.
//
// Producer and Consumer note in the history what they were told, never what they hope: an outcome that is in doubt stays
// unknown. They are made to come back within milliseconds of a broker that was killed, and never give up by themselves.
//
// A Broker belongs to one goroutine. Producers, consumers, findings and the history may be used from any.
package rig
