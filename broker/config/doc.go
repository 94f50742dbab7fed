// Package config is the one table of configs: name, type, default, bounds, when a change takes effect, and one
// sentence of documentation. Parsing, validation, DescribeConfigs and the command line read the same rows.
//
// There are two scopes. Broker rows (table_*.go) configure a node: from a server.properties file, the environment,
// flags, and at run time from the dynamic configs of the metadata log. Topic rows (topic_table.go) configure one
// topic; each names its broker synonyms, in the order in which they are asked for a default:
//
//	topic override > dynamic per broker > dynamic cluster-wide > static (file, environment, flags) > default
//
// All values are kept as the strings that were given, as Kafka does, and parsed where they are used; a Broker or a
// Topic is the typed result, immutable and safe for any goroutine. A change of configuration makes a new one.
//
// Keys of Kafka that have no effect here are accepted and listed in a note (kafka_keys.go); unknown keys give a
// warning, never a failure, because a server.properties file is often shared with plugins. A key that is known and
// has a bad value is always an error that names the key and says what is allowed, in Kafka's own words.
package config
