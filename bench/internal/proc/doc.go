// Package proc reads what a process used, from /proc: processor time in user and in
// kernel mode, and resident memory. A benchmark asks before and after a phase.
package proc
