package broker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/broker/brokertest"
	"millrace/segment"
	"millrace/segment/segmenttest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// onDirs runs a broker on n log dirs.
func onDirs(t *testing.T, n int, props map[string]string) *brokertest.Node {
	t.Helper()
	var dirs []string
	for range n {
		dirs = append(dirs, t.TempDir())
	}
	node := brokertest.New(t, dirs, props)
	node.Restart(t)
	return node
}

func describeLogDirs(c *brokertest.Conn) map[string]kmsg.DescribeLogDirsResponseDir {
	req := kmsg.NewPtrDescribeLogDirsRequest()
	req.Version = 5
	out := map[string]kmsg.DescribeLogDirsResponseDir{}
	for _, d := range c.Do(req).(*kmsg.DescribeLogDirsResponse).Dirs {
		out[d.Dir] = d
	}
	return out
}

// replicas is "TOPIC-PARTITION" of all in a log dir, "+future" if it is being moved there.
func replicas(d kmsg.DescribeLogDirsResponseDir) (out []string) {
	for _, t := range d.Topics {
		for _, p := range t.Partitions {
			s := fmt.Sprintf("%s-%d", t.Topic, p.Partition)
			if p.IsFuture {
				s += "+future"
			}
			out = append(out, s)
		}
	}
	return out
}

// holder is the log dir that has a partition's directory on the disk.
func holder(t *testing.T, n *brokertest.Node, partition string) string {
	t.Helper()
	found := ""
	for _, d := range n.Dirs {
		if _, err := os.Stat(filepath.Join(d, partition)); err == nil {
			if found != "" {
				t.Fatalf("%s is in %s and in %s", partition, found, d)
			}
			found = d
		}
	}
	if found == "" {
		t.Fatalf("%s is in none of the log dirs", partition)
	}
	return found
}

func produceTo(c *brokertest.Conn, topic string, partition int32, recs []byte) kmsg.ProduceResponseTopicPartition {
	return c.Do(produceRequest(11, -1, topic, partition, recs)).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
}

func alterBroker(c *brokertest.Conn, key, value string) kmsg.IncrementalAlterConfigsResponseResource {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Version = 1
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeBroker, "1"
	r.Configs = []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: key, Value: &value}}
	req.Resources = append(req.Resources, r)
	return c.Do(req).(*kmsg.IncrementalAlterConfigsResponse).Resources[0]
}

