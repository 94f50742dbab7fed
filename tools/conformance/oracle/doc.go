// Package oracle asks two brokers the same questions over raw connections and
// compares the answers field by field. One of the two is Apache Kafka, the
// oracle; the other is the broker under test.
//
// A Probe is a short transcript: requests on connections of its own, whose
// answers are decoded with kmsg and written down as a list of fields (path and
// value). Frames are built and read here and not by a client library, so that a
// wrong version, half a frame, a lying length or a closed connection can be sent
// and seen. The same transcript is played to both brokers at the same time, with
// the same topic, group and instance names, so most answers are equal to the
// byte; what cannot be (ports, ids drawn by the broker, clocks) is replaced by
// the rules that the probe declares.
//
// What still differs must be a line of the differences file, with its reason.
// A difference without a line fails the run, and so does a line whose difference
// no longer occurs: the file is exact, not a list of excuses.
//
// Probes run on a few goroutines; a probe that sees or changes the state of the
// whole broker is marked Alone and runs when nothing else does. A Run belongs to
// one goroutine.
package oracle
