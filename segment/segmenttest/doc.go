// Package segmenttest is a disk that misbehaves when told to, for tests of the log and of what is built on it.
//
// A Disk is handed to segment.OpenDir in DirOptions.Disk. It passes everything on to the real engine and file system
// but for the faults that are armed: failing, held and short writes, and a file system with a given number of free bytes.
// All methods may be called from any goroutine.
package segmenttest
