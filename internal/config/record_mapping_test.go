package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestPathsAreNamesOrLists(t *testing.T) {
	parse := func(record string) Record {
		t.Helper()
		cfg, err := Parse("floe.yaml", []byte(smallest+"record:\n"+record), env())
		if err != nil {
			t.Fatal(err)
		}
		return cfg.Record
	}
	r := parse(`
  case: insensitive
  rename: {customer.id: customer_id, "7": seven}
  drop: [debug, [address, zip.code]]
  cast: {amount: number, "a.b": epoch_ms(any)}
  timezone: Europe/Berlin
`)
	if got, want := fmt.Sprintf("%s %q %q %q %s", r.Case, r.Rename, r.Drop, r.Cast, r.Timezone),
		`insensitive [{["customer.id"] "customer_id"} {["7"] "seven"}] [["debug"] ["address" "zip.code"]] [{["amount"] "number"} {["a.b"] "epoch_ms(any)"}] Europe/Berlin`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	r = parse(`
  rename:
    - {field: [address, zip.code], column: zip}
    - {field: name, column: full_name}
  cast:
    - {column: [items, element, price], as: unscaled(2)}
`)
	if got, want := fmt.Sprintf("%q %q", r.Rename, r.Cast), `[{["address" "zip.code"] "zip"} {["name"] "full_name"}] [{["items" "element" "price"] "unscaled(2)"}]`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRawRecordsHaveNoFieldsForRules(t *testing.T) {
	for key, value := range map[string]string{"case": "insensitive", "rename": "{a: b}", "drop": "[payload]"} {
		_, err := Parse("floe.yaml", []byte(smallest+fmt.Sprintf("record: {format: raw, %s: %s}\n", key, value)), env())
		if err == nil || !strings.Contains(err.Error(), "record."+key+": is about fields") {
			t.Errorf("%s: %v", key, err)
		}
	}
}
