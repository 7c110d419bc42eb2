package registry

import (
	"errors"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/stormfloe/floe/mapper"
)

func TestTheNewestSchemaIsFoundWithWhatItRefersTo(t *testing.T) {
	r := fake(t)
	const b, top = `{"type":"enum","name":"B","symbols":["X"]}`, `{"type":"record","name":"R","fields":[{"name":"b","type":"B"}]}`
	r.SeedSchema("b", 1, 1, sr.Schema{Schema: b})
	r.SeedSchema("odd/topic name-value", 1, 2, sr.Schema{Schema: b})
	r.SeedSchema("odd/topic name-value", 2, 3, sr.Schema{Schema: top, References: []sr.SchemaReference{{Name: "B", Subject: "b", Version: 1}}})
	r.SeedSchema("text", 1, 4, sr.Schema{Type: sr.TypeJSON, Schema: `{"type":"object"}`})
	c := client(t, Config{URL: r.URL()})
	got, err := c.NewestAvro(t.Context(), "odd/topic name-value")
	if want := (mapper.AvroSchema{Text: top, References: []string{b}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	for subject, want := range map[string]error{"none": mapper.ErrNoSchema, "text": mapper.ErrWrongSchema} {
		if _, err := c.NewestAvro(t.Context(), subject); !errors.Is(err, want) {
			t.Errorf("%s: %v", subject, err)
		}
	}
}
