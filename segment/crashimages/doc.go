// Package crashimages asks of the log what it promises for a loss of power at any moment.
//
// A scenario runs the log over a segmenttest.Recorder and notes, with the recorder's position, what was acknowledged:
// facts.go. Then crashes are taken from the recording, at any position and with any part of what was not yet certain on
// the disk, and each image is recovered as a broker would, in memory: check.go. It must hold that
//
//   - the dir and its logs open
//   - what was acknowledged before the crash is there, and nothing is that was never appended, or was truncated or
//     deleted and acknowledged so
//   - offsets follow each other, and producers and epochs are those of the batches
//   - appends go on, and a second recovery finds the same
//   - all that again for a crash in that recovery, or after it: what a recovered log has shown it must not lose
//
// A run of a scenario is not the same twice, since goroutines take their turns as they like; a recording is. What fails
// is therefore kept as a file, and Replay repeats it.
package crashimages
