package config

import (
	"strings"
	"testing"
	"time"
)

func TestRejectsAreRead(t *testing.T) {
	for text, want := range map[string]Rejects{
		"": {"db.orders_rejects", RejectsStop{0.5, 1000, 0, time.Minute}},
		"rejects: {table: other.bad, stop: {share: 0.25, of: 7, rate: 9, per: 5s}}\n": {"other.bad", RejectsStop{0.25, 7, 9, 5 * time.Second}},
		"rejects: {stop: {share: 1}}\n":                                               {"db.orders_rejects", RejectsStop{1, 1000, 0, time.Minute}},
		"rejects: {stop: {share: \"${S}\"}}\n":                                        {"db.orders_rejects", RejectsStop{0, 1000, 0, time.Minute}},
	} {
		cfg, err := Parse("floe.yaml", []byte(smallest+text), env("S", "0"))
		if err != nil || cfg.Rejects != want || cfg.Record.OnBadRecord != "reject" {
			t.Errorf("%q: %v, got %+v", text, err, cfg)
		}
	}
	for text, want := range map[string]string{
		"{table: bad}":              `rejects.table: "bad" must be namespace and table`,
		"{table: db.orders}":        `rejects.table: "db.orders" is the table that rows go to`,
		"{stop: {share: 1.5}}":      `rejects.stop.share: "1.5" is not a share; write a number from 0 to 1`,
		"{stop: {share: half}}":     `rejects.stop.share: "half" is not a share`,
		"{stop: {share: [1]}}":      `rejects.stop.share: is a list; want a number`,
		"{stop: {share: .nan}}":     `rejects.stop.share: ".nan" is not a share`,
		"{stop: {of: 0}}":           `rejects.stop.of: 0 must be between`,
		"{stop: {rate: -1}}":        `rejects.stop.rate: -1 is negative`,
		"{stop: {rate: 1, per: 0}}": `rejects.stop.per: is 0; write the time`,
	} {
		if _, err := Parse("floe.yaml", []byte(smallest+"rejects: "+text+"\n"), env()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %s, got %v", text, want, err)
		}
	}
}
