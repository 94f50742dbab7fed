package meta

import (
	"encoding/binary"
	"hash/maphash"
)

// shardCount is how many shards a map is cut into. A commit copies the array of
// pointers (4 KiB) and the shards it touches: at 100,000 topics about 200 entries
// each.
const shardCount = 512

// hashSeed is the seed of every hash of names. It never leaves the process.
var hashSeed = maphash.MakeSeed()

func hashString(s string) uint64 { return maphash.String(hashSeed, s) }

// hashBytes is hashString of the same bytes, without making a string.
func hashBytes(b []byte) uint64 { return maphash.Bytes(hashSeed, b) }

// hashID needs no mixing: topic ids are random.
func hashID(id ID) uint64 {
	return binary.LittleEndian.Uint64(id[:8]) ^ binary.LittleEndian.Uint64(id[8:])
}

// shards is a persistent map: edit gives a copy that shares all shards until they
// are written to. The zero value is an empty map. Callers bring the hash of the key.
type shards[K comparable, V any] struct {
	table *[shardCount]*shard[K, V]
	size  int
}

type shard[K comparable, V any] struct{ m map[K]V }

// at is the shard of hash as a plain map, nil if empty; read only.
func (s *shards[K, V]) at(hash uint64) map[K]V {
	if s.table == nil {
		return nil
	}
	if sh := s.table[hash%shardCount]; sh != nil {
		return sh.m
	}
	return nil
}

// get finds key, whose hash is given.
func (s *shards[K, V]) get(hash uint64, key K) (V, bool) {
	v, ok := s.at(hash)[key]
	return v, ok
}

// each calls f for every entry, in no order.
func (s *shards[K, V]) each(f func(K, V)) {
	if s.table == nil {
		return
	}
	for _, sh := range s.table {
		if sh == nil {
			continue
		}
		for k, v := range sh.m {
			f(k, v)
		}
	}
}

// shardEdit changes a copy of a shards. It copies each shard once, at the first
// write to it. One goroutine.
type shardEdit[K comparable, V any] struct {
	next  shards[K, V]
	owned [shardCount]bool
	began bool
}

// edit starts a change of s; s itself stays as it is.
func (s *shards[K, V]) edit() *shardEdit[K, V] { return &shardEdit[K, V]{next: *s} }

// writable gives the map of the shard of hash, copied if it is still shared.
func (e *shardEdit[K, V]) writable(hash uint64) map[K]V {
	if !e.began {
		table := new([shardCount]*shard[K, V])
		if e.next.table != nil {
			*table = *e.next.table
		}
		e.next.table, e.began = table, true
	}
	i := hash % shardCount
	if e.owned[i] {
		return e.next.table[i].m
	}
	copied := make(map[K]V)
	if old := e.next.table[i]; old != nil {
		for k, v := range old.m {
			copied[k] = v
		}
	}
	e.next.table[i], e.owned[i] = &shard[K, V]{m: copied}, true
	return copied
}

func (e *shardEdit[K, V]) put(hash uint64, key K, v V) {
	m := e.writable(hash)
	if _, ok := m[key]; !ok {
		e.next.size++
	}
	m[key] = v
}

func (e *shardEdit[K, V]) remove(hash uint64, key K) {
	if _, ok := e.next.get(hash, key); !ok {
		return
	}
	delete(e.writable(hash), key)
	e.next.size--
}
