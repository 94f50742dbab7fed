// Package segmenttest has disks for tests of the log and of what is built on it. They are handed to segment.OpenDir in
// DirOptions.Disk. All methods may be called from any goroutine.
//
// A Disk misbehaves when told to. It passes everything on to the real engine and file system but for the faults that
// are armed: failing, held and short writes, and a file system with a given number of free bytes.
//
// A Recorder writes down all that is done to a dir. From its Recording come images of what a loss of power would leave
// at any moment: Crash says what is certain then, and Choices lists ways in which the rest may have reached the disk.
//
// A Loose disk is for recovering many such images in memory.
package segmenttest
