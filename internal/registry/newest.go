package registry

import (
	"context"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/stormfloe/floe/mapper"
)

// NewestAvro gives the newest schema of a subject. Its errors are those of ResolveSchema: mapper.ErrNoSchema where there is
// no such subject.
func (c *Client) NewestAvro(ctx context.Context, subject string) (mapper.AvroSchema, error) {
	var got sr.SubjectSchema
	err := c.try(ctx, func() (err error) {
		got, err = c.sr.SchemaByVersion(ctx, subject, -1)
		return err
	})
	if err := typed(err, got.Schema, sr.TypeAvro); err != nil {
		return mapper.AvroSchema{}, err
	}
	return c.avro(ctx, got.Schema)
}