// createTopic answers the error of creating a topic.
func createTopic(c *brokertest.Conn, name string, partitions int32) int16 {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 7, 10_000
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, 1
	req.Topics = append(req.Topics, topic)
	return c.Do(req).(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode
}

func TestNewPartitionsSpreadOverLogDirsThatAreEquallyFree(t *testing.T) {
	n := onDirs(t, 3, nil)
	c := n.Dial(t)
	c.CreateTopic("a", 6)
	c.CreateTopic("b", 3)
	for path, d := range describeLogDirs(c) {
		if len(replicas(d)) != 3 || d.ErrorCode != 0 || d.IsCordoned || d.UsableBytes <= 0 {
			t.Errorf("%s: %v, error %d, cordoned %v, %d usable", path, replicas(d), d.ErrorCode, d.IsCordoned, d.UsableBytes)
		}
	}
	before := map[string]string{}
	for i := range 6 {
		if r := produceTo(c, "a", int32(i), records(t, 1, nil)); r.ErrorCode != 0 {
			t.Fatalf("produce: error %d", r.ErrorCode)
		}
		p := fmt.Sprintf("a-%d", i)
		before[p] = holder(t, n, p)
	}
	n.Restart(t)
	for p, dir := range before {
		if now := holder(t, n, p); now != dir {
			t.Errorf("%s was in %s, is in %s", p, dir, now)
		}
	}
}

func TestACordonedLogDirGetsNoNewPartitions(t *testing.T) {
	n := onDirs(t, 2, nil)
	c := n.Dial(t)
	c.CreateTopic("old", 2)
	if r := alterBroker(c, "cordoned.log.dirs", n.Dirs[0]); r.ErrorCode != 0 {
		t.Fatalf("cordon: %d %s", r.ErrorCode, *r.ErrorMessage)
	}
	c.CreateTopic("new", 4)
	for range 2 {
		dirs := describeLogDirs(c)
		if got := fmt.Sprint(replicas(dirs[n.Dirs[0]])); got != "[old-0]" && got != "[old-1]" || !dirs[n.Dirs[0]].IsCordoned {
			t.Errorf("cordoned dir has %s, says cordoned %v", got, dirs[n.Dirs[0]].IsCordoned)
		}
		if len(replicas(dirs[n.Dirs[1]])) != 5 || dirs[n.Dirs[1]].IsCordoned {
			t.Errorf("the other has %v, says cordoned %v", replicas(dirs[n.Dirs[1]]), dirs[n.Dirs[1]].IsCordoned)
		}
		n.Restart(t) // it is kept
		c = n.Dial(t)
	}
	if r := alterBroker(c, "cordoned.log.dirs", "*"); r.ErrorCode != 0 {
		t.Fatalf("cordon all: %d", r.ErrorCode)
	}
	if code := createTopic(c, "none", 1); code != kerr.InvalidReplicationFactor.Code {
		t.Errorf("created with error %d while all are cordoned", code)
	}
	for _, bad := range []string{"/nowhere", "*," + n.Dirs[0]} {
		if r := alterBroker(c, "cordoned.log.dirs", bad); r.ErrorCode == 0 {
			t.Errorf("cordoned.log.dirs=%s was accepted", bad)
		}
	}
	if r := alterBroker(c, "cordoned.log.dirs", ""); r.ErrorCode != 0 {
		t.Fatalf("uncordon: %d", r.ErrorCode)
	}
	c.CreateTopic("none", 1)
}

func TestALogDirThatIsEmptiedAndTakenOutWhileCordonedDoesNotKeepTheNodeFromStarting(t *testing.T) {
	n := onDirs(t, 2, nil)
	c := n.Dial(t)
	if r := alterBroker(c, "cordoned.log.dirs", n.Dirs[1]); r.ErrorCode != 0 {
		t.Fatalf("cordon: %d", r.ErrorCode)
	}
	c.CreateTopic("t", 2)
	n.Set("log.dirs", n.Dirs[0])
	n.Restart(t)
	c = n.Dial(t)
	c.CreateTopic("u", 2)
	if got := len(replicas(describeLogDirs(c)[n.Dirs[0]])); got != 4 {
		t.Errorf("%d partitions, want 4", got)
	}
}

func TestALogDirThatIsThereTwiceIsRefused(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	refused(t, brokertest.New(t, []string{dir, link}, nil), dir, link, "are the same directory")

	n := brokertest.New(t, []string{dir}, nil)
	n.Restart(t)
	n.Stop(t)
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	refused(t, brokertest.New(t, []string{dir, copied}, nil), dir, copied, "have the same directory.id", "one is a copy of the other")
}

func TestALogDirOfSomebodyElseIsRefused(t *testing.T) {
	mine, other := t.TempDir(), t.TempDir()
	for _, dir := range []string{mine, other} {
		n := brokertest.New(t, []string{dir}, nil)
		n.Restart(t)
		n.Stop(t)
	}
	refused(t, brokertest.New(t, []string{mine, other}, nil), other, "of cluster")
	refused(t, brokertest.New(t, []string{mine}, map[string]string{"node.id": "2"}), mine, "of node 1, this is 2")

	n := brokertest.New(t, []string{mine}, nil)
	n.Restart(t)
	refused(t, brokertest.New(t, []string{mine}, nil), mine, "in use by another process")
}

// refused fails unless the node refuses to start with an error that says all of the parts.
func refused(t *testing.T, n *brokertest.Node, parts ...string) {
	t.Helper()
	err := n.TryStart(t)
	if err == nil {
		t.Fatalf("started; want an error with %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not say %q", err, p)
		}
	}
}

// twoFilled runs a broker with a record in each of the partitions t-0 and t-1, one in each of two log dirs, and gives
// the one that is in the second dir.
func twoFilled(t *testing.T, props map[string]string) (n *brokertest.Node, second int32) {
	t.Helper()
	n = onDirs(t, 2, props)
	c := n.Dial(t)
	c.CreateTopic("t", 2)
	for i := range int32(2) {
		if p := produceTo(c, "t", i, records(t, 3, nil)); p.ErrorCode != 0 {
			t.Fatalf("produce to %d: error %d", i, p.ErrorCode)
		}
		if holder(t, n, fmt.Sprintf("t-%d", i)) == n.Dirs[1] {
			second = i
		}
	}
	return n, second
}

// expectOneOffline checks that the partitions in the second log dir are offline, and everything else works.
func expectOneOffline(t *testing.T, n *brokertest.Node, second int32, described bool) {
	t.Helper()
	c := n.Dial(t)
	storage := kerr.KafkaStorageError.Code
	if p := produceTo(c, "t", second, records(t, 1, nil)); p.ErrorCode != storage {
		t.Errorf("produce to the lost partition: error %d", p.ErrorCode)
	}
	f := c.Do(fetchRequest(fetchPart{topic: "t", index: second})).(*kmsg.FetchResponse).Topics[0].Partitions[0]
	if f.ErrorCode != storage {
		t.Errorf("fetch from the lost partition: error %d", f.ErrorCode)
	}
	if p := produceTo(c, "t", 1-second, records(t, 1, nil)); p.ErrorCode != 0 {
		t.Errorf("produce to the other: error %d", p.ErrorCode)
	}
	f = c.Do(fetchRequest(fetchPart{topic: "t", index: 1 - second})).(*kmsg.FetchResponse).Topics[0].Partitions[0]
	if f.ErrorCode != 0 || len(f.RecordBatches) == 0 {
		t.Errorf("fetch from the other: error %d, %d bytes", f.ErrorCode, len(f.RecordBatches))
	}
	c.CreateTopic("new", 2)
	dirs := describeLogDirs(c)
	if described {
		if d := dirs[n.Dirs[1]]; d.ErrorCode != storage || len(d.Topics) != 0 {
			t.Errorf("lost dir: error %d, %v", d.ErrorCode, replicas(d))
		}
		if got := len(replicas(dirs[n.Dirs[0]])); got != 3 {
			t.Errorf("%d partitions in the other, want 3", got)
		}
	}
	if _, err := os.Stat(filepath.Join(n.Dirs[0], fmt.Sprintf("t-%d", second))); err == nil {
		t.Error("the lost partition was made anew in the other log dir")
	}
}

