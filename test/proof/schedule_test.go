package main

import (
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/stormfloe/floe/internal/config"
)

func TestTheSeedDecides(t *testing.T) {
	draw := func(seed uint64, round int) (out []Fault) {
		s := newSchedule(seed, round, time.Second)
		s.shape()
		for range 50 {
			out = append(out, s.next())
		}
		return out
	}
	if !reflect.DeepEqual(draw(1, 1), draw(1, 1)) {
		t.Error("the same seed gives other faults")
	}
	if reflect.DeepEqual(draw(1, 1), draw(1, 2)) || reflect.DeepEqual(draw(1, 1), draw(2, 1)) {
		t.Error("another round or seed gives the same faults")
	}
}

func TestFaultsAreOfEveryKind(t *testing.T) {
	const n, session = 6000, time.Second
	s := newSchedule(1, 1, session)
	kinds, signs, twins := map[Kind]int{}, map[Sign]int{}, 0
	for range n {
		f := s.next()
		kinds[f.Kind]++
		signs[f.After]++
		twins += len(f.Victims) - 1
		if f.Delay < 0 || f.Delay > time.Second || f.Rest > time.Second {
			t.Fatalf("%s: rests %s", f, f.Rest)
		}
		if f.Kind == Stop && (f.Stopped <= session || len(f.Victims) != 1) {
			t.Fatalf("%s: the group would not notice a stop of %s", f, f.Stopped)
		}
		for _, v := range f.Victims {
			if v < 0 || v >= replicas {
				t.Fatalf("%s: there is no such replica", f)
			}
		}
	}
	for what, got := range map[string][2]float64{
		"kills":     {float64(kinds[Kill]), 9. / 12},
		"stops":     {float64(kinds[Stop]), 2. / 12},
		"terms":     {float64(kinds[Term]), 1. / 12},
		"committed": {float64(signs[Committed]), 6. / 10},
		"started":   {float64(signs[Started]), 1. / 10},
		"twins":     {float64(twins), 10. / 12 / 5},
	} {
		if math.Abs(got[0]/n-got[1]) > 0.02 {
			t.Errorf("%s: %.0f of %d", what, got[0], n)
		}
	}
}

// TestEveryShapeIsAConfiguration holds that floe takes what a round writes.
func TestEveryShapeIsAConfiguration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "floe.json")
	seen := map[string]bool{}
	for seed := range uint64(60) {
		shape := newSchedule(seed, 1, time.Second).shape()
		err := writeConfig(path, setup{name: "soak-1-1", topic: "soak-1-1", table: "soak.t", brokers: []string{"127.0.0.1:1"},
			catalog: pairs{"type": "sqlite", "uri": "/catalog.db", "warehouse": "/warehouse"}, session: time.Second, shape: shape})
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load(path, func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatalf("%+v: %v", shape, err)
		}
		if cfg.Writer.Tasks != shape.Tasks || cfg.Writer.Seal.Interval != shape.Seal || cfg.Committer.Interval != shape.Commit ||
			!reflect.DeepEqual(cfg.Table.Create.PartitionBy, shape.PartitionBy) || !reflect.DeepEqual(cfg.Writer.GroupBy, shape.GroupBy) {
			t.Errorf("%+v became %+v", shape, cfg.Writer)
		}
		seen[fmt.Sprint(shape.GroupBy, shape.PartitionBy)] = true
	}
	if len(seen) != 2*3 {
		t.Errorf("60 rounds have the shapes %v", seen)
	}
}
