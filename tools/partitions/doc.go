// Command partitions measures what very many partitions cost one broker: it creates them, writes some, restarts it
// cleanly and after kill -9, and holds times, memory, descriptors and maps against the targets. Then the same with a log dir
// in which every partition was written.
package main
