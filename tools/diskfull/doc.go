// Command diskfull fills the disk under a broker again and again and checks what it still does, and what is left.
//
// The log dir is a tmpfs of 64 MB, mounted in a mount namespace of the program's own, so that nothing of it outlives the
// program; without the right to mount it takes a user namespace as well. Where the system allows neither it fails: it
// never passes without having filled a disk.
//
// In each round records are produced until the last small one is refused, in some rounds with a file of somebody else's
// that takes what is left. Each refusal must be an error that producers retry, and nothing that was refused may be in the
// log. On the full disk everything must still be readable, offsets of a new group are committed, topics are created and
// deleted, and the broker is restarted in one of several ways. Then space returns: by retention, the deletion of a topic,
// DeleteRecords, or because the file is gone. Within a few seconds everything must be writable again, also topics that
// were created while there was no space.
//
// All the while an idempotent producer writes and a group reads a topic of their own. At the end everything is read
// back and judged by package history.
package main
