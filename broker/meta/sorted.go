package meta

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
)

// sortedTopics is all topics of one image by name. It is made when it is first asked
// for; the next image then takes it over with its changes merged in, which is one copy
// of pointers. So a thousand topics created in a row cost no sorting, and neither does
// a client that polls all topics while others are created.
type sortedTopics struct{ list atomic.Pointer[[]*Topic] }

// Topics is all topics by name. The slice is the image's own: read only.
func (im *Image) Topics() []*Topic {
	if im.sorted == nil {
		return nil // an image before its first topic
	}
	if list := im.sorted.list.Load(); list != nil {
		return *list
	}
	list := make([]*Topic, 0, im.byName.size)
	im.byName.each(func(_ string, t *Topic) { list = append(list, t) })
	slices.SortFunc(list, func(a, b *Topic) int { return cmp.Compare(a.Name, b.Name) })
	im.sorted.list.Store(&list)
	return list
}

// TopicsFrom is the topics whose names are not before name, by name. Read only.
func (im *Image) TopicsFrom(name string) []*Topic {
	list := im.Topics()
	return list[sort.Search(len(list), func(i int) bool { return list[i].Name >= name }):]
}

// sortedAfter is the sortedTopics of the image that follows base.
func (d *draft) sortedAfter() *sortedTopics {
	next := &sortedTopics{}
	if d.base.sorted != nil {
		if list := d.base.sorted.list.Load(); list != nil {
			merged := d.mergeInto(*list)
			next.list.Store(&merged)
		}
	}
	return next
}

// mergeInto is list with what the draft touched. It copies the runs between touched
// names.
func (d *draft) mergeInto(list []*Topic) []*Topic {
	out := make([]*Topic, 0, len(list)+len(d.names))
	for _, name := range slices.Sorted(maps.Keys(d.names)) {
		i, found := slices.BinarySearchFunc(list, name, func(t *Topic, name string) int { return strings.Compare(t.Name, name) })
		out = append(out, list[:i]...)
		if list = list[i:]; found {
			list = list[1:]
		}
		if dt := d.names[name]; dt != nil {
			out = append(out, dt.topic)
		}
	}
	return append(out, list...)
}
