// Command crash kills a broker again and again under load and checks what is left.
//
// Four idempotent producers, each with another codec, write stamped records to all
// partitions of one topic, and a consumer group reads them and commits what it has read.
// The broker is killed with SIGKILL at a random moment, some of the times again while it
// recovers, and started anew, round after round; the clients never stop. After each
// restart the log may not end before what was acknowledged, and no committed offset may
// have gone back. At the end everything is read and judged by package history: nothing
// acknowledged is lost, nothing is there twice, each producer's order is kept, offsets
// have no gaps. A producer that gives up is a failure too: an idempotent producer whose
// broker comes back with its state has no reason to.
//
// The time from the start of the process until it serves (every partition answers its
// end offset) is measured in each round. A second check fills a large log first, kills
// the broker, and holds the restart to a limit.
//
// The seed of the kills is printed, and --seed repeats it; what the clients had under
// way at that moment still differs from run to run.
//
// --command runs the same rounds against any other broker that speaks Kafka's protocol.
package main
