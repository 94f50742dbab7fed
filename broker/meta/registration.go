package meta

import (
	"slices"

	"millrace/broker/config"
)

// securityProtocols are Kafka's numbers of the protocols of a listener.
var securityProtocols = map[string]int16{"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}

// registration is what the log says of this node. Incarnation and epoch are left out:
// they are given when it is written. A port that is chosen at bind time is 0 here.
func registration(cfg *config.Broker) *RegisterBrokerRecord {
	r := &RegisterBrokerRecord{
		BrokerID: cfg.NodeID,
		Features: []BrokerFeature{{metadataVersion, metadataLevel, metadataLevel}},
	}
	if cfg.Rack != "" {
		r.Rack = &cfg.Rack
	}
	for _, l := range cfg.Listeners {
		r.EndPoints = append(r.EndPoints, BrokerEndPoint{
			Name: l.Name, Host: l.AdvertisedHost, Port: uint16(l.AdvertisedPort), SecurityProtocol: securityProtocols[l.Protocol],
		})
	}
	return r
}

// same tells whether other, which may be nil, says the same of the node.
func (r *RegisterBrokerRecord) same(other *RegisterBrokerRecord) bool {
	if other == nil || r.Fenced != other.Fenced || (r.Rack == nil) != (other.Rack == nil) {
		return false
	}
	return (r.Rack == nil || *r.Rack == *other.Rack) &&
		slices.Equal(r.EndPoints, other.EndPoints) && slices.Equal(r.Features, other.Features)
}
