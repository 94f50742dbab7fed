package segment

import "millrace/segment/batch"

// stub.go is replaced by the real implementation.

type Dir struct{}
type Log struct{}
type DirStats struct{}

func OpenDir(o DirOptions) (*Dir, error)                                         { panic("stub") }
func (d *Dir) OpenLog(topic string, partition int32, o LogOptions) (*Log, error) { panic("stub") }
func (d *Dir) Close() error                                                      { panic("stub") }
func (d *Dir) Err() error                                                        { panic("stub") }
func (d *Dir) Engine() string                                                    { panic("stub") }
func (d *Dir) IO() string                                                        { panic("stub") }
func (d *Dir) Path() string                                                      { panic("stub") }
func (d *Dir) Usage() (totalBytes, usableBytes int64)                            { panic("stub") }
func (d *Dir) Stats() DirStats                                                   { panic("stub") }
func (d *Dir) Orphans(known func(topic string, partition int32, id [16]byte) bool) ([]string, error) {
	panic("stub")
}
func (l *Log) Append(b batch.Batch, leaderEpoch int32) (AppendInfo, error) { panic("stub") }
func (l *Log) Read(dst []Range, offset int64, maxBytes int, upTo int64, minOne, block bool) ([]Range, error) {
	panic("stub")
}
func (l *Log) ReadBatches(offset, upTo int64, f func(batch.Batch) error) error   { panic("stub") }
func (l *Log) StartOffset() int64                                                { panic("stub") }
func (l *Log) EndOffset() int64                                                  { panic("stub") }
func (l *Log) DurableOffset() int64                                              { panic("stub") }
func (l *Log) LeaderEpoch() int32                                                { panic("stub") }
func (l *Log) AssignLeaderEpoch(epoch int32) error                               { panic("stub") }
func (l *Log) EndOffsetForEpoch(epoch int32) (foundEpoch int32, endOffset int64) { panic("stub") }
func (l *Log) OffsetForTimestamp(ts int64) (TimestampOffset, error)              { panic("stub") }
func (l *Log) MaxTimestamp() (TimestampOffset, error)                            { panic("stub") }
func (l *Log) EpochForOffset(offset int64) int32                                 { panic("stub") }
func (l *Log) AdvanceStartOffset(offset int64) error                             { panic("stub") }
func (l *Log) Truncate(offset int64) error                                       { panic("stub") }
func (l *Log) Producers() []ProducerInfo                                         { panic("stub") }
func (l *Log) Size() int64                                                       { panic("stub") }
func (l *Log) SetConfig(c LogConfig)                                             { panic("stub") }
func (l *Log) ApplyRetention() (segments int, err error)                         { panic("stub") }
func (l *Log) Delete() error                                                     { panic("stub") }
