// Package controller changes the cluster's state: topics, partitions and configs. It
// is the only package that commits to the metadata log on behalf of a client; brokers
// and clients see what it did in the next meta.Image.
//
// Each request is one commit (meta.Store.Commit): what it asks for is checked against
// the image the commit builds on and turned into records there, so that nothing can
// change between check and write. Where the commit goes after that is the Store's
// business: on one node to the disk, in a cluster through the quorum.
//
// The methods wait for the disk and run on goroutines, never on an event loop. A
// request is answered for each topic or resource by itself; only a log that cannot be
// written fails all of them.
//
// Error codes and messages are Kafka's. Where Kafka accepts what cannot work (two
// topics of one request whose metric names collide, broker configs that do not
// exist), the request is refused.
package controller
