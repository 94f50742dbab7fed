// Package txn hands out producer ids and, for producers with a transactional id,
// says clearly that transactions are not served.
//
// ProducerIDs may be used from any goroutine.
package txn
