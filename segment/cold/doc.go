// Package cold reads files past the page cache, into a bounded memory of its own: blocks of 1 MiB, of files that are
// read once, from front to back, long after they were written.
//
// Putting a page into the page cache costs several times as much as reading it (see "Measured" in ARCHITECTURE.md),
// which pays if others read it again. So the first directReads readings of a block come here, and from then on the cache
// declines, for the file to be read by way of the page cache, where it stays.
//
// # Blocks
//
//	loading   a goroutine reads into it; others who want it wait
//	pinned    somebody uses its bytes; they do not change
//	idle      found again by whoever asks, taken for another block when memory is wanted, the least recently used
//	          first; what was read ahead and not used yet is spared by those who read ahead themselves
//
// A block need not be whole: it holds one stretch of its MiB. A reader that begins somewhere gets what it asked for, one
// that goes on where another read ended gets the rest of the block.
//
// Memory is reserved once, outside the Go heap, touched as it is needed, and given back when it has been idle. The
// budget holds for all files of a cache; when every block is pinned, Load declines and does not wait.
//
// # What holds
//
// Bytes at or above what Written said are not handed out: they may still change. Bytes below do not change as long as the
// File lives; a file that is cut is opened anew, as another File.
//
// All methods may be called from any goroutine. Load waits for the disk, everything else does not. The mutex is held for
// less than a microsecond and is the last in the lock order.
package cold
