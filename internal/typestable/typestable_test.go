package typestable

import (
	"flag"
	"os"
	"slices"
	"testing"
)

var write = flag.Bool("write", false, "write docs/types.md anew")

const page = "../../docs/types.md"

// Every input of every cell becomes what the page says.
func TestEveryCellHolds(t *testing.T) {
	for _, f := range Formats() {
		for _, form := range f.Forms {
			for _, c := range form.AllCells() {
				got, err := form.Run(c)
				if err != nil {
					t.Errorf("%s: %v", f.Name, err)
					continue
				}
				for i, cs := range c.Cases {
					if got[i] != cs.Want {
						t.Errorf("%s, %s to %s: %q gives %s, want %s", f.Name, form.Name, c.Type, cs.In, got[i], cs.Want)
					}
				}
				if refused := !slices.ContainsFunc(c.Cases, func(c Case) bool { return !c.Refused() }); refused != (c.How == Refused) {
					t.Errorf("%s, %s to %s: the cell says %s", f.Name, form.Name, c.Type, c.How)
				}
			}
		}
	}
}

func TestThePageIsUpToDate(t *testing.T) {
	want := Page()
	if *write {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil || string(got) != want {
		t.Errorf("docs/types.md is not what the table gives (%v): go test ./internal/typestable -args -write", err)
	}
	if pairs, _ := Count(); pairs < 400 {
		t.Errorf("%d pairs", pairs)
	}
}
