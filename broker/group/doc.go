// Package group is the group coordinator: the classic group protocol (JoinGroup,
// SyncGroup, Heartbeat, LeaveGroup), committed offsets, and what administrators
// ask about both.
//
// # State
//
// A group belongs to one partition of __consumer_offsets, by the hash of its
// name. A shard is that partition's groups under one mutex. The mutex is held for
// microseconds: nothing waits under it, replies are sent after it is released
// (shard.unlock), and records go to the shard's coordinator.Writer, whose
// callbacks take it again. Lock order: shard, then writer, timers or parked.
//
//	Empty --join--> PreparingRebalance --all joined or time is up--> CompletingRebalance --leader's sync is written--> Stable
//	  ^                     ^  |                                            |                                            |
//	  |                     +--|--------- a member joins, leaves, expires --+--------------------------------------------+
//	  +------- the last member is gone
//
// # Records
//
// Kafka's own (record.go): offset commits (key version 1) and group metadata (key
// version 2). Group metadata is written when a generation begins, when its
// assignment is known, when a static member gets a new id, and when a group turns
// empty. The first of these is more than Kafka writes: its leader is null, which
// says that the rebalance is under way. So a generation that any member has heard
// of is on the disk, and no restart gives the same generation to two sets of
// members. Loading such a record resumes the rebalance.
//
// # What always holds
//
//   - A generation number is never handed out twice in the life of a group.
//   - Offsets are visible to OffsetFetch, and a commit is answered, only when their
//     record is written; they change in log order.
//   - A member id is only made known to its client, or accepted from it, while the
//     group holds it: as a member or, bounded and for one session timeout, pending.
//   - Every request gets exactly one reply.
//
// # Goroutines
//
// Handlers run on the caller's goroutine and do not block; those that must wait
// take a reply function. One goroutine fires all timers (timer.go), one runs the
// expiry of offsets, a few load partitions. Close ends them.
package group
