// Command conformance holds Millrace to Apache Kafka 4.4 from the outside.
//
//	go run ./tools/conformance            both parts
//	go run ./tools/conformance oracle     the oracle comparison
//	go run ./tools/conformance kgo        the tests of franz-go's kgo package
//
// The oracle comparison (package oracle) plays a few hundred probes on raw
// connections to Kafka and to Millrace and compares the answers field by field;
// what may differ is in differences.txt, line by line with its reason. The kgo
// part (package kgosuite) builds the tests of franz-go from the module cache and
// runs them against Millrace alone; what may fail is in kgo-allow.txt. Both files
// are exact: an entry that no longer applies fails the run.
//
// Both brokers are started here, on free loopback ports with empty directories,
// and stopped at the end; --kafka and --millrace name brokers that already run.
package main