func TestALogDirThatFailsLeavesTheOthersServing(t *testing.T) {
	n, second := twoFilled(t, nil)
	disk := segmenttest.NewDisk()
	n.Options.Disk = func(dir string) segment.Disk {
		if dir == n.Dirs[1] {
			return disk
		}
		return nil
	}
	n.Restart(t)
	disk.TearNext(0)
	if p := produceTo(n.Dial(t), "t", second, records(t, 1, nil)); p.ErrorCode != kerr.KafkaStorageError.Code {
		t.Fatalf("produce with a write that fails: error %d", p.ErrorCode)
	}
	expectOneOffline(t, n, second, true)
	if err := n.Shutdown(t.Context()); err == nil {
		t.Error("shutdown says that all is on the disk")
	}
	n.Options.Disk = nil
	if err := n.TryStart(t); err != nil {
		t.Fatal(err)
	}
	expectFilled(t, n, second)
}

func expectFilled(t *testing.T, n *brokertest.Node, partition int32) {
	t.Helper()
	f := n.Dial(t).Do(fetchRequest(fetchPart{topic: "t", index: partition})).(*kmsg.FetchResponse).Topics[0].Partitions[0]
	if f.ErrorCode != 0 || f.HighWatermark != 3 || len(f.RecordBatches) == 0 {
		t.Errorf("partition %d: error %d, high watermark %d, %d bytes", partition, f.ErrorCode, f.HighWatermark, len(f.RecordBatches))
	}
}

func TestALogDirThatIsMissingAtTheStartLeavesTheOthersServing(t *testing.T) {
	n, second := twoFilled(t, nil)
	n.Stop(t)
	aside := n.Dirs[1] + ".away"
	if err := os.Rename(n.Dirs[1], aside); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(aside) })
	// Not a directory: nothing can be made there, as with a disk that is read-only.
	if err := os.WriteFile(n.Dirs[1], nil, 0o644); err != nil {
		t.Fatal(err)
	}
	n.Restart(t)
	expectOneOffline(t, n, second, true)
	n.Stop(t)

	// Empty, as with a disk that was not mounted or was replaced: another dir than the one the partition is in.
	os.Remove(n.Dirs[1])
	n.Restart(t)
	c := n.Dial(t)
	if p := produceTo(c, "t", second, records(t, 1, nil)); p.ErrorCode != kerr.KafkaStorageError.Code {
		t.Errorf("produce to a partition whose log dir is not there: error %d", p.ErrorCode)
	}
	n.Stop(t)

	if err := os.RemoveAll(n.Dirs[1]); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(aside, n.Dirs[1]); err != nil {
		t.Fatal(err)
	}
	n.Restart(t)
	expectFilled(t, n, second)
}

func TestTheLogDirOfTheMetadataLogIsNotReplacedByAnotherOne(t *testing.T) {
	n, second := twoFilled(t, nil)
	first, other := n.Dirs[0], n.Dirs[1]
	n.Set("log.dirs", other+","+first) // the order does not matter
	n.Restart(t)
	expectFilled(t, n, second)
	n.Stop(t)
	n.Set("log.dirs", other+","+t.TempDir())
	refused(t, n, "log dir "+other+" holds partition t-")
	n.Set("log.dirs", first+".file,"+other)
	if err := os.WriteFile(first+".file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(first + ".file") })
	refused(t, n, "no log dir that can be used holds the metadata log", first+".file")
	n.Set("log.dirs", first+","+other)
	n.Restart(t)
	expectFilled(t, n, second)
}

func TestAPartitionThatWasMovedByHandIsServedFromWhereItIs(t *testing.T) {
	n, second := twoFilled(t, nil)
	n.Stop(t)
	name := fmt.Sprintf("t-%d", second)
	if err := os.Rename(filepath.Join(n.Dirs[1], name), filepath.Join(n.Dirs[0], name)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		n.Restart(t)
		expectFilled(t, n, second)
	}
	if dir := holder(t, n, name); dir != n.Dirs[0] {
		t.Errorf("is in %s", dir)
	}
}
