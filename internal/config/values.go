package config

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes: 128MiB, 64KiB, 1GB, or a plain number.
type Size int64

// units are what may follow the number; the binary ones are powers of 1024, the others of 1000.
var units = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

const sizeHint = "write a size such as 128MiB, 64KiB or 1GB"

// parseSize reads a size; err says what to write.
func parseSize(text string) (Size, error) {
	number, factor := text, int64(1)
	for _, u := range units {
		if n, ok := strings.CutSuffix(text, u.name); ok {
			number, factor = strings.TrimSpace(n), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("is not a size; %s", sizeHint)
	case n < 0:
		return 0, fmt.Errorf("is negative; %s", sizeHint)
	case n > math.MaxInt64/factor:
		return 0, fmt.Errorf("is too large; %s", sizeHint)
	}
	return Size(n * factor), nil
}

// String writes the size in the largest binary unit that leaves it whole.
func (s Size) String() string {
	for i := 3; i >= 0; i-- {
		if u := units[i]; s != 0 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

const durationHint = "write a duration with a unit, such as 500ms, 30s or 5m"

// parseDuration reads a duration; err says what to write.
func parseDuration(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("is not a duration; %s", durationHint)
	case d < 0:
		return 0, fmt.Errorf("is negative; %s", durationHint)
	}
	return d, nil
}

// redacted stands where a secret would.
const redacted = "[redacted]"

// Secret is text that never prints. Reveal gives it to the client that needs it.
type Secret string

// Reveal gives the text.
func (s Secret) Reveal() string { return string(s) }

// String does not give the text.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString does not give the text.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

// MarshalJSON does not give the text.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalText does not give the text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Properties are the catalog's own keys and values, verbatim. Printing them shows the values only of keys that hold no
// secret.
type Properties map[string]string

// shown are the keys whose values print. Everything else may be a credential under a name floe does not know.
var shown = map[string]bool{
	"type": true, "uri": true, "warehouse": true, "prefix": true, "rest.sigv4-enabled": true,
	"sql.driver": true, "sql.dialect": true, "s3.endpoint": true, "s3.region": true, "io-impl": true,
}

// Redacted is a copy for people's eyes.
func (p Properties) Redacted() map[string]string {
	out := make(map[string]string, len(p))
	for k, v := range p {
		out[k] = redacted
		if shown[k] {
			out[k] = redactURL(v)
		}
	}
	return out
}

// String shows the keys, and the values of those that hold no secret.
func (p Properties) String() string {
	red := p.Redacted()
	parts := make([]string, 0, len(red))
	for k, v := range red {
		parts = append(parts, k+": "+v)
	}
	sort.Strings(parts)
	return "{" + strings.Join(parts, ", ") + "}"
}

// GoString is String.
func (p Properties) GoString() string { return p.String() }

// MarshalJSON shows what String shows.
func (p Properties) MarshalJSON() ([]byte, error) { return json.Marshal(p.Redacted()) }

// redactURL takes the password and the query, where passwords travel too, out of a URL.
func redactURL(v string) string {
	u, err := url.Parse(v)
	if err != nil || strings.Contains(v, "password") {
		return redacted
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	u.RawQuery = ""
	return u.String()
}

// StartKind says where a topic starts that is new to the table.
type StartKind int

// The kinds of start.
const (
	StartEarliest StartKind = iota
	StartLatest
	StartGroup
	StartTime
	StartOffsets
)

// Start is source.kafka.start.
type Start struct {
	Kind StartKind
	// Time belongs to StartTime.
	Time time.Time
	// Offsets belong to StartOffsets: topic, partition, next offset.
	Offsets map[string]map[int32]int64
}

// String writes it as the configuration does.
func (s Start) String() string {
	switch s.Kind {
	case StartLatest:
		return "latest"
	case StartGroup:
		return "group"
	case StartTime:
		return s.Time.Format(time.RFC3339Nano)
	case StartOffsets:
		return "offsets"
	default:
		return "earliest"
	}
}
