package oracle

import (
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestProbesHaveUniqueNames(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range All() {
		if seen[p.Name] || p.Name == "" || strings.ContainsAny(p.Name, " \t*") {
			t.Errorf("probe name %q", p.Name)
		}
		seen[p.Name] = true
	}
	if len(seen) < 250 {
		t.Errorf("%d probes", len(seen))
	}
}

func TestBatchIsWhatKafkaClientsSend(t *testing.T) {
	var b kmsg.RecordBatch
	set := batch{records: values(3), producer: &producer{7, 1, 5}}.bytes()
	if err := b.ReadFrom(set); err != nil {
		t.Fatal(err)
	}
	if b.NumRecords != 3 || b.LastOffsetDelta != 2 || b.ProducerID != 7 || b.FirstSequence != 5 || int(b.Length) != len(set)-batchPrefix {
		t.Errorf("batch %+v", b)
	}
	told := batchFields(nil, "x.RecordBatches", append(set, set[:40]...))
	if told[5] != (Field{"x.RecordBatches[0].CRCHolds", "true"}) {
		t.Errorf("told %v", told)
	}
	if last := told[len(told)-1]; last.Value != "40 bytes of a batch" {
		t.Errorf("the cut batch is told as %v", last)
	}
}

func TestKeyedListsAreSortedAndRulesApply(t *testing.T) {
	resp := kmsg.NewPtrMetadataResponse()
	b, a := kmsg.NewMetadataResponseTopic(), kmsg.NewMetadataResponseTopic()
	b.Topic, a.Topic, a.ErrorCode, a.TopicID = ptr("b"), ptr("a"), 3, [16]byte{1}
	resp.Topics = append(resp.Topics, b, a)
	rules := []Rule{topicsByName, topicIDs}
	var paths []string
	for _, f := range fields(nil, "m", reflect.ValueOf(resp), rules) {
		if strings.HasSuffix(f.Path, "].ErrorCode") || strings.HasSuffix(f.Path, ".TopicID") {
			paths = append(paths, f.Path+"="+apply(rules, f))
		}
	}
	want := []string{
		"m.Topics[a].ErrorCode=3 UNKNOWN_TOPIC_OR_PARTITION", "m.Topics[a].TopicID=<set>",
		"m.Topics[b].ErrorCode=0", "m.Topics[b].TopicID=00000000000000000000000000000000",
	}
	if !reflect.DeepEqual(paths, want) {
		t.Errorf("fields %q\nwant   %q", paths, want)
	}
}
