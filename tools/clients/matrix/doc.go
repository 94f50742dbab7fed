// Command matrix lets the clients of Kafka meet each other on one broker.
//
// Every client of the table in clients.go writes the records of dataset.go with each codec it has, each codec to a topic
// of its own. Every client then reads every topic, and each record is compared: key, value, headers, timestamp, order in
// its partition. Two members of each client share a group, stop after a part, and later pairs resume from what was
// committed, once across a restart of the broker. At the end Apache Kafka's kafka-dump-log reads every segment.
//
// The programs that drive the clients are in the folders beside this one and speak the protocol of ../README.md; kcat
// and the Java command-line tools are driven directly. A line is printed per cell; the last is "N passed, N failed".
package main
