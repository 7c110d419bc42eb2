package config

import (
	"strings"
	"testing"
)

func TestTogether(t *testing.T) {
	other := strings.NewReplacer("name: orders", "name: returns", "db.orders", "db.returns").Replace(smallest)
	for _, c := range []struct{ name, first, second, want string }{
		{"two", smallest, other, ""},
		{"the second says nothing of the process", smallest + "memory: 1GiB\nhttp: {listen: off}\nlog: {level: warn}\n", other, ""},
		{"the second says the same", smallest + "http: {listen: off}\n", other + "http: {listen: off}\n", ""},
		{"one name on two tables of two clusters", smallest, strings.NewReplacer("db.orders", "db.o2", "localhost:9092", "elsewhere:9092").Replace(smallest), ""},
		{"another memory", smallest, other + "memory: 1GiB\n", "b.yaml:6: memory: belongs to the process, and a.yaml says otherwise; write it there, and remove it here"},
		{"another log", smallest + "log: {level: warn}\n", other + "log: {level: info}\n", "b.yaml:6: log: belongs to the process"},
		{"the same twice", smallest, smallest, `b.yaml:2: name: "orders" writes to table db.orders in a.yaml too`},
		{"one group", smallest, strings.Replace(smallest, "db.orders", "db.o2", 1), `b.yaml:3: source.kafka.group: "floe-orders" is the consumer group of a.yaml too`},
		{"too little", smallest + "memory: 100MiB\n", other, "a.yaml:6: memory: 100MiB is too little for 2 topologies in one process; write at least 128MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var cfgs []*Config
			for i, text := range []string{c.first, c.second} {
				cfg, err := Parse([]string{"a.yaml", "b.yaml"}[i], []byte(text), env())
				if err != nil {
					t.Fatal(err)
				}
				cfgs = append(cfgs, cfg)
			}
			got, err := Together(cfgs)
			if c.want != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || got[0].Memory != cfgs[0].Memory/2 || got[1].Memory != got[0].Memory || got[1].HTTP != cfgs[0].HTTP || got[1].Log != cfgs[0].Log {
				t.Errorf("got %v %v", got, err)
			}
			if cfgs[1].Memory == got[1].Memory {
				t.Error("what was given has changed")
			}
		})
	}
}
