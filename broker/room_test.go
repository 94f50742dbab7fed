package broker

import (
	"math"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"millrace/broker/meta"
)

func TestFewOpenFilesLeaveRoomForFewPartitions(t *testing.T) {
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	low := was
	low.Cur = 500
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &was)
	n, limit := (&Broker{}).room(meta.NewImage(nil, ""))
	if n <= 0 || n >= math.MaxInt32 || n > 500*perLively || !strings.Contains(limit, "LimitNOFILE") {
		t.Errorf("room for %d partitions by %q", n, limit)
	}
}
