package faultproxy_test

import (
	"strings"
	"testing"

	"github.com/stormfloe/floe/internal/faultproxy"
	"github.com/stormfloe/floe/internal/harness"
	"github.com/stormfloe/floe/internal/restcatalog"
)

// TestLastingFaultsAreTold: while every answer is wrong the topology is not ready and says why, nothing is lost or doubled,
// and when it has passed the rest is committed.
func TestLastingFaultsAreTold(t *testing.T) {
	for rule, want := range map[string]string{
		"commit:503-before":       "SlowDownException",
		"commit:504-after":        "GatewayTimeoutException",
		"commit:401-before":       "NotAuthorizedException",
		"commit:429-before":       "TooManyRequestsException",
		"commit:429-empty-before": "HTTP 429",
		"commit:502-html-before":  "HTTP 502",
		"commit:200-empty-before": "unexpected end",
		"commit:reset-before":     "EOF",
		"commit:stall":            "deadline",
		"commit:303-before":       "a table that does not hold the commit",
		"commit:stale-before":     "a table that does not hold the commit",
		// A conflict that nothing bears out, and looks that a cache answers.
		"commit:409-before": "each look shows the same table",
		"load:stale-before": "each look shows the same table",
		"load:404-before":   "NoSuchTableException",
		"load:late":         "deadline",
	} {
		t.Run(rule, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *harness.World) {
				l := newLine(t, w, rule+":#5+", faultproxy.Options{}, restcatalog.Options{})
				top, stop := harness.Start(t, l.config(l.client()))
				var said string
				harness.Until(t, "a reason", func() bool {
					said = strings.Join(top.Status().NotReady, "; ")
					return strings.Contains(said, want)
				})
				w.CheckOf(t, "orders")
				l.rules("")
				harness.Until(t, "the rest", func() bool { return caughtUp(t, w) && top.Status().Ready })
				if err := stop(); err != nil {
					t.Error(err)
				}
				w.Check(t)
			})
		})
	}
}

// caughtUp says that the table has come to the log's ends.
func caughtUp(t *testing.T, w *harness.World) bool {
	at, err := w.Positions("orders")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range w.Log.Bounds() {
		if at[b.Partition] < b.Last {
			return false
		}
	}
	return true
}

// TestAYesWithoutTheCommitIsNoYes: a redirect turned the commit into a look, whose answer reads like a yes. It was taken for
// one: what was not in the table was acked. (line.config sees to acks.)
func TestAYesWithoutTheCommitIsNoYes(t *testing.T) {
	run(t, "commit:302-before:#2,commit:stale-before:#4", 0, 2, false)
}
