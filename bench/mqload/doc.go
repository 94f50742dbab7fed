// Command mqload is what bench/load is for Kafka's protocol, for NATS JetStream and
// RabbitMQ (classic queues and streams), with their own clients: one producer and one
// consumer at a given rate, end to end. It prints the same JSON and understands those
// flags of bench/load that make sense here.
//
// Messages are persistent and their producer gets a confirmation of each; what that
// promises is the broker's and its settings' affair. It is a module of its own, so that
// Millrace does not depend on its rivals' clients.
package main
