// Package journal is the shared commit journal of a log dir: its format, its files, and reading it after a crash.
//
// # What it is for
//
// A write that is durable costs a flush, whatever its size. When many logs have little to write each, the dir's writer
// takes the new bytes of all of them in one turn: one write, one flush, into a file whose blocks were written before.
// The bytes go to the segment files later, in large writes; a checkpoint then makes a journal file free for use again. Reading
// never touches the journal, and it holds nothing that is not in memory or in a segment file as well.
//
// # Format
//
// A file is a run of turns from its beginning on, each padded with zeros to a multiple of 4 KiB. Numbers are
// little-endian.
//
//	turn   magic[8] crc32c[4] length[4] generation[8] sequence[8] entries[4] zero[4] salt[8], then the entries
//	entry  length[4] nameLength[2] zero[2] topicID[16] segment[8] position[8] end[8], name, then length bytes
//
// The CRC covers everything behind it. Length is the turn without its padding. All turns of a file have the same
// generation, which is higher each time a file is taken into use, and the same random salt, so that a record made to look
// like a turn is not taken for one. Sequences rise by one from turn to turn, over the
// files too. An entry is physical: bytes [position, position+length) of the segment with that base offset in the partition
// directory name. It ends at a batch boundary; end is the offset behind it.
//
// # What always holds
//
//	a turn is believed whole or not at all
//	a file is used again only after everything in it is in segment files, on the disk, and after its first block was
//	overwritten, on the disk: what was in it does not come back
//
// # Who calls what
//
// Claim, Place and Done are the writer's, Turn belongs to whoever fills it. Cut, Recycle and Prepare may be called from one other
// goroutine, and block. Scan is for the start, before there is a Journal.
package journal
