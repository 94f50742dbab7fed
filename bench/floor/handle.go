package main

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	apiVersionsKey = 18
	fetchKey       = 1
	clusterID      = "floor"
)

// served is the newest version of each request that is answered. Fetch stops where its
// encoding becomes flexible and names give way to topic ids.
var served = map[int16]int16{
	0:              9,
	fetchKey:       11,
	2:              6,
	3:              8,
	apiVersionsKey: 3,
	19:             4,
	20:             4,
	22:             3,
}

// handle takes one request and says what its answer will be. The frame is free when it
// returns.
func (s *server) handle(frame []byte) (reply, error) {
	r, req, err := parse(frame)
	if err != nil {
		return nil, err
	}
	switch req := req.(type) {
	case *kmsg.ProduceRequest:
		return s.produce(r.correlation, req)
	case *kmsg.FetchRequest:
		return s.fetch(r.correlation, req), nil
	}
	return answer(r.correlation, s.control(r, req)), nil
}

// parse decodes a request, as views into the frame. One for versions in a version that
// is not served is decoded as version 0: its answer says which are.
func parse(frame []byte) (request, kmsg.Request, error) {
	r, err := parseHeader(frame)
	if err != nil {
		return r, nil, err
	}
	newest, ok := served[r.key]
	if !ok {
		return r, nil, fmt.Errorf("request %s is not served", kmsg.NameForKey(r.key))
	}
	req := kmsg.RequestForKey(r.key)
	if r.version > newest && r.key == apiVersionsKey {
		return r, req, nil
	}
	if r.version > newest {
		return r, nil, fmt.Errorf("version %d of request %s is not served", r.version, kmsg.NameForKey(r.key))
	}
	req.SetVersion(r.version)
	if err := req.(interface{ UnsafeReadFrom([]byte) error }).UnsafeReadFrom(r.body); err != nil {
		return r, nil, fmt.Errorf("parse %s: %w", kmsg.NameForKey(r.key), err)
	}
	return r, req, nil
}

// control answers every request that does not move records.
func (s *server) control(r request, req kmsg.Request) kmsg.Response {
	resp := req.ResponseKind()
	switch req := req.(type) {
	case *kmsg.ApiVersionsRequest:
		apiVersions(resp.(*kmsg.ApiVersionsResponse))
		if r.version > served[apiVersionsKey] {
			resp.(*kmsg.ApiVersionsResponse).ErrorCode = kerr.UnsupportedVersion.Code
		}
	case *kmsg.MetadataRequest:
		s.metadata(req, resp.(*kmsg.MetadataResponse))
	case *kmsg.ListOffsetsRequest:
		s.listOffsets(req, resp.(*kmsg.ListOffsetsResponse))
	case *kmsg.CreateTopicsRequest:
		s.createTopics(req, resp.(*kmsg.CreateTopicsResponse))
	case *kmsg.DeleteTopicsRequest:
		s.deleteTopics(req, resp.(*kmsg.DeleteTopicsResponse))
	case *kmsg.InitProducerIDRequest:
		resp.(*kmsg.InitProducerIDResponse).ProducerID = 1
	}
	return resp
}

func apiVersions(resp *kmsg.ApiVersionsResponse) {
	for key, newest := range served {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MaxVersion = key, newest
		resp.ApiKeys = append(resp.ApiKeys, k)
	}
}

func (s *server) metadata(req *kmsg.MetadataRequest, resp *kmsg.MetadataResponse) {
	b := kmsg.NewMetadataResponseBroker()
	b.NodeID, b.Host, b.Port = 1, s.host, s.port
	resp.Brokers = append(resp.Brokers, b)
	resp.ControllerID, resp.ClusterID = 1, kmsg.StringPtr(clusterID)
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(req.Topics))
	for _, t := range req.Topics {
		names = append(names, strings.Clone(*t.Topic))
	}
	if req.Topics == nil {
		for name := range s.topics {
			names = append(names, name)
		}
	}
	for _, name := range names {
		t := kmsg.NewMetadataResponseTopic()
		t.Topic = kmsg.StringPtr(name)
		parts, ok := s.topics[name]
		if !ok {
			t.ErrorCode = kerr.UnknownTopicOrPartition.Code
		}
		for i := range parts {
			p := kmsg.NewMetadataResponseTopicPartition()
			p.Partition, p.Leader, p.LeaderEpoch, p.Replicas, p.ISR = int32(i), 1, 0, []int32{1}, []int32{1}
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
}

// listOffsets answers 0 for the earliest offset and the end for everything else.
func (s *server) listOffsets(req *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) {
	for _, rt := range req.Topics {
		t := kmsg.NewListOffsetsResponseTopic()
		t.Topic = strings.Clone(rt.Topic)
		for _, rp := range rt.Partitions {
			p := kmsg.NewListOffsetsResponseTopicPartition()
			p.Partition, p.LeaderEpoch = rp.Partition, 0
			switch part := s.partition(rt.Topic, rp.Partition); {
			case part == nil:
				p.ErrorCode = kerr.UnknownTopicOrPartition.Code
			case rp.Timestamp == -2:
				p.Offset = 0
			default:
				p.Offset = part.end()
			}
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
}

func (s *server) createTopics(req *kmsg.CreateTopicsRequest, resp *kmsg.CreateTopicsResponse) {
	for _, rt := range req.Topics {
		t := kmsg.NewCreateTopicsResponseTopic()
		t.Topic = strings.Clone(rt.Topic)
		created, err := s.create(t.Topic, max(int(rt.NumPartitions), 1))
		if err != nil {
			t.ErrorCode, t.ErrorMessage = kerr.KafkaStorageError.Code, kmsg.StringPtr(err.Error())
		} else if !created {
			t.ErrorCode = kerr.TopicAlreadyExists.Code
		}
		resp.Topics = append(resp.Topics, t)
	}
}

func (s *server) deleteTopics(req *kmsg.DeleteTopicsRequest, resp *kmsg.DeleteTopicsResponse) {
	for _, name := range req.TopicNames {
		t := kmsg.NewDeleteTopicsResponseTopic()
		t.Topic = kmsg.StringPtr(strings.Clone(name))
		if !s.remove(name) {
			t.ErrorCode = kerr.UnknownTopicOrPartition.Code
		}
		resp.Topics = append(resp.Topics, t)
	}
}
