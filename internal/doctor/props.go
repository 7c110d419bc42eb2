package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go/table"

	"github.com/stormfloe/floe/writer"
)

const propTarget = "write.target-file-size-bytes"

// Values below these fight floe.
const (
	leastExpireAgeMs = 60 * 60 * 1000
	leastVersions    = 10
	leastTarget      = 16 << 20
)

// properties judges those of the table that fight floe, and those that it does not follow.
func (p *Patient) properties(r *Report) {
	if err := writer.Check(p.Table); err != nil {
		r.add(tableRefused, p.name(), strings.TrimPrefix(err.Error(), "writer: "), "change the table or its properties as it says; until then floe does not start on it")
	}
	for _, w := range writer.Warnings(p.Table) {
		r.add(propertyIgnored, p.name(), w, "take the property off, or leave it for the other engines")
	}
	props := p.Table.Properties()
	if p.Expires && !props.GetBool(table.GCEnabledKey, table.GCEnabledDefault) {
		r.add(property, table.GCEnabledKey, "it is false, and so committer.expire_snapshots takes nothing off", "set it to true, or take committer.expire_snapshots out")
	}
	if p.Expires {
		p.atMost(r, table.MinSnapshotsToKeepKey, int64(p.Limits.Snapshots), "that many snapshots are kept whatever their age, and each commit writes all of them anew")
	}
	p.atLeast(r, table.MaxSnapshotAgeMsKey, leastExpireAgeMs,
		"positions are kept alive by an empty snapshot whenever the newest is older than half of it, and whoever reads the table may lose a snapshot while reading")
	p.atLeast(r, table.MetadataPreviousVersionsMaxKey, leastVersions,
		"positions are renewed by an empty snapshot whenever other engines' commits have buried them deeper than half of it, and there is little left to find them in after an expiry")
	p.atLeast(r, propTarget, leastTarget, "files are closed at that size, however large batches are")
}

func (p *Patient) atLeast(r *Report, key string, least int64, why string) {
	if n, ok := p.number(r, key); ok && n < least {
		r.add(property, key, fmt.Sprintf("it is %d: %s", n, why), fmt.Sprintf("set it to %d or more, or take it off", least))
	}
}

func (p *Patient) atMost(r *Report, key string, most int64, why string) {
	if n, ok := p.number(r, key); ok && n > most {
		r.add(property, key, fmt.Sprintf("it is %d: %s", n, why), fmt.Sprintf("set it to %d or less, or take it off", most))
	}
}

func (p *Patient) number(r *Report, key string) (int64, bool) {
	text, ok := p.Table.Properties()[key]
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		r.add(property, key, "it is no number: floe takes its default, and other engines may stop at it", "write a number, or take it off")
	}
	return n, err == nil
}
