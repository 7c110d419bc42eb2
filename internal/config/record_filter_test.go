package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestFilterRulesAreRead(t *testing.T) {
	cfg, err := Parse("floe.yaml", []byte(smallest+`record:
  filter:
    - {name: gone, tombstones: true}
    - {name: heartbeats, key: {equals: hb}}
    - {name: keys, key: {in: [a, "7"]}}
    - {name: no-key, key: {exists: false}}
    - {name: tests, header: {name: env, not_in: ["${ENV}"]}}
    - {name: copies, topic: {not_in: [orders]}, tombstones: true}
    - {name: columns, column: {name: region, equals: eu}}
    - name: more
      column: {name: [place, a.b], in: [7, -1.5e3, true, "7", a"b, 2024-02-29, "${N}"]}
`), env("ENV", "prod", "N", "12"))
	if err != nil {
		t.Fatal(err)
	}
	r := cfg.Record.Filter
	if !r[0].Tombstones || *r[1].Key.Equals != "hb" || fmt.Sprint(r[2].Key.In) != "[a 7]" || *r[3].Key.Exists || r[4].Header.Name != "env" || r[4].Header.NotIn[0] != "prod" || r[5].Topic.NotIn[0] != "orders" {
		t.Errorf("got %+v", r)
	}
	in, notIn := r[6].Column.Values()
	if fmt.Sprint(r[6].Column.Name, in, notIn) != `[region] ["eu"] []` {
		t.Error(in, notIn)
	}
	in, _ = r[7].Column.Values()
	if got, want := fmt.Sprintf("%q %s", r[7].Column.Name, strings.Join(in, " ")), `["place" "a.b"] 7 -1.5e3 true "7" "a\"b" "2024-02-29" "12"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAFilterRuleThatIsWrongIsSaid(t *testing.T) {
	for rule, want := range map[string]string{
		`{tombstones: true}`:            `record.filter[0]: the rule has no name`,
		`{name: "a b", key: {in: [x]}}`: `record.filter[0].name: "a b" must be`,
		`{name: a}`:                     `record.filter[0]: the rule has no condition`,
		`{name: a, tombstones: true}, {name: a, tombstones: true}`: `record.filter[1].name: "a" is there twice`,
		`{name: a, key: {}}`:                                  `record.filter[0].key: has none or several conditions; write one of`,
		`{name: a, key: {equals: x, exists: true}}`:           `record.filter[0].key: has none or several conditions`,
		`{name: a, topic: {exists: true}}`:                    `record.filter[0].topic.exists: unknown key`,
		`{name: a, topic: {in: []}}`:                          `record.filter[0].topic: has none or several`,
		`{name: a, key: {equals: 7}}`:                         `record.filter[0].key.equals: is the number 7; want text: write "7"`,
		`{name: a, header: {equals: x}}`:                      `record.filter[0].header: the header's name is missing`,
		`{name: a, column: {equals: x}}`:                      `record.filter[0].column: the column's name is missing`,
		`{name: a, column: {name: 7, equals: x}}`:             `record.filter[0].column.name: is the number 7; want a column's name`,
		`{name: a, column: {name: [a, {b: c}], equals: x}}`:   `record.filter[0].column.name: is a mapping; want a column's name`,
		`{name: a, column: {name: r, equals: null}}`:          `record.filter[0].column.equals: is without a value; want one value`,
		`{name: a, column: {name: r, equals: .inf}}`:          `record.filter[0].column.equals: ".inf" is not written as JSON`,
		`{name: a, column: {name: r, in: [0x10]}}`:            `record.filter[0].column.in[0]: "0x10" is not written as JSON`,
		`{name: a, column: {name: r, in: x}}`:                 `record.filter[0].column.in: is text; want a list`,
		`{name: a, column: {name: r, equals: x, maybe: yes}}`: `record.filter[0].column.maybe: unknown key`,
	} {
		_, err := Parse("floe.yaml", []byte(smallest+"record: {filter: ["+rule+"]}\n"), env())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %s, got %v", rule, want, err)
		}
	}
}
