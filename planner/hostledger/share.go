package hostledger

import (
	"fmt"

	"github.com/sglplan/sglplan/planner/finding"
	"github.com/sglplan/sglplan/planner/units"
)

// CodeShared is raised for launches that share a host.
var CodeShared = finding.Define("host-shared-exceeds-memory",
	"The launches that share this host do not fit it together",
	"Each launch pins the host pools of all its ranks. SGLang's check of one launch sees of the others only what they have pinned already.",
	"Lower --hicache-size in the launches, or move one of them to another host.")

// Shared is the sum of several launches on one host.
type Shared struct {
	Launches       int         `json:"launches"`
	AvailableBytes units.Bytes `json:"available_bytes"`
	TotalBytes     units.Bytes `json:"total_bytes"` // host pools of all launches
	NeedBytes      units.Bytes `json:"need_bytes"`
	ReserveBytes   units.Bytes `json:"reserve_bytes"`
	HeadroomBytes  units.Bytes `json:"headroom_bytes"`
}

// Share adds up launches that start on one host and judges the sum; nil
// ledgers are left out. One launch alone gives no finding: Build judged it.
func Share(ledgers []*Ledger) (Shared, []finding.Finding) {
	var s Shared
	pools := 0
	for _, l := range ledgers {
		if l == nil {
			continue
		}
		if s.Launches == 0 || l.AvailableBytes < s.AvailableBytes {
			s.AvailableBytes = l.AvailableBytes
		}
		s.Launches++
		s.TotalBytes += l.TotalBytes
		s.NeedBytes += l.NeedBytes
		s.ReserveBytes = max(s.ReserveBytes, l.ReserveBytes)
		if l.TotalBytes > 0 {
			pools++
		}
	}
	s.HeadroomBytes = s.AvailableBytes - s.NeedBytes - s.ReserveBytes
	if s.Launches < 2 || s.NeedBytes <= s.AvailableBytes {
		return s, nil
	}
	sev := finding.Error
	if pools == 0 {
		sev = finding.Warning // processes alone are an estimate
	}
	f := finding.New(CodeShared, sev, "--hicache-size", fmt.Sprintf("%d launches need %s on one host, %s of it host pools; %s is available.",
		s.Launches, gb(s.NeedBytes), gb(s.TotalBytes), gb(s.AvailableBytes)))
	f.Figures = map[string]int64{"need_bytes": int64(s.NeedBytes), "total_bytes": int64(s.TotalBytes), "available_bytes": int64(s.AvailableBytes)}
	if pools > 0 {
		f = f.With("share what is left among the launches by a smaller --hicache-size in each")
	}
	return s, []finding.Finding{f}
}
