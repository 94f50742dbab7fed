// Package result is the form in which a load client reports and a runner reads: one
// phase of one run as a line of JSON.
package result

// Phase is one measured stretch. Megabytes are 10^6 and gigabytes 10^9 bytes of record
// values; MiB are of memory.
type Phase struct {
	Label       string  `json:"label,omitempty"`
	Phase       string  `json:"phase"`
	Topics      int     `json:"topics"`
	Partitions  int     `json:"partitions"`
	Producers   int     `json:"producers,omitempty"`
	Consumers   int     `json:"consumers,omitempty"`
	Keys        int     `json:"keys,omitempty"`
	Size        int     `json:"size"`
	Acks        string  `json:"acks"`
	Compression string  `json:"compression"`
	Idempotent  bool    `json:"idempotent"`
	Rate        float64 `json:"rate"`
	Records     int64   `json:"records"`
	// CutShort says that time was up before all records were sent.
	CutShort bool `json:"cut_short,omitempty"`
	// Retries is batches that a broker refused for the moment and that were sent again.
	Retries     int64              `json:"retries,omitempty"`
	Errors      int64              `json:"errors"`
	FirstError  string             `json:"first_error,omitempty"`
	Seconds     float64            `json:"seconds"`
	RecordsPerS float64            `json:"records_per_s"`
	MBPerS      float64            `json:"mb_per_s"`
	LatencyMs   map[string]float64 `json:"latency_ms,omitempty"`
	E2EMs       map[string]float64 `json:"e2e_ms,omitempty"`

	BrokerCPUS    float64 `json:"broker_cpu_s"`
	BrokerUserS   float64 `json:"broker_user_s"`
	BrokerSysS    float64 `json:"broker_sys_s"`
	BrokerCPUGB   float64 `json:"broker_cpu_s_per_gb"`
	BrokerRSSMiB  float64 `json:"broker_rss_mib"`
	BrokerPeakMiB float64 `json:"broker_peak_rss_mib"`
	ClientCPUS    float64 `json:"client_cpu_s"`
	// OtherCPUS is what everything else on the machine used meanwhile: a phase in which
	// that is much was not measured on a quiet machine. Kernel threads that write back for
	// the broker count here too.
	OtherCPUS float64 `json:"other_cpu_s"`
}

// GB is the bytes of values moved, in 10^9.
func (p Phase) GB() float64 { return float64(p.Records) * float64(p.Size) / 1e9 }
