package config

import (
	"reflect"
	"slices"
)

// Together checks that configurations can run in one process, and gives each with its part of the memory, which is divided evenly.
// memory, http and log belong to the process: they are the first one's, and the others must say the same or nothing. Its error is an
// *Error or Errors. The configurations that are given do not change.
func Together(cfgs []*Config) ([]*Config, error) {
	if len(cfgs) == 1 {
		return cfgs, nil
	}
	first := cfgs[0]
	var errs Errors
	for i, c := range cfgs {
		v := &validator{c: c}
		v.ofProcess(first)
		for _, other := range cfgs[:i] {
			v.beside(other)
		}
		errs = append(errs, v.errs...)
	}
	part := first.Memory / Size(len(cfgs))
	if part < minMemory {
		v := &validator{c: first}
		v.fail("memory", "%s is too little for %d topologies in one process; write at least %s", first.Memory, len(cfgs), minMemory*Size(len(cfgs)))
		errs = append(errs, v.errs...)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	out := make([]*Config, len(cfgs))
	for i, c := range cfgs {
		one := *c
		one.Memory, one.HTTP, one.Log = part, first.HTTP, first.Log
		out[i] = &one
	}
	return out, nil
}

// ofProcess checks what the first configuration says for the process.
func (v *validator) ofProcess(first *Config) {
	for _, k := range []struct {
		key         string
		its, firsts any
	}{{"memory", v.c.Memory, first.Memory}, {"http", v.c.HTTP, first.HTTP}, {"log", v.c.Log, first.Log}} {
		there := v.c.lines[k.key] > 0
		v.check(!there || reflect.DeepEqual(k.its, k.firsts), k.key, "belongs to the process, and %s says otherwise; write it there, and remove it here", first.file)
	}
}

// beside checks what two topologies of one process must not share.
func (v *validator) beside(other *Config) {
	c := v.c
	v.check(c.Name != other.Name || c.Table.Name != other.Table.Name, "name", "%q writes to table %s in %s too; one of them is enough, or give it another name",
		c.Name, c.Table.Name, other.file)
	a, b := c.Source.Kafka, other.Source.Kafka
	cluster := slices.ContainsFunc(a.Brokers, func(s string) bool { return slices.Contains(b.Brokers, s) })
	v.check(!cluster || a.Group != b.Group || c.Name == other.Name && c.Table.Name == other.Table.Name, "source.kafka.group",
		"%q is the consumer group of %s too, so that each would read a part of the topics alone; write another group, or another name", a.Group, other.file)
}
