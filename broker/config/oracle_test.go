package config

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
)

// differs names broker configs that Millrace describes in another way than Kafka, with the reason.
var differs = map[string]string{
	"listeners":                             "listeners cannot be altered at run time",
	"listener.security.protocol.map":        "likewise",
	"node.id":                               "has a default",
	"process.roles":                         "has a default",
	"controller.listener.names":             "has a default",
	"log.dir":                               "another default",
	"group.coordinator.rebalance.protocols": "the protocols that are served",
	"sasl.enabled.mechanisms":               "no authentication yet, so that altering it is refused",
	"sasl.mechanism.inter.broker.protocol":  "likewise",
	"ssl.client.auth":                       "likewise",
	"ssl.enabled.protocols":                 "likewise",
}

func oracleBroker(t *testing.T) *Broker {
	t.Helper()
	f, err := os.Open("testdata/kafka-server.properties")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	props, err := ParseProperties(f)
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := Load(props)
	if err != nil {
		t.Fatal(err)
	}
	b, err = b.WithDynamic(
		map[string]string{"log.retention.ms": "5000", "max.connections": "500"},
		map[string]string{"log.retention.bytes": "777", "log.roll.ms": "9000", "max.connections": "700", "min.insync.replicas": "1"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// oracleLines reads a transcript: config name to the rest of its line.
func oracleLines(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		if name, rest, ok := strings.Cut(s.Text(), "\t"); ok && !strings.HasPrefix(name, "#") {
			lines[name] = rest
		}
	}
	return lines
}

func line(e Entry) string {
	value := func(v *string) string {
		if v == nil {
			return "<null>"
		}
		return *v
	}
	var synonyms []string
	for _, s := range e.Synonyms {
		synonyms = append(synonyms, fmt.Sprintf("%s=%s@%d", s.Name, value(s.Value), s.Source))
	}
	return fmt.Sprintf("%q\t%d\t%d\t%v\t%s", value(e.Value), e.Type, e.Source, e.ReadOnly, strings.Join(synonyms, ", "))
}

func TestTopicIsDescribedAsKafkaDoes(t *testing.T) {
	want := oracleLines(t, "testdata/kafka-topic.tsv")
	got := TopicEntries(oracleBroker(t), map[string]string{"retention.ms": "1000", "cleanup.policy": "compact"})
	if len(want) != 37 {
		t.Fatalf("the transcript has %d configs", len(want))
	}
	if len(got) != 38 {
		t.Errorf("%d configs, want Kafka's 37 and durability", len(got))
	}
	for _, e := range got {
		if e.Name == "durability" {
			if s := line(e); s != "\"flush\"\t2\t5\tfalse\tlog.durability=flush@5" {
				t.Errorf("durability: %s", s)
			}
			continue
		}
		if w, ok := want[e.Name]; !ok || line(e) != w {
			t.Errorf("%s\n got %s\nwant %s", e.Name, line(e), w)
		}
		if e.Doc == "" {
			t.Errorf("%s has no documentation", e.Name)
		}
	}
}

func TestBrokerIsDescribedAsKafkaDoes(t *testing.T) {
	want := oracleLines(t, "testdata/kafka-broker.tsv")
	for _, e := range oracleBroker(t).Entries(nil) {
		w, ok := want[e.Name]
		if !ok {
			if !strings.Contains(e.Doc, "Millrace only.") {
				t.Errorf("Kafka does not have %s", e.Name)
			}
			continue
		}
		if _, ok := differs[e.Name]; !ok && line(e) != w {
			t.Errorf("%s\n got %s\nwant %s", e.Name, line(e), w)
		}
	}
}

func TestClusterDefaultsAreDescribedAlone(t *testing.T) {
	var got []string
	for _, e := range oracleBroker(t).ClusterDefaultEntries(nil) {
		got = append(got, e.Name+" "+line(e))
	}
	want := []string{
		"max.connections \"700\"\t3\t3\tfalse\tmax.connections=700@3",
		"min.insync.replicas \"1\"\t3\t3\tfalse\tmin.insync.replicas=1@3",
		"log.roll.ms \"9000\"\t5\t3\tfalse\tlog.roll.ms=9000@3",
		"log.retention.bytes \"777\"\t5\t3\tfalse\tlog.retention.bytes=777@3",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestEntriesByName(t *testing.T) {
	got := oracleBroker(t).Entries([]string{"num.partitions", "no.such.config"})
	if len(got) != 1 || got[0].Name != "num.partitions" || got[0].Source != StaticBroker {
		t.Errorf("got %+v", got)
	}
}
