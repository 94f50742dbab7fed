// Package histogram records durations for the quantiles of a benchmark.
//
// A histogram has 64 linear steps in every power of two of nanoseconds, so that a
// quantile is never wrong by more than 1.6 %, takes no lock and allocates nothing
// per value. Any number of goroutines may add at the same time.
package histogram
