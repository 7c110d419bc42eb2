package writer

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
)

// metricsMode says which metrics of a column go into the manifest.
type metricsMode struct {
	// counts: value, null and NaN counts. bounds: lower and upper as well, cut to truncate code points or bytes where
	// that is above 0.
	counts, bounds bool
	truncate       int
}

// metricsConfig are the table's metrics modes.
type metricsConfig struct {
	def     metricsMode
	columns map[string]metricsMode
	// inferred is the number of columns that get the default where the table names none: a thousand columns would make
	// manifests that are dear to read. 0 where the table names a default.
	inferred int64
}

func parseMetrics(p iceberg.Properties) (metricsConfig, error) {
	c := metricsConfig{columns: map[string]metricsMode{}, def: metricsMode{counts: true, bounds: true, truncate: 16}}
	if v, ok := p[propMetricsDefault]; ok {
		m, err := parseMode(propMetricsDefault, v)
		if err != nil {
			return c, err
		}
		c.def = m
	} else {
		n, err := intProp(p, propMetricsMaxColumns, defaultMetricsCols, 0, 1<<31)
		if err != nil {
			return c, err
		}
		c.inferred = n
		if n == 0 {
			c.def = metricsMode{}
		}
	}
	for key, v := range p {
		if col, ok := strings.CutPrefix(key, prefixMetricsColumn); ok {
			m, err := parseMode(key, v)
			if err != nil {
				return c, err
			}
			c.columns[col] = m
		}
	}
	return c, nil
}

// of gives the mode of the n-th leaf.
func (c *metricsConfig) of(name string, n int) metricsMode {
	if m, ok := c.columns[name]; ok {
		return m
	}
	if c.inferred > 0 && int64(n) >= c.inferred {
		return metricsMode{}
	}
	return c.def
}

func parseMode(key, v string) (metricsMode, error) {
	switch mode := strings.ToLower(strings.TrimSpace(v)); {
	case mode == "none":
		return metricsMode{}, nil
	case mode == "counts":
		return metricsMode{counts: true}, nil
	case mode == "full":
		return metricsMode{counts: true, bounds: true}, nil
	case strings.HasPrefix(mode, "truncate(") && strings.HasSuffix(mode, ")"):
		n, err := strconv.ParseUint(mode[len("truncate("):len(mode)-1], 10, 31)
		if err == nil && n > 0 {
			return metricsMode{counts: true, bounds: true, truncate: int(n)}, nil
		}
	}
	return metricsMode{}, badProp(key, v, fmt.Sprintf("write none, counts, full or truncate(%d)", 16))
}
