package controller

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker/meta"
	"millrace/net/server"
)

// goneTopic is a topic to delete, by name or by id, with its result.
type goneTopic struct {
	name    *string
	id      meta.ID
	refused *refusal
}

// DeleteTopics (key 20, versions 1-6).
func (c *Controller) DeleteTopics(_ server.Client, req *kmsg.DeleteTopicsRequest) *kmsg.DeleteTopicsResponse {
	resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	topics := goneTopics(req)
	if !c.store.Image().Config.DeleteTopicEnable {
		r := refuseStandard(kerr.TopicDeletionDisabled)
		if req.Version < 3 {
			r = refuse(kerr.InvalidRequest, "%s", kerr.TopicDeletionDisabled.Description)
		}
		for _, t := range topics {
			t.refused = r
		}
	} else {
		c.deleteTopics(topics)
	}
	for _, t := range topics {
		out := kmsg.NewDeleteTopicsResponseTopic()
		out.Topic, out.TopicID = t.name, t.id
		out.ErrorCode, out.ErrorMessage = t.refused.result()
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

func goneTopics(req *kmsg.DeleteTopicsRequest) []*goneTopic {
	var out []*goneTopic
	if req.Version < 6 {
		for i := range req.TopicNames {
			out = append(out, &goneTopic{name: &req.TopicNames[i]})
		}
	} else {
		for _, t := range req.Topics {
			out = append(out, &goneTopic{name: t.Topic, id: t.TopicID})
		}
	}
	return refuseUnclear(out)
}

// refuseUnclear refuses topics that are named in no way, in two ways, or, once, more
// than once.
func refuseUnclear(topics []*goneTopic) []*goneTopic {
	names, ids := make(map[string]int), make(map[meta.ID]int)
	for _, t := range topics {
		switch {
		case t.name != nil && !t.id.IsZero():
			t.refused = refuse(kerr.InvalidRequest, "You may not specify both topic name and topic id.")
		case t.name != nil:
			names[*t.name]++
		case t.id.IsZero():
			t.refused = refuse(kerr.InvalidRequest, "Neither topic name nor id were specified.")
		default:
			ids[t.id]++
		}
	}
	out := topics[:0]
	for _, t := range topics {
		if t.refused == nil && t.name != nil {
			switch n := names[*t.name]; {
			case n == 0:
				continue
			case n > 1:
				t.refused = refuse(kerr.InvalidRequest, "Duplicate topic name.")
				names[*t.name] = 0
			}
		} else if t.refused == nil {
			switch n := ids[t.id]; {
			case n == 0:
				continue
			case n > 1:
				t.refused = refuse(kerr.InvalidRequest, "Duplicate topic id.")
				ids[t.id] = 0
			}
		}
		out = append(out, t)
	}
	return out
}

func (c *Controller) deleteTopics(topics []*goneTopic) {
	failed := c.commit("delete topics", func(im *meta.Image) []meta.Change {
		found := make(map[meta.ID]int) // how often each is named
		for _, t := range topics {
			if t.refused == nil {
				t.refused = t.find(im)
			}
			if t.refused == nil {
				found[t.id]++
			}
		}
		var changes []meta.Change
		for _, t := range topics {
			switch {
			case t.refused != nil:
			case found[t.id] > 1:
				t.refused = refuse(kerr.InvalidRequest, "The provided topic name maps to an ID that was already supplied.")
			default:
				changes = append(changes, &meta.RemoveTopicRecord{ID: t.id})
			}
		}
		return changes
	})
	if failed == nil {
		return
	}
	for _, t := range topics {
		if t.refused == nil {
			t.refused = failed
		}
	}
}

// find completes name and id from the image.
func (t *goneTopic) find(im *meta.Image) *refusal {
	if t.name == nil {
		found := im.TopicByID(t.id)
		if found == nil {
			return refuseStandard(kerr.UnknownTopicID)
		}
		t.name = &found.Name
		return nil
	}
	found := im.Topic(*t.name)
	if found == nil {
		return refuseStandard(kerr.UnknownTopicOrPartition)
	}
	t.id = found.ID
	return nil
}
