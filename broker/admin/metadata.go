package admin

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker/meta"
	"millrace/net/server"
)

// allTopics is every topic of an image in the form of the response, made when it is
// first asked for: clients poll it.
type allTopics struct {
	of     *meta.Image
	plain  []kmsg.MetadataResponseTopic
	withOp []kmsg.MetadataResponseTopic // with authorized operations
}

// Metadata (key 3, versions 0-13).
func (a *Admin) Metadata(c server.Client, req *kmsg.MetadataRequest) *kmsg.MetadataResponse {
	im := a.images.Image()
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	for _, b := range brokers(im, c.Listener) {
		out := kmsg.NewMetadataResponseBroker()
		out.NodeID, out.Host, out.Port, out.Rack = b.id, b.host, b.port, b.rack
		resp.Brokers = append(resp.Brokers, out)
	}
	resp.ClusterID = &im.ClusterID
	resp.ControllerID = im.NodeID
	resp.AuthorizedOperations = operations(req.IncludeClusterAuthorizedOperations, clusterOperations)
	switch {
	case req.Topics == nil || req.Version == 0 && len(req.Topics) == 0:
		resp.Topics = a.everyTopic(im, req.IncludeTopicAuthorizedOperations)
	default:
		resp.Topics = a.namedTopics(im, req)
	}
	return resp
}

func (a *Admin) everyTopic(im *meta.Image, withOp bool) []kmsg.MetadataResponseTopic {
	kept := a.all.Load()
	if kept == nil || kept.of != im {
		kept = &allTopics{of: im}
	}
	topics := kept.plain
	if withOp {
		topics = kept.withOp
	}
	if topics != nil || len(im.Topics()) == 0 {
		return topics
	}
	topics = make([]kmsg.MetadataResponseTopic, 0, len(im.Topics()))
	for _, t := range im.Topics() {
		topics = append(topics, metadataTopic(im, t, withOp))
	}
	next := *kept
	if withOp {
		next.withOp = topics
	} else {
		next.plain = topics
	}
	a.all.Store(&next)
	return topics
}

// namedTopics answers topics by id, if the request has any ids, else by name, each
// once and in the order asked. What is missing may be created.
func (a *Admin) namedTopics(im *meta.Image, req *kmsg.MetadataRequest) []kmsg.MetadataResponseTopic {
	byID := false
	for _, t := range req.Topics {
		if t.TopicID != (meta.ID{}) {
			byID = true
		}
	}
	out := []kmsg.MetadataResponseTopic{}
	var missing []string
	seenIDs, seenNames := make(map[meta.ID]bool), make(map[string]bool)
	for _, t := range req.Topics {
		switch {
		case byID:
			if t.TopicID == (meta.ID{}) || seenIDs[t.TopicID] {
				continue
			}
			seenIDs[t.TopicID] = true
			if found := im.TopicByID(t.TopicID); found != nil {
				out = append(out, metadataTopic(im, found, req.IncludeTopicAuthorizedOperations))
				continue
			}
			out = append(out, metadataError(kerr.UnknownTopicID, nil, t.TopicID, req))
		case t.Topic == nil:
			out = append(out, metadataError(kerr.InvalidRequest, text(""), meta.ID{}, req))
		case seenNames[*t.Topic]:
		default:
			seenNames[*t.Topic] = true
			found := im.Topic(*t.Topic)
			if found != nil {
				out = append(out, metadataTopic(im, found, req.IncludeTopicAuthorizedOperations))
				continue
			}
			e := kerr.UnknownTopicOrPartition
			if meta.ValidateTopicName(*t.Topic) != nil {
				e = kerr.InvalidTopicException
			} else if *t.Topic != meta.ClusterMetadata {
				missing = append(missing, *t.Topic)
			}
			out = append(out, metadataError(e, t.Topic, meta.ID{}, req))
		}
	}
	if len(missing) > 0 && im.Config.AutoCreateTopics && (req.Version < 4 || req.AllowAutoTopicCreation) {
		a.creator.AutoCreate(missing)
	}
	return out
}

func metadataTopic(im *meta.Image, t *meta.Topic, withOp bool) kmsg.MetadataResponseTopic {
	out := kmsg.NewMetadataResponseTopic()
	out.Topic, out.TopicID, out.IsInternal = &t.Name, t.ID, t.Internal
	out.AuthorizedOperations = operations(withOp, topicOperations)
	out.Partitions = make([]kmsg.MetadataResponseTopicPartition, len(t.Partitions))
	for i := range t.Partitions {
		p := &t.Partitions[i]
		out.Partitions[i] = kmsg.MetadataResponseTopicPartition{
			ErrorCode: leaderError(im, p), Partition: int32(i), Leader: p.Leader, LeaderEpoch: p.LeaderEpoch,
			Replicas: p.Replicas, ISR: p.ISR, OfflineReplicas: offline(im, p.Replicas),
		}
	}
	return out
}

func leaderError(im *meta.Image, p *meta.Partition) int16 {
	if p.Leader < 0 || !im.HasBroker(p.Leader) {
		return kerr.LeaderNotAvailable.Code
	}
	return 0
}

func metadataError(e *kerr.Error, name *string, id meta.ID, req *kmsg.MetadataRequest) kmsg.MetadataResponseTopic {
	out := kmsg.NewMetadataResponseTopic()
	out.ErrorCode, out.Topic, out.TopicID = e.Code, name, id
	if name != nil {
		out.IsInternal = meta.IsInternal(*name)
	} else if req.Version < 12 {
		out.Topic = text("") // the name was not nullable
	}
	out.AuthorizedOperations = operations(req.IncludeTopicAuthorizedOperations, topicOperations)
	return out
}
