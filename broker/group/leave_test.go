package group

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Rule 71: the request succeeds, each member has its own code.
func TestLeaveGroupAnswersPerMember(t *testing.T) {
	b := newBench(t)
	r := b.leave("nope", named("x"), instanceMember("", "i"))
	if r.ErrorCode != 0 || r.Members[0].ErrorCode != 25 || r.Members[1].ErrorCode != 25 {
		t.Fatalf("unknown group: %+v", r)
	}
	wantCode(t, "no group name", b.leave("", named("x")).ErrorCode, 24)

	ids, _ := b.stable("g", 1)
	r = b.leave("g", instanceMember(ids[0], "wrong"), named(""), named(ids[0]), named(ids[0]))
	for i, want := range []int16{25, 25, 0, 25} {
		wantCode(t, "member", r.Members[i].ErrorCode, want)
	}
	if r.ErrorCode != 0 || b.state("g") != "Empty" {
		t.Fatalf("%+v, state %s", r, b.state("g"))
	}
}

func TestOldLeaveGroupAnswersForTheOneMember(t *testing.T) {
	b := newBench(t)
	ids, _ := b.stable("g", 1)
	leave := func(id string) int16 {
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Version = 2
		req.Group, req.MemberID = "g", id
		f := &future[*kmsg.LeaveGroupResponse]{t: t, what: "LeaveGroup"}
		b.s.LeaveGroup(b.client(), req, f.set)
		b.settle()
		return f.get().ErrorCode
	}
	wantCode(t, "stranger", leave("x"), 25)
	wantCode(t, "member", leave(ids[0]), 0)
}
