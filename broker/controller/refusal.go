package controller

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"millrace/broker/meta"
)

// refusal is what a client is told: a code of the protocol and, if there is one, a
// message. The nil refusal is success.
type refusal struct {
	code    int16
	message *string
}

// refuse makes a refusal with a message of its own.
func refuse(e *kerr.Error, format string, args ...any) *refusal {
	message := fmt.Sprintf(format, args...)
	return &refusal{e.Code, &message}
}

// refuseBare makes a refusal with the code alone.
func refuseBare(e *kerr.Error) *refusal { return &refusal{code: e.Code} }

// refuseStandard makes a refusal with the standard message of the code.
func refuseStandard(e *kerr.Error) *refusal { return refuse(e, "%s", e.Description) }

// result is the pair of fields of a response.
func (r *refusal) result() (int16, *string) {
	if r == nil {
		return 0, nil
	}
	return r.code, r.message
}

// commit runs one commit. A rejected change is the client's fault and told so; a log
// that cannot be written is logged, and the client may try again.
func (c *Controller) commit(what string, build func(im *meta.Image) []meta.Change) *refusal {
	err := c.store.Commit(func(im *meta.Image) ([]meta.Change, error) { return build(im), nil })
	switch {
	case err == nil:
		return nil
	case errors.Is(err, meta.ErrRejected):
		return refuse(kerr.InvalidRequest, "%v", err)
	}
	c.log.Error("metadata change failed", "change", what, "error", err)
	return refuse(kerr.KafkaStorageError, "The metadata log could not be written.")
}
