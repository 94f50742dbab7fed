package txn

import (
	"fmt"
	"sync"

	"millrace/net/server"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// blockSize is how many producer ids are taken from the metadata log at once, as
// Kafka does.
const blockSize = 1000

// Allocator hands out blocks of producer ids that are never given twice, also
// across restarts.
type Allocator interface {
	AllocateProducerIDs(n int64) (first int64, err error)
}

// ProducerIDs answers InitProducerId.
type ProducerIDs struct {
	from Allocator

	mu        sync.Mutex
	next, end int64
}

// New makes the service.
func New(from Allocator) *ProducerIDs { return &ProducerIDs{from: from} }

func (p *ProducerIDs) take() (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == p.end {
		first, err := p.from.AllocateProducerIDs(blockSize)
		if err != nil {
			return -1, fmt.Errorf("allocate producer ids: %w", err)
		}
		p.next, p.end = first, first+blockSize
	}
	id := p.next
	p.next++
	return id, nil
}

// InitProducerID gives an idempotent producer a new id with epoch 0. What the
// producer had before does not matter (KIP-360: without a transactional id every
// request gets a fresh id). It waits for the disk once in blockSize calls.
func (p *ProducerIDs) InitProducerID(_ server.Client, req *kmsg.InitProducerIDRequest) *kmsg.InitProducerIDResponse {
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	if req.TransactionalID != nil {
		// Retriable codes would have producers wait for ever for a coordinator.
		resp.ErrorCode = kerr.InvalidRequest.Code
		return resp
	}
	if (req.ProducerID == -1) != (req.ProducerEpoch == -1) { // the two are one identity
		resp.ErrorCode = kerr.InvalidRequest.Code
		return resp
	}
	id, err := p.take()
	if err != nil {
		resp.ErrorCode = kerr.CoordinatorLoadInProgress.Code // retried by every client
		return resp
	}
	resp.ProducerID, resp.ProducerEpoch = id, 0
	return resp
}
