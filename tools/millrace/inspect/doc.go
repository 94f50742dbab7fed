// Package inspect reads the files of a log dir without a broker: it prints them, and finds what is damaged.
//
// It decodes the formats by itself wherever that is short, instead of asking the packages that write them, so that a
// mistake there does not hide here. Nothing is ever written, and memory is bounded by the size of the files.
//
//	.log                     record batches v2, zeros are the end
//	.index .timeindex        entries that point into the .log beside them
//	.txnindex                aborted transactions
//	.snapshot                producers
//	leader-epoch-checkpoint  epochs and their first offsets
//	*-checkpoint             offsets by partition, of a log dir
//	meta.properties partition.metadata .kafka_cleanshutdown
//
// A log dir is looked at while no broker uses it: of a running one, the ends of files are not yet consistent.
package inspect
