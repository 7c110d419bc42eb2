package registry

import (
	"context"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/stormfloe/floe/mapper"
)

// NewestAvro gives the newest schema of a subject. Its errors are those of ResolveSchema: mapper.ErrNoSchema where there is
// no such subject.
func (c *Client) NewestAvro(ctx context.Context, subject string) (mapper.AvroSchema, error) {
	got, err := c.newest(ctx, subject, sr.TypeAvro)
	if err != nil {
		return mapper.AvroSchema{}, err
	}
	return c.avro(ctx, got)
}

// NewestProto is NewestAvro for Protobuf. The schema's Message is empty.
func (c *Client) NewestProto(ctx context.Context, subject string) (mapper.ProtoSchema, error) {
	got, err := c.newest(ctx, subject, sr.TypeProtobuf)
	if err != nil {
		return mapper.ProtoSchema{}, err
	}
	return c.proto(ctx, got)
}

func (c *Client) newest(ctx context.Context, subject string, want sr.SchemaType) (sr.Schema, error) {
	var got sr.SubjectSchema
	err := c.try(ctx, func() (err error) {
		got, err = c.sr.SchemaByVersion(ctx, subject, -1)
		return err
	})
	return got.Schema, typed(err, got.Schema, want)
}
